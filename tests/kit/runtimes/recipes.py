"""How to configure and launch each agent against the loopback LLM stub.

recipe(name)(home, base, proj) -> {"cmd": [...], "env": {...}, "auth": method id or None}
  home  an empty directory that becomes HOME (the agent's whole state lives there)
  base  the stub's origin, e.g. http://127.0.0.1:8089
  proj  the session's cwd
The environment is built from nothing: nothing of the caller's leaks in.

    recipes.py NAME HOME BASE PROJ      writes the agent's configuration and prints the recipe as one JSON line
"""
import json
import os
import platform
import sys
from pathlib import Path

A = Path(os.environ.get("ACP_AGENTS", Path(__file__).resolve().parents[3] / ".cache/agents")).resolve()
ARCH = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
NODE22 = A / f"node22/node_modules/node-linux-{ARCH}/bin"


def base_env(home, *path):
    return {"HOME": str(home), "PATH": ":".join([*(str(p) for p in path), "/usr/local/bin:/usr/bin:/bin"]),
            "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}


def put(path, text):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text, indent=1))


def opencode(home, base, proj):
    put(home / ".config/opencode/opencode.json", {
        "$schema": "https://opencode.ai/config.json",
        "model": "stub/stub-model", "small_model": "stub/stub-model",
        "autoupdate": False, "share": "disabled",
        "permission": {"*": "ask"},
        "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "name": "stub",
                              "options": {"baseURL": base + "/v1", "apiKey": "stub"},
                              "models": {"stub-model": {"name": "stub-model",
                                                        "limit": {"context": 200000, "output": 8000}}}}}})
    env = base_env(home)
    env.update(OPENCODE_DISABLE_AUTOUPDATE="1", OPENCODE_DISABLE_MODELS_FETCH="1", OPENCODE_DISABLE_LSP_DOWNLOAD="1",
               OPENCODE_DISABLE_DEFAULT_PLUGINS="1")
    return {"cmd": [str(A / f"opencode/node_modules/opencode-linux-{ARCH}/bin/opencode"), "acp"], "env": env}


def _codex_home(home, base, proj):
    put(home / ".codex/config.toml", f'''model = "stub-model"
model_provider = "stub"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "{base}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 1
stream_max_retries = 1
[projects."{proj}"]
trust_level = "trusted"
''')
    env = base_env(home)
    env.update(STUB_KEY="stub", CODEX_HOME=str(home / ".codex"), OPENAI_API_KEY="stub")
    return env


def codex(home, base, proj):
    env = _codex_home(home, base, proj)
    env["CODEX_PATH"] = str(A / "codex/node_modules/.bin/codex")
    return {"cmd": ["node", str(A / "codex/node_modules/@agentclientprotocol/codex-acp/dist/index.js")], "env": env,
            "mode": "workspace-write"}  # its default mode lets a model, not the client, approve


def claude(home, base, proj):
    put(home / ".claude/settings.json", {"env": {}, "permissions": {"defaultMode": "default"}})
    put(home / ".claude.json", {"hasCompletedOnboarding": True, "autoUpdates": False})
    env = base_env(home, NODE22)
    env.update(ANTHROPIC_BASE_URL=base, ANTHROPIC_API_KEY="stub", ANTHROPIC_MODEL="claude-sonnet-4-5",
               CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_TELEMETRY="1", DISABLE_AUTOUPDATER="1",
               DISABLE_ERROR_REPORTING="1", ENABLE_TOOL_SEARCH="false", CLAUDE_CONFIG_DIR=str(home / ".claude"))
    return {"cmd": [str(NODE22 / "node"),
                    str(A / "claude/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js")], "env": env}


def claude_toolsearch(home, base, proj):
    """As shipped: MCP tools hidden behind ToolSearch unless a tool says anthropic/alwaysLoad."""
    r = claude(home, base, proj)
    del r["env"]["ENABLE_TOOL_SEARCH"]
    r["probe_env"] = {"PROBE_ALWAYS_LOAD": "1"}
    return r


RECIPES = {
    "opencode": opencode,
    "codex": codex,
    "claude": claude,
    "claude-ts": claude_toolsearch,
}


def main():
    name, home, base, proj = sys.argv[1:]
    recipe = RECIPES[name](Path(home), base, proj)
    program = recipe["cmd"][0]
    if "/" in program and not os.access(program, os.X_OK):
        sys.exit(f"{program} is not installed: run ./test setup (or ./test runtimes)")
    print(json.dumps(recipe))


if __name__ == "__main__":
    main()
