"""The surface of ../README.md on FastMCP, in both eras, with its own event store. Pages and subscriptions are FastMCP's to offer."""

import asyncio
import json
import os
import socket
import sys
import warnings
from dataclasses import dataclass
from typing import Annotated, Any

import mcp_types as types
import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.event_store import EventStore
from pydantic import Field, TypeAdapter

warnings.simplefilter("ignore")

STATELESS = "2026-07-28"
LEVELS = ["debug", "info", "notice", "warning", "error"]
NAMES = ["Ada", "Alan", "Grace"]

mcp = FastMCP("interop-fastmcp", version="1", list_page_size=5)
READ_ONLY = {"readOnlyHint": True}


@dataclass
class Form:
    name: str = "Ada"
    age: int = 36
    keen: bool = True


def note(line: str) -> None:
    """A line that survives us: one write to a file opened for appending."""
    with open(os.environ["INTEROP_LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(line + "\n")


@mcp.tool(annotations=READ_ONLY)
async def add(a: int, b: int) -> str:
    return str(a + b)


def in_rounds(ctx: Context, question: Any) -> Any:
    """A question without a session: the result of a tool that wants to be called again, or the answer."""
    if ctx.input_responses is None:
        return types.InputRequiredResult(input_requests={"it": question}, request_state="asked")
    if ctx.request_state != "asked":
        raise ToolError(f"the state is {ctx.request_state!r}")
    return said(ctx.input_responses["it"])


def said(answer: Any) -> str:
    """What a tool that asks makes of the answer."""
    if isinstance(answer, types.ElicitResult):
        return json.dumps({"action": answer.action, "content": answer.content})
    if isinstance(answer, types.ListRootsResult):
        return json.dumps([str(root.uri) for root in answer.roots])
    return answer.content.text


def is_stateless(ctx: Context) -> bool:
    return ctx.request_context.protocol_version == STATELESS


@mcp.tool(output_schema=None)
async def ask_elicitation(ctx: Context) -> Any:
    if is_stateless(ctx):
        schema = TypeAdapter(Form).json_schema()
        params = types.ElicitRequestFormParams(message="Who is it?", requested_schema=schema)
        return in_rounds(ctx, types.ElicitRequest(params=params))
    answer = await ctx.elicit("Who is it?", Form)
    content = vars(answer.data) if answer.action == "accept" else None
    return json.dumps({"action": answer.action, "content": content})


@mcp.tool(output_schema=None)
async def ask_roots(ctx: Context) -> Any:
    if is_stateless(ctx):
        return in_rounds(ctx, types.ListRootsRequest())
    return said(await ctx.session.list_roots())


@mcp.tool(output_schema=None)
async def ask_sampling(prompt: str, ctx: Context) -> Any:
    content = types.TextContent(type="text", text=prompt)
    message = types.SamplingMessage(role="user", content=content)
    if is_stateless(ctx):
        params = types.CreateMessageRequestParams(messages=[message], max_tokens=50)
        return in_rounds(ctx, types.CreateMessageRequest(params=params))
    return said(await ctx.session.create_message([message], max_tokens=50, related_request_id=ctx.request_id))


@mcp.tool
async def change(ctx: Context) -> str:
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_prompt_list_changed()
    await ctx.session.send_resource_list_changed()
    return "changed"


@mcp.tool
async def count(key: str, pause_ms: float = 0) -> str:
    note(f"ran {key}")
    await asyncio.sleep(pause_ms / 1000)
    return key


@mcp.tool
async def drop_stream(key: str, ctx: Context) -> str:
    note(f"ran {key}")
    await ctx.close_sse_stream()
    await asyncio.sleep(0.3)
    return key


@mcp.tool(annotations=READ_ONLY)
async def echo(text: str) -> str:
    return text


@mcp.tool
async def fail() -> str:
    raise ToolError("this tool always fails")


@mcp.tool
async def log(ctx: Context) -> str:
    for level in LEVELS:
        await ctx.log(f"a {level} message", level=level, logger_name="interop")
    return "logged"


@mcp.tool(annotations=READ_ONLY)
async def route(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], ctx: Context) -> str:
    return ctx.request_context.request.headers.get("mcp-param-region", "no header")


@mcp.tool
async def slow(key: str, steps: int, pause_ms: float, ctx: Context) -> str:
    note(f"ran {key}")
    for step in range(1, steps + 1):
        await asyncio.sleep(pause_ms / 1000)
        await ctx.report_progress(step, steps)
    return key


@mcp.tool
async def touch(ctx: Context) -> str:
    await ctx.session.send_resource_updated("test://note")
    return "touched"


@mcp.tool
async def wait(key: str) -> str:
    note(f"began {key}")
    try:
        await asyncio.sleep(20)
    except asyncio.CancelledError:
        note(f"cancelled {key}")
        raise
    return key


@mcp.resource("test://note", name="note", mime_type="text/plain")
def the_note() -> str:
    return "a note"


@mcp.resource("test://item/{id}", name="item", mime_type="text/plain")
def item(id: str) -> str:
    return f"item {id}"


@mcp.prompt
def greet(name: str) -> str:
    return f"Hello, {name}!"


@mcp.prompt
def plain() -> str:
    return "Hello!"


@mcp.completion
def complete(ref: Any, argument: Any, context: Any) -> list[str]:
    return [name for name in NAMES if name.startswith(argument.value)]


def main() -> None:
    if sys.argv[1:] == ["stdio"]:
        return mcp.run(transport="stdio", show_banner=False)
    idle = os.environ.get("INTEROP_IDLE_MS")
    app = mcp.http_app(
        path="/mcp",
        event_store=EventStore(),
        json_response="INTEROP_JSON" in os.environ,
        retry_interval=200,
        **({"session_idle_timeout": int(idle) / 1000} if idle else {}),
    )
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    listener.listen(128)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
