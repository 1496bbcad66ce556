#!/usr/bin/env python3
"""Scripted LLM stub on loopback, standard library only.

Speaks four dialects, streaming and not, so that any agent runtime that lets
you set a base URL can be pointed at it:

  POST .../chat/completions               OpenAI chat completions
  POST .../responses                      OpenAI responses
  POST .../messages                       Anthropic messages (+ /count_tokens)
  POST .../models/X:generateContent       Gemini (+ :streamGenerateContent, :countTokens)
  GET  .../models                         a one-model list
  HEAD|GET anything else                  200 {}

The script is in the prompt. The stub holds no per-conversation state: it looks
for the last user message that contains

    STUB[[ [step, step, ...] ]]

and counts the tool results that follow it; that count is the index of the step
to play. So a retried request gets the same answer, a restarted agent goes on
where its own history says it is, and auxiliary calls (title generation,
routing, compaction) that carry no script get a harmless text.

A step is one of
    {"text": "final answer"}
    {"tool": "slow", "args": {"seconds": 5}}       one tool call
    {"tools": [{"tool":..., "args":...}, ...]}     several calls in one turn
                       (each counts for one tool result, so the next step's
                        index moves by their number: pad with null)
plus options
    "delay": s          wait before the first byte
    "chunks": n, "gap": s   stream the text in n chunks, gap seconds apart
    "status": 429|500   answer with that HTTP error  (add "times": n to do so
                        only the first n times that the step is played)
    "drop": true        close the socket in the middle of the stream

Tool names: agents rename MCP tools (server_tool, mcp__server__tool, ...); the
stub picks the offered tool whose name equals, or ends with, the wanted one.

Log: one JSON line per request and one per outcome, to --log.
Control: GET /_stub/log (all lines), POST /_stub/reset, GET /_stub/health.
"""
import argparse
import gzip
import json
import os
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
from stub_answers import Answers  # noqa: E402
from stub_script import LOCK, PLAYED, choose  # noqa: E402

ARGS = None
LOG = []
LOGFILE = None
T0 = time.time()


def log(kind, **kw):
    rec = {"t": round(time.time(), 3), "kind": kind, **kw}
    with LOCK:
        LOG.append(rec)
        if LOGFILE:
            LOGFILE.write(json.dumps(rec) + "\n")
            LOGFILE.flush()


class Handler(Answers, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "stub-llm"

    def log_message(self, *a):
        pass

    # -- low level
    def _json(self, obj, status=200, extra=()):
        b = json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(b)))
        for k, v in extra:
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(b)

    def _sse_open(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def _sse(self, data, event=None):
        s = (f"event: {event}\n" if event else "") + "data: " + (data if isinstance(data, str) else json.dumps(data)) + "\n\n"
        self.wfile.write(s.encode())
        self.wfile.flush()

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        p = self.path.split("?")[0]
        if p == "/_stub/log":
            with LOCK:
                return self._json(LOG)
        if p == "/_stub/health":
            return self._json({"ok": True, "up": time.time() - T0})
        log("get", path=self.path)
        if p.endswith("/models"):
            m = {"id": "stub-model", "object": "model", "type": "model", "created": 1, "owned_by": "stub",
                 "display_name": "stub-model", "context_length": 200000}
            return self._json({"object": "list", "data": [m], "has_more": False})
        return self._json({})

    def do_POST(self):
        n = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(n) if n else b""
        if not n and self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                raw += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
        p = self.path.split("?")[0]
        if p == "/_stub/reset":
            with LOCK:
                LOG.clear()
                PLAYED.clear()
            return self._json({"ok": True})
        if (self.headers.get("content-encoding") or "").lower() == "gzip":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            log("post", path=self.path, bad=raw[:200].decode("utf8", "replace"),
                encoding=self.headers.get("content-encoding"))
            return self._json({})
        if p.endswith("/count_tokens"):
            return self._json({"input_tokens": 10})
        if p.endswith(":countTokens"):
            return self._json({"totalTokens": 10})
        if p.endswith("/chat/completions"):
            d = "chat"
        elif p.endswith("/messages"):
            d = "anthropic"
        elif p.endswith("/responses"):
            d = "responses"
        elif "GenerateContent" in p or "generateContent" in p:
            d = "gemini"
            body["stream"] = "stream" in p
            body["model"] = p.rsplit("/", 1)[-1].split(":")[0]
        else:
            log("post", path=self.path, body=raw[:300].decode("utf8", "replace"))
            return self._json({})
        step, info = choose(d, body)
        rid = uuid.uuid4().hex[:8]
        log("llm", rid=rid, path=self.path, **info)
        if ARGS.dump:
            with open(f"{ARGS.dump}/{int(time.time()*1000)}-{rid}.json", "w") as f:
                json.dump(body, f, indent=1)
        try:
            if step.get("delay"):
                self._wait(step["delay"])
            if step.get("status"):
                st = step["status"]
                log("answered", rid=rid, status=st)
                return self._json({"error": {"message": f"stub says {st}", "type": "stub_error", "code": st}}, st)
            getattr(self, "_" + d)(body, step)
            log("answered", rid=rid, status=200)
        except (BrokenPipeError, ConnectionResetError) as e:
            log("client_gone", rid=rid, err=type(e).__name__)
            self.close_connection = True


def main():
    global ARGS, LOGFILE
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--port", type=int, default=0, help="0: any free port; the chosen address is printed")
    ap.add_argument("--log", default=None)
    ap.add_argument("--dump", default=None, help="directory: write every request body there")
    ap.add_argument("--until-eof", action="store_true", help="exit when standard input closes, so that nothing outlives a test")
    ARGS = ap.parse_args()
    if ARGS.until_eof:
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    if ARGS.log:
        LOGFILE = open(ARGS.log, "a")
    srv = ThreadingHTTPServer(("127.0.0.1", ARGS.port), Handler)
    srv.daemon_threads = True
    print(json.dumps({"listening": f"http://127.0.0.1:{srv.server_address[1]}"}), flush=True)
    srv.serve_forever()


if __name__ == "__main__":
    main()
