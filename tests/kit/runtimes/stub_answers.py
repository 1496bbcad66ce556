"""Answers in the four dialects, streaming and not. The handler in stub_llm.py mixes this in."""
import json
import select
import socket
import time
import uuid


class Answers:
    def _wait(self, seconds):
        """Sleep, noticing a client that hangs up."""
        end = time.time() + seconds
        while time.time() < end:
            r, _, _ = select.select([self.connection], [], [], min(0.1, max(0, end - time.time())))
            if r and self.connection.recv(1, socket.MSG_PEEK) == b"":
                raise ConnectionResetError("client hung up")

    def _pieces(self, step):
        t = step.get("text", "")
        n = max(1, int(step.get("chunks", 1)))
        size = max(1, -(-len(t) // n))
        ps = [t[i:i + size] for i in range(0, len(t), size)] or [""]
        for i, x in enumerate(ps):
            if i and step.get("gap"):
                self._wait(step["gap"])
            yield x
        if step.get("drop"):
            raise ConnectionResetError("scripted drop")

    def _chat(self, body, step):
        cid, now, model = "chatcmpl-" + uuid.uuid4().hex[:12], int(time.time()), body.get("model", "stub-model")
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        calls = [{"index": i, "id": c["id"], "type": "function",
                  "function": {"name": c["name"], "arguments": json.dumps(c["args"])}}
                 for i, c in enumerate(step.get("calls") or [])]
        fin = "tool_calls" if calls else "stop"
        if not body.get("stream"):
            msg = {"role": "assistant", "content": step.get("text") if not calls else None}
            if calls:
                msg["tool_calls"] = [{k: v for k, v in c.items() if k != "index"} for c in calls]
            return self._json({"id": cid, "object": "chat.completion", "created": now, "model": model, "usage": usage,
                               "choices": [{"index": 0, "message": msg, "finish_reason": fin}]})

        def ev(delta, finish=None, **kw):
            self._sse({"id": cid, "object": "chat.completion.chunk", "created": now, "model": model,
                       "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **kw})
        self._sse_open()
        ev({"role": "assistant", "content": ""})
        if calls:
            ev({"tool_calls": calls})
        else:
            for t in self._pieces(step):
                ev({"content": t})
        ev({}, fin)
        self._sse({"id": cid, "object": "chat.completion.chunk", "created": now, "model": model, "choices": [],
                   "usage": usage})
        self._sse("[DONE]")

    def _anthropic(self, body, step):
        mid, model = "msg_" + uuid.uuid4().hex[:16], body.get("model", "stub-model")
        calls = step.get("calls") or []
        blocks = [{"type": "tool_use", "id": c["id"].replace("call_", "toolu_"), "name": c["name"], "input": c["args"]}
                  for c in calls] or [{"type": "text", "text": step.get("text", "")}]
        stop = "tool_use" if calls else "end_turn"
        base = {"id": mid, "type": "message", "role": "assistant", "model": model, "stop_sequence": None,
                "usage": {"input_tokens": 10, "output_tokens": 5}}
        if not body.get("stream"):
            return self._json({**base, "content": blocks, "stop_reason": stop})
        self._sse_open()
        self._sse({"type": "message_start", "message": {**base, "content": [], "stop_reason": None}}, "message_start")
        for i, b in enumerate(blocks):
            if b["type"] == "text":
                self._sse({"type": "content_block_start", "index": i, "content_block": {"type": "text", "text": ""}},
                          "content_block_start")
                for t in self._pieces(step):
                    self._sse({"type": "content_block_delta", "index": i,
                               "delta": {"type": "text_delta", "text": t}}, "content_block_delta")
            else:
                self._sse({"type": "content_block_start", "index": i, "content_block": {**b, "input": {}}},
                          "content_block_start")
                self._sse({"type": "content_block_delta", "index": i,
                           "delta": {"type": "input_json_delta", "partial_json": json.dumps(b["input"])}},
                          "content_block_delta")
            self._sse({"type": "content_block_stop", "index": i}, "content_block_stop")
        self._sse({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                   "usage": {"output_tokens": 5}}, "message_delta")
        self._sse({"type": "message_stop"}, "message_stop")

    def _responses(self, body, step):
        rid, model = "resp_" + uuid.uuid4().hex[:16], body.get("model", "stub-model")
        calls = step.get("calls") or []
        items = []
        for c in calls:
            it = {"type": "function_call", "id": "fc_" + uuid.uuid4().hex[:12], "call_id": c["id"],
                  "arguments": json.dumps(c["args"]), "status": "completed"}
            if isinstance(c["name"], tuple):
                it.update(namespace=c["name"][0], name=c["name"][1])
            else:
                it["name"] = c["name"]
            items.append(it)
        if not calls:
            items.append({"type": "message", "id": "msg_" + uuid.uuid4().hex[:12], "role": "assistant",
                          "status": "completed",
                          "content": [{"type": "output_text", "text": step.get("text", ""), "annotations": []}]})
        resp = {"id": rid, "object": "response", "created_at": int(time.time()), "model": model,
                "status": "completed", "output": items, "parallel_tool_calls": True, "tool_choice": "auto",
                "tools": [], "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
                                       "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
                                       "total_tokens": 15}}
        if not body.get("stream"):
            return self._json(resp)
        seq = [0]

        def ev(ty, **kw):
            self._sse({"type": ty, "sequence_number": seq[0], **kw}, ty)
            seq[0] += 1
        self._sse_open()
        ev("response.created", response={**resp, "status": "in_progress", "output": [], "usage": None})
        for i, it in enumerate(items):
            if it["type"] == "message":
                ev("response.output_item.added", output_index=i, item={**it, "status": "in_progress", "content": []})
                part = {"type": "output_text", "text": "", "annotations": []}
                ev("response.content_part.added", item_id=it["id"], output_index=i, content_index=0, part=part)
                for t in self._pieces(step):
                    ev("response.output_text.delta", item_id=it["id"], output_index=i, content_index=0, delta=t)
                ev("response.output_text.done", item_id=it["id"], output_index=i, content_index=0,
                   text=step.get("text", ""))
                ev("response.content_part.done", item_id=it["id"], output_index=i, content_index=0,
                   part={**part, "text": step.get("text", "")})
            else:
                ev("response.output_item.added", output_index=i, item={**it, "status": "in_progress", "arguments": ""})
                ev("response.function_call_arguments.delta", item_id=it["id"], output_index=i, delta=it["arguments"])
                ev("response.function_call_arguments.done", item_id=it["id"], output_index=i,
                   arguments=it["arguments"])
            ev("response.output_item.done", output_index=i, item=it)
        ev("response.completed", response=resp)

    def _gemini(self, body, step):
        calls = step.get("calls") or []
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}

        def cand(parts, fin=None):
            c = {"content": {"role": "model", "parts": parts}, "index": 0}
            if fin:
                c["finishReason"] = fin
            return {"candidates": [c], "usageMetadata": usage, "modelVersion": body.get("model")}
        if calls:
            parts = [{"functionCall": {"id": c["id"], "name": c["name"], "args": c["args"]}} for c in calls]
            if not body["stream"]:
                return self._json(cand(parts, "STOP"))
            self._sse_open()
            return self._sse(cand(parts, "STOP"))
        if not body["stream"]:
            t = step.get("text", "")
            if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
                t = json.dumps({"reasoning": "stub", "next_speaker": "user", "model_choice": "flash",
                                "complexity_reasoning": "stub", "complexity_score": 1})
            return self._json(cand([{"text": t}], "STOP"))
        self._sse_open()
        for t in self._pieces(step):
            self._sse(cand([{"text": t}]))
        self._sse(cand([{"text": ""}], "STOP"))
