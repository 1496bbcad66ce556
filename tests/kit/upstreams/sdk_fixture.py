"""An upstream on the public Python `mcp` SDK (1.x or 2.x), so that the bridge meets an implementation that is not ours.

    sdk_fixture.py stdio
    sdk_fixture.py http PORT

Tools: echo(text); effect(key, sleep_s) appends to $EFFECTS, sleeps, appends again and answers.
"""
import asyncio
import os
import sys
import time

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

LOG = os.environ["EFFECTS"]
server = Server("sdk-fixture")


def note(what, key):
    with open(LOG, "a") as f:
        f.write(f"{time.time():.3f} {os.getpid()} {what} {key}\n")


@server.tool()
async def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool()
async def effect(key: str, sleep_s: float = 0) -> str:
    """Record the key, then sleep."""
    note("effect", key)
    try:
        await asyncio.sleep(sleep_s)
    except BaseException as e:
        note("cancelled", f"{key} {type(e).__name__}")
        raise
    note("done", key)
    return f"did {key}"


def main():
    if sys.argv[1] == "stdio":
        return server.run("stdio")
    port = int(sys.argv[2])
    try:
        server.run("streamable-http", host="127.0.0.1", port=port)
    except TypeError:
        server.settings.port = port
        server.run("streamable-http")


if __name__ == "__main__":
    main()
