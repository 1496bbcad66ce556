#!/usr/bin/env python3
"""A raw Streamable HTTP upstream (2025-11-25, sessions) that misbehaves after the effect happened (stdlib only).

    evil.py PORT MODE [TIMES]      PORT 0: any free port; the address is printed; ends when standard input closes

MODE is ok, 404 (the session is forgotten), 401, 503, reset (the connection is reset), eofsse (the event stream ends with no
answer), garbage (a body that is not JSON), cut (less body than was promised), wrongid (an answer to another request) or
hang (no answer at all); the first TIMES calls of `effect` (default 1) get it.
Each tools/call of `effect` appends one line "effect KEY" to $EFFECTS before it misbehaves: lines are executions.
"""
import json
import os
import socket
import struct
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOG = os.environ["EFFECTS"]
MODE = sys.argv[2] if len(sys.argv) > 2 else "ok"
TIMES = int(sys.argv[3]) if len(sys.argv) > 3 else 1
LOCK = threading.Lock()
SESSIONS = set()
CALLS = 0


def schema(**props):
    return {"type": "object", "properties": {k: {"type": t} for k, t in props.items()}}


TOOLS = [
    {"name": "effect", "description": "Record the key.", "inputSchema": schema(key="string", sleep_ms="integer")},
    {"name": "echo", "description": "Give the text back.", "inputSchema": schema(text="string")},
]


def note(line):
    with LOCK, open(LOG, "a") as f:
        f.write(f"{time.time():.3f} {line}\n")


def misbehaves_now():
    global CALLS
    with LOCK:
        CALLS += 1
        return CALLS <= TIMES


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def answer(self, status, body=b"", **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("content_type", "application/json")
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        if "content_length" not in headers:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        self.answer(200)

    def do_POST(self):
        msg = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        method, rid = msg.get("method"), msg.get("id")
        note(f"rpc {method}")
        if method == "initialize":
            return self.initialize(rid)
        session = self.headers.get("mcp-session-id")
        if session not in SESSIONS:
            return self.error(404 if session else 400, rid, -32600, "Session not found")
        if rid is None:
            return self.answer(202)
        if method == "tools/list":
            return self.result(rid, {"tools": TOOLS})
        if method == "tools/call":
            return self.call(rid, msg["params"])
        if method == "ping":
            return self.result(rid, {})
        self.error(200, rid, -32601, f"no method {method}")

    def result(self, rid, result, **headers):
        self.answer(200, {"jsonrpc": "2.0", "id": rid, "result": result}, **headers)

    def error(self, status, rid, code, message):
        self.answer(status, {"jsonrpc": "2.0", "id": rid, "error": {"code": code, "message": message}})

    def initialize(self, rid):
        session = uuid.uuid4().hex
        SESSIONS.add(session)
        self.result(rid, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "evil", "version": "1"}}, mcp_session_id=session)

    def call(self, rid, params):
        args = params.get("arguments") or {}
        if params["name"] == "effect":
            bad = misbehaves_now()
            note(f"effect {args.get('key')}")
            time.sleep(args.get("sleep_ms", 0) / 1000)
            if bad and MODE != "ok":
                return self.misbehave(rid)
        text = f"did {args.get('key') or args.get('text')}"
        self.result(rid, {"content": [{"type": "text", "text": text}]})

    def misbehave(self, rid):
        self.close_connection = True
        if MODE == "404":
            SESSIONS.clear()
            self.error(404, rid, -32600, "Session not found")
        elif MODE == "401":
            self.answer(401, www_authenticate="Bearer")
        elif MODE == "503":
            self.answer(503)
        elif MODE == "garbage":
            self.answer(200, b"<html>not json", content_type="application/json")
        elif MODE == "cut":
            self.answer(200, b'{"jsonrpc":"2.0",', content_type="application/json", content_length="1000")
        elif MODE == "wrongid":
            self.result("somebody-else", {"content": []})
        elif MODE == "eofsse":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(b"id: 1\ndata: \n\n")
        elif MODE == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        elif MODE == "hang":
            time.sleep(600)
        else:
            self.answer(500, f"no mode {MODE}".encode())

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass
        except ValueError:  # the scripted reset has closed the file already
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *a):
        pass


def main():
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    print(json.dumps({"listening": f"http://127.0.0.1:{server.server_address[1]}/mcp"}), flush=True)
    threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
