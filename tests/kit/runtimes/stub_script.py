"""Which step of the script a request of a model asks for. See stub_llm.py for the script's notation."""
import json
import re
import threading
import uuid

SCRIPT = re.compile(r"STUB\[\[(.*?)\]\](?!\])", re.S)
LOCK = threading.Lock()
PLAYED = {}  # (script, index) -> how often, only for "times"


def text_of(content):
    """All text in a message content of any dialect."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(c) for c in content)
    if isinstance(content, dict):
        if isinstance(content.get("text"), str):
            return content["text"]
        for k in ("content", "parts", "output"):
            if k in content:
                return text_of(content[k])
    return ""


# ---- turning each dialect's history into a flat list of events -------------
# event: ("user", text) | ("result", tool_call_id, text) | ("other", text)

def events_chat(body):
    for m in body.get("messages", []):
        role = m.get("role")
        if role == "tool":
            yield "result", m.get("tool_call_id"), text_of(m.get("content"))
        elif role == "user":
            yield "user", None, text_of(m.get("content"))
        else:
            yield "other", None, text_of(m.get("content"))


def events_anthropic(body):
    for m in body.get("messages", []):
        c = m.get("content")
        if m.get("role") != "user":
            yield "other", None, text_of(c)
        elif isinstance(c, str):
            yield "user", None, c
        else:
            for b in c or []:
                if b.get("type") == "tool_result":
                    yield "result", b.get("tool_use_id"), text_of(b.get("content"))
                else:
                    yield "user", None, text_of(b)


def events_responses(body):
    inp = body.get("input", [])
    if isinstance(inp, str):
        yield "user", None, inp
        return
    for it in inp:
        ty = it.get("type", "message")
        if ty in ("function_call_output", "custom_tool_call_output"):
            yield "result", it.get("call_id"), text_of(it.get("output"))
        elif ty == "message" and it.get("role") == "user":
            yield "user", None, text_of(it.get("content"))
        else:
            yield "other", None, text_of(it.get("content"))


def events_gemini(body):
    for c in body.get("contents", []):
        for p in c.get("parts", []):
            if "functionResponse" in p:
                fr = p["functionResponse"]
                yield "result", fr.get("id"), json.dumps(fr.get("response"))
            elif c.get("role") == "user":
                yield "user", None, p.get("text", "")
            else:
                yield "other", None, p.get("text", "")


def shape_of(dialect, body):
    """The history in short, e.g. [user, call:slow, result, assistant]."""
    out = []
    if dialect == "responses" and isinstance(body.get("input"), str):
        return ["user"]
    for m in body.get({"gemini": "contents", "responses": "input"}.get(dialect, "messages")) or []:
        if dialect == "chat":
            out += (["call:" + c["function"]["name"] for c in m.get("tool_calls") or []]
                    or ["result" if m.get("role") == "tool" else m.get("role")])
        elif dialect == "anthropic" and isinstance(m.get("content"), list):
            for b in m["content"]:
                ty = b.get("type")
                out.append("call:" + b["name"] if ty == "tool_use" else "result" if ty == "tool_result" else m["role"])
        elif dialect == "gemini":
            for p in m.get("parts", []):
                out.append("call:" + p["functionCall"]["name"] if "functionCall" in p else
                           "result" if "functionResponse" in p else m.get("role", "?"))
        elif dialect == "responses":
            ty = m.get("type", "message")
            out.append("call:" + m.get("name", "?") if ty.endswith("_call") else
                       "result" if ty.endswith("_output") else m.get("role", ty))
        else:
            out.append(m.get("role"))
    return out


def tool_names(dialect, body):
    out = []
    for t in body.get("tools") or []:
        if dialect == "chat":
            out.append((t.get("function") or {}).get("name"))
        elif dialect == "gemini":
            out += [d.get("name") for d in t.get("functionDeclarations") or []]
        elif t.get("type") == "namespace":  # OpenAI responses: grouped tools
            ns = t.get("name", "")
            out += [(ns, f.get("name")) for f in t.get("tools") or []]
        else:
            out.append(t.get("name"))
    return [n for n in out if n]


def required_args(dialect, body, name):
    """Arguments that the agent itself adds to a tool's schema (OpenHands' security_risk, say)."""
    flat = name if isinstance(name, str) else name[1]
    tools = body.get("tools") or []
    if dialect == "gemini":
        tools = [d for t in tools for d in t.get("functionDeclarations") or []]
    tools = tools + [f for t in tools if t.get("type") == "namespace" for f in t.get("tools") or []]
    for t in tools:
        t = t.get("function") or t
        if t.get("name") == flat:
            sc = t.get("parameters") or t.get("input_schema") or t.get("parametersJsonSchema") or {}
            return {k: sc["properties"].get(k, {}) for k in sc.get("required") or [] if k in (sc.get("properties") or {})}
    return {}


def pick_tool(wanted, offered):
    flat = [(n if isinstance(n, str) else n[1]) for n in offered]
    for i, n in enumerate(flat):
        if n == wanted:
            return offered[i]
    for i, n in enumerate(flat):
        if n.endswith(wanted):
            return offered[i]
    return None


def choose(dialect, body):
    """-> (step dict, info for the log)"""
    ev = list({"chat": events_chat, "anthropic": events_anthropic,
               "responses": events_responses, "gemini": events_gemini}[dialect](body))
    script, results, start = None, [], -1
    for i, (k, _id, t) in enumerate(ev):
        if k == "user":
            m = SCRIPT.search(t)
            if m:
                script, results, start = m.group(1), [], i
        elif k == "result" and script is not None:
            results.append({"id": _id, "text": t[:300]})
    names = tool_names(dialect, body)
    shape = shape_of(dialect, body)
    info = {"shape": shape[-40:], "dialect": dialect, "model": body.get("model"), "stream": bool(body.get("stream")),
            "n_events": len(ev), "n_tools": len(names), "results_after_script": results}
    if script is None:
        return {"text": "ok"}, {**info, "script": None}
    try:
        steps = json.loads(script)
    except ValueError as e:
        return {"text": f"bad stub script: {e}"}, {**info, "script": script, "error": str(e)}
    idx = len(results)
    step = steps[idx] if idx < len(steps) else {"text": "stub: script exhausted"}
    step = dict(step or {"text": "stub: padded step reached"})
    info.update(script=script[:200], step_index=idx, step=dict(step))
    wanted = step.get("tools") or ([{"tool": step["tool"], "args": step.get("args", {})}] if "tool" in step else [])
    calls = []
    for w in wanted:
        n = pick_tool(w["tool"], names)
        if n is None:
            if not names:  # an auxiliary call, with no tools on offer
                return {"text": "ok"}, {**info, "aux": True}
            return ({"text": f"stub: no tool like {w['tool']} on offer"},
                    {**info, "error": "tool not offered", "offered": [str(x) for x in names]})
        args = dict(w.get("args", {}))
        for k, sc in required_args(dialect, body, n).items():
            if k not in args and (k == "security_risk" or sc.get("enum")):
                args[k] = "LOW" if k == "security_risk" else sc["enum"][0]
        calls.append({"name": n, "args": args, "id": "call_" + uuid.uuid4().hex[:20]})
    step["calls"] = calls
    info["calls"] = [{"name": c["name"], "id": c["id"]} for c in calls]
    if step.get("status") and step.get("times"):
        with LOCK:
            k = (script, idx)
            PLAYED[k] = PLAYED.get(k, 0) + 1
            if PLAYED[k] > step["times"]:
                step.pop("status")
    return step, info
