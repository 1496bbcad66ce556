#!/usr/bin/env python3
"""A tiny MCP server that records everything that happens to it (stdlib only).

stdio:  mcp_probe.py
http:   mcp_probe.py --http PORT      (streamable HTTP at /mcp, JSON answers; 0: any free port, the address is printed;
                                       ends when standard input closes)

Tools:  note(text)            a side effect: one line in the log, returns at once
        slow(seconds, key)    logs begin, sleeps, logs end  (the "mid call" tool)
        fail(text)            returns isError=true

Environment (stdio):
  PROBE_LOG             file to append JSON lines to (needed)
  PROBE_TAG             free tag copied to each line
  PROBE_IGNORE_EOF=1    do not exit when stdin closes  (an unkind MCP server)
  PROBE_IGNORE_TERM=1   ignore SIGTERM/SIGINT/SIGHUP   (a very unkind one)
  PROBE_HONOUR_CANCEL=1 a slow() stops when notifications/cancelled names it
  PROBE_ALWAYS_LOAD=1   list the tools with _meta {"anthropic/alwaysLoad": true}
  PROBE_LINGER=s        give up and exit after s seconds in any case (default 120)

Each log line has the pid, ppid, pgid and sid seen at that moment, so an orphan
(ppid 1, or a reaper's pid) shows up by itself.
"""
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENV = os.environ
LOGP = ENV.get("PROBE_LOG", "/dev/null")
TAG = ENV.get("PROBE_TAG", "")
HONOUR = ENV.get("PROBE_HONOUR_CANCEL") == "1"
LOCK = threading.Lock()
if ENV.get("PROBE_ALWAYS_LOAD") == "1":  # Claude Code: do not hide behind its tool search
    META = {"anthropic/alwaysLoad": True}
else:
    META = None
CANCELLED = {}  # request id -> Event

TOOLS = [
    {"name": "note", "description": "Record a note (a side effect).",
     "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    {"name": "slow", "description": "Work for some seconds, then return.",
     "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}, "key": {"type": "string"}},
                     "required": ["seconds"]}},
    {"name": "fail", "description": "Fail.",
     "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
]


def log(kind, **kw):
    rec = {"t": round(time.time(), 3), "kind": kind, "pid": os.getpid(), "ppid": os.getppid(),
           "pgid": os.getpgrp(), "sid": os.getsid(0), "tag": TAG, **kw}
    with LOCK:
        fd = os.open(LOGP, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(fd, (json.dumps(rec) + "\n").encode())
        os.close(fd)


def call_tool(rid, params):
    name, args = params.get("name"), params.get("arguments") or {}
    log("call_begin", tool=name, args=args, rpc_id=rid, meta=params.get("_meta"))
    if name == "note":
        r = {"content": [{"type": "text", "text": f"noted: {args.get('text')}"}]}
    elif name == "slow":
        ev = CANCELLED.setdefault(rid, threading.Event())
        end = time.time() + float(args.get("seconds", 1))
        while time.time() < end:
            if ev.wait(min(0.2, max(0, end - time.time()))) and HONOUR:
                log("call_aborted", tool=name, args=args, rpc_id=rid)
                return None
        r = {"content": [{"type": "text", "text": f"slow done: {args.get('key', '')}"}]}
    elif name == "fail":
        r = {"isError": True, "content": [{"type": "text", "text": f"failed: {args.get('text', '')}"}]}
    else:
        raise ValueError(f"no tool {name}")
    log("call_end", tool=name, args=args, rpc_id=rid)
    return r


def handle(msg, send):
    mid, method = msg.get("id"), msg.get("method")
    if method is None:
        return log("response_from_client", body=msg)
    if mid is None:
        log("notification", method=method, params=msg.get("params"))
        if method == "notifications/cancelled":
            CANCELLED.setdefault((msg.get("params") or {}).get("requestId"), threading.Event()).set()
        return
    if method not in ("initialize", "tools/call"):
        log("request", method=method)
    try:
        if method == "initialize":
            p = msg.get("params") or {}
            log("initialize", client=p.get("clientInfo"), version=p.get("protocolVersion"))
            res = {"protocolVersion": p.get("protocolVersion", "2025-06-18"), "capabilities": {"tools": {}},
                   "serverInfo": {"name": "probe", "version": "0.1"}}
        elif method == "tools/list":
            res = {"tools": [{**t, "_meta": META} for t in TOOLS] if META else TOOLS}
            log("tools_listed")
        elif method == "tools/call":
            res = call_tool(mid, msg.get("params") or {})
            if res is None:
                return
        elif method == "ping":
            res = {}
        else:
            log("unknown_method", method=method)
            return send({"jsonrpc": "2.0", "id": mid, "error": {"code": -32601, "message": f"no method {method}"}})
        send({"jsonrpc": "2.0", "id": mid, "result": res})
    except Exception as e:  # noqa: BLE001 - a probe reports whatever happened
        log("error", err=repr(e), rpc_id=mid)
        try:
            send({"jsonrpc": "2.0", "id": mid, "error": {"code": -32602, "message": str(e)}})
        except Exception:  # noqa: BLE001
            pass


def stdio():
    log("start", argv=sys.argv, cwd=os.getcwd())
    wl = threading.Lock()

    def send(o):
        with wl:
            try:
                os.write(1, (json.dumps(o) + "\n").encode())
            except OSError as e:
                log("write_failed", err=repr(e), what=list(o))

    def on_signal(n, _f):
        log("signal", sig=signal.Signals(n).name)
        if ENV.get("PROBE_IGNORE_TERM") != "1":
            log("exit", why=signal.Signals(n).name)
            os._exit(0)
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(s, on_signal)

    def doom():
        time.sleep(float(ENV.get("PROBE_LINGER", "120")))
        log("exit", why="linger limit")
        os._exit(0)
    threading.Thread(target=doom, daemon=True).start()

    def reader():
        for line in sys.stdin.buffer:
            line = line.strip()
            if line:
                try:
                    msg = json.loads(line)
                except ValueError:
                    log("bad_line", line=line[:200].decode("utf8", "replace"))
                    continue
                if isinstance(msg, dict) and msg.get("method") == "tools/call":
                    threading.Thread(target=handle, args=(msg, send), daemon=True).start()
                else:
                    handle(msg, send)
        log("stdin_eof")
        if ENV.get("PROBE_IGNORE_EOF") != "1":
            log("exit", why="stdin_eof")
            os._exit(0)
    threading.Thread(target=reader, daemon=True).start()
    while True:  # the main thread only takes signals
        time.sleep(1)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a):
        pass

    def do_GET(self):
        log("http_get", headers=dict(self.headers))
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        msg = json.loads(raw)
        if msg.get("method") in ("initialize", "tools/call"):
            log("http_post", method=msg.get("method"),
                headers={k.lower(): v for k, v in self.headers.items()
                         if k.lower() in ("authorization", "x-probe", "user-agent", "mcp-session-id",
                                          "mcp-protocol-version", "accept")})
        out = []
        handle(msg, out.append)
        b = json.dumps(out[0]).encode() if out else b""
        try:
            self.send_response(200 if out else 202)
            if out:
                self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(b)))
            self.end_headers()
            self.wfile.write(b)
        except OSError as e:
            log("write_failed", err=repr(e))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--http":
        s = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
        s.daemon_threads = True
        log("start", argv=sys.argv)
        print(json.dumps({"listening": f"http://127.0.0.1:{s.server_address[1]}/mcp"}), flush=True)
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
        s.serve_forever()
    else:
        stdio()
