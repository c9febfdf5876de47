"""An MCP server on fastmcp with something of everything.

usage: fastmcp.py stdio | http   (over HTTP it prints its URL on the first line)
"""

import asyncio
import os
import socket
import sys
from dataclasses import dataclass

# The folder of this file has the name of a package that the import below means.
sys.path = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]

import mcp_types as types
import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from fastmcp.utilities.types import Image

server = FastMCP("fastmcp", version="1.0.0", instructions="Ask for anything: Grüße, 世界.")


@dataclass
class Person:
    name: str
    check: bool


@server.tool
def add(a: float, b: float = 1.0) -> float:
    """Adds two numbers."""
    return a + b


@server.tool(tags={"text"}, annotations={"readOnlyHint": True, "title": "Greeting"}, meta={"example.com/own": [1.0, None]})
def greet(name: str) -> str:
    """Greets."""
    return f"Grüße, {name} 🌍"


@server.tool
def structure() -> ToolResult:
    """Answers with structured content and metadata."""
    return ToolResult(
        content="two numbers",
        structured_content={"whole": 1.0, "large": 12345678901234567890, "none": None},
        meta={"example.com/own": True},
    )


@server.tool
def picture() -> Image:
    """Answers with an image."""
    return Image(data=bytes(range(32)), format="png")


@server.tool
def fail(kind: str) -> str:
    """Fails."""
    raise ToolError("the tool failed") if kind == "known" else ValueError("an error of the program")


@server.tool
async def report(ctx: Context) -> str:
    """Logs while it runs."""
    await ctx.debug("a detail")
    await ctx.info("a line", extra={"number": 1.0})
    await ctx.warning("a warning")
    return "reported"


@server.tool
async def slow(ctx: Context, pause: float = 0.1) -> str:
    """Reports its progress."""
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
        await asyncio.sleep(pause)
    return "done"


@server.tool
async def ask(ctx: Context) -> str:
    """Asks the user."""
    answer = await ctx.elicit("Who are you?", Person)
    return f"{answer.action}: {getattr(answer, 'data', None)}"


@server.tool
async def sample(ctx: Context) -> str:
    """Asks the client's model."""
    result = await ctx.session.create_message(
        [types.SamplingMessage(role="user", content=types.TextContent(type="text", text="say something"))],
        max_tokens=10,
        related_request_id=ctx.request_id,
    )
    return str(result.content)


@server.prompt
def review(code: str, language: str = "Python") -> str:
    """Asks for a review."""
    return f"Review this {language}: {code}"


@server.resource("data://numbers", mime_type="application/json")
def numbers() -> str:
    """Numbers."""
    return '{"whole": 1.0}'


@server.resource("data://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    """Bytes."""
    return bytes(range(16))


@server.resource("data://people/{name}")
def person(name: str) -> str:
    """A person."""
    return f"Person {name}"


@server.completion
def complete(ref, argument, context):
    return [word for word in ("Python", "Pascal", "Perl") if word.startswith(argument.value)]


if sys.argv[1] == "stdio":
    server.run(transport="stdio", show_banner=False)
else:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    # Connections wait from now on until the server accepts them.
    listening.listen()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.http_app(), log_level="warning", timeout_graceful_shutdown=0)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
