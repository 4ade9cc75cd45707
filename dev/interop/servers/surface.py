"""What the servers on version 1 and on version 2 of the Python SDK share: the tools and lists of README.md.

The versions name the members of their types differently in Python, but read the same JSON: results are made from that.
A server adds the tools that need more than both versions have (`RUN`), and says how it is served over HTTP (`main`).
"""

import json
import os
import socket
import sys
import warnings
from collections.abc import Callable
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventMessage, EventStore
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

try:
    import mcp_types as types
    from mcp.shared.exceptions import MCPError
except ModuleNotFoundError:
    from mcp import types
    from mcp.shared.exceptions import McpError

    def MCPError(code: int, message: str) -> Exception:
        """The error of version 2, in the words of version 1."""
        return McpError(types.ErrorData(code=code, message=message))


warnings.simplefilter("ignore")

PAGE = 5
LEVELS = ["debug", "info", "notice", "warning", "error"]
NAMES = ["Ada", "Alan", "Grace"]
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "Ada"},
        "age": {"type": "integer", "default": 36},
        "keen": {"type": "boolean", "default": True},
    },
}


def of_json(kind: str, **members: Any) -> Any:
    """A type of the protocol, by the names that its members have in JSON."""
    return getattr(types, kind).model_validate(members)


def note(line: str) -> None:
    """A line that survives us: one write to a file opened for appending."""
    with open(os.environ["INTEROP_LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(line + "\n")


def tool(name: str, read_only: bool = False, **arguments: str) -> Any:
    properties = {key: {"type": kind} for key, kind in arguments.items()}
    if name == "route":
        properties["region"]["x-mcp-header"] = "Region"
    return of_json(
        "Tool",
        name=name,
        description=f"See {name} in the README.",
        inputSchema={"type": "object", "properties": properties},
        annotations={"readOnlyHint": read_only},
    )


TOOLS = [
    tool("add", True, a="number", b="number"),
    tool("ask_elicitation"),
    tool("ask_roots"),
    tool("ask_sampling", prompt="string"),
    tool("change"),
    tool("count", key="string", pause_ms="number"),
    tool("drop_stream", key="string"),
    tool("echo", True, text="string"),
    tool("fail"),
    tool("log"),
    tool("route", True, region="string"),
    tool("slow", key="string", steps="number", pause_ms="number"),
    tool("touch"),
    tool("wait", key="string"),
]


class Memory(EventStore):
    """Every event of every stream, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events) - 1)

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        if not last_event_id.isdigit() or int(last_event_id) >= len(self.events):
            return None
        stream = self.events[int(last_event_id)][0]
        for index in range(int(last_event_id) + 1, len(self.events)):
            of, message = self.events[index]
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(index)))
        return stream


class Session:
    """What one session asked for."""

    def __init__(self) -> None:
        self.level = "debug"
        self.subscribed: set[str] = set()


SESSIONS: dict[str, Session] = {}


def session(ctx: Any) -> Session:
    return SESSIONS.setdefault(ctx.request.headers.get("mcp-session-id", ""), Session())


async def add(ctx: Any, arguments: dict[str, Any]) -> str:
    return str(arguments["a"] + arguments["b"])


def prompted(arguments: dict[str, Any]) -> list[types.SamplingMessage]:
    content = types.TextContent(type="text", text=arguments["prompt"])
    return [types.SamplingMessage(role="user", content=content)]


async def ask_elicitation(ctx: Any, arguments: dict[str, Any]) -> str:
    return said(await ctx.session.elicit_form("Who is it?", FORM, ctx.request_id))


async def ask_roots(ctx: Any, arguments: dict[str, Any]) -> str:
    return said(await ctx.session.list_roots())


async def ask_sampling(ctx: Any, arguments: dict[str, Any]) -> str:
    session = ctx.session
    return said(await session.create_message(prompted(arguments), max_tokens=50, related_request_id=ctx.request_id))


def said(answer: Any) -> str:
    """What a tool that asks makes of the answer."""
    if isinstance(answer, types.ElicitResult):
        return json.dumps({"action": answer.action, "content": answer.content})
    if isinstance(answer, types.ListRootsResult):
        return json.dumps([str(root.uri) for root in answer.roots])
    return answer.content.text


async def count(ctx: Any, arguments: dict[str, Any]) -> str:
    note(f"ran {arguments['key']}")
    await anyio.sleep(arguments.get("pause_ms", 0) / 1000)
    return arguments["key"]


async def drop_stream(ctx: Any, arguments: dict[str, Any]) -> str:
    note(f"ran {arguments['key']}")
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await anyio.sleep(0.3)
    return arguments["key"]


async def echo(ctx: Any, arguments: dict[str, Any]) -> str:
    return arguments["text"]


async def fail(ctx: Any, arguments: dict[str, Any]) -> str:
    raise ValueError("this tool always fails")


async def log(ctx: Any, arguments: dict[str, Any]) -> str:
    least = session(ctx).level
    for level in LEVELS:
        if least in LEVELS and LEVELS.index(level) >= LEVELS.index(least):
            await ctx.session.send_log_message(level, f"a {level} message", "interop", ctx.request_id)
    return "logged"


async def route(ctx: Any, arguments: dict[str, Any]) -> str:
    return ctx.request.headers.get("mcp-param-region", "no header")


async def wait(ctx: Any, arguments: dict[str, Any]) -> str:
    note(f"began {arguments['key']}")
    try:
        await anyio.sleep(20)
    except anyio.get_cancelled_exc_class():
        note(f"cancelled {arguments['key']}")
        raise
    return arguments["key"]


RUN = {
    run.__name__: run
    for run in (add, ask_elicitation, ask_roots, ask_sampling, count, drop_stream, echo, fail, log, route, wait)
}


async def call_tool(ctx: Any, params: Any) -> Any:
    run = RUN.get(params.name)
    if run is None:
        raise MCPError(code=-32602, message=f"no tool `{params.name}`")
    try:
        text, is_error = await run(ctx, params.arguments or {}), False
    except ValueError as error:
        text, is_error = str(error), True
    return of_json("CallToolResult", content=[{"type": "text", "text": text}], isError=is_error)


def page(items: list[Any], params: Any) -> tuple[list[Any], str | None]:
    start = int(params.cursor) if params is not None and params.cursor else 0
    more = start + PAGE < len(items)
    return items[start : start + PAGE], str(start + PAGE) if more else None


async def list_tools(ctx: Any, params: Any) -> Any:
    tools, cursor = page(TOOLS, params)
    return of_json("ListToolsResult", tools=tools, nextCursor=cursor)


async def list_resources(ctx: Any, params: Any) -> Any:
    note = {"uri": "test://note", "name": "note", "mimeType": "text/plain"}
    return of_json("ListResourcesResult", resources=[note])


async def list_templates(ctx: Any, params: Any) -> Any:
    template = {"uriTemplate": "test://item/{id}", "name": "item"}
    return of_json("ListResourceTemplatesResult", resourceTemplates=[template])


async def read_resource(ctx: Any, params: Any) -> Any:
    uri = str(params.uri)
    if uri != "test://note" and not uri.startswith("test://item/"):
        raise MCPError(code=-32002, message=f"no resource `{uri}`")
    text = "a note" if uri == "test://note" else f"item {uri.removeprefix('test://item/')}"
    return of_json("ReadResourceResult", contents=[{"uri": uri, "text": text, "mimeType": "text/plain"}])


async def subscribe(ctx: Any, params: Any) -> Any:
    session(ctx).subscribed.add(str(params.uri))
    return types.EmptyResult()


async def unsubscribe(ctx: Any, params: Any) -> Any:
    session(ctx).subscribed.discard(str(params.uri))
    return types.EmptyResult()


async def list_prompts(ctx: Any, params: Any) -> Any:
    greet = {"name": "greet", "arguments": [{"name": "name", "required": True}]}
    return of_json("ListPromptsResult", prompts=[greet, {"name": "plain"}])


async def get_prompt(ctx: Any, params: Any) -> Any:
    text = f"Hello, {(params.arguments or {})['name']}!" if params.name == "greet" else "Hello!"
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return of_json("GetPromptResult", messages=[message])


async def complete(ctx: Any, params: Any) -> Any:
    values = [name for name in NAMES if name.startswith(params.argument.value)]
    return of_json("CompleteResult", completion={"values": values, "total": len(values), "hasMore": False})


async def set_level(ctx: Any, params: Any) -> Any:
    session(ctx).level = params.level
    return types.EmptyResult()


class Announcing(Server[Any]):
    """Says what it can do; the SDK's own default is that lists do not change, and in version 1 that nobody subscribes."""

    def create_initialization_options(self, *_: Any, **__: Any) -> Any:
        changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        options = super().create_initialization_options(changes)
        options.capabilities.resources.subscribe = True
        return options


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def sse_app(server: Server[Any]) -> Starlette:
    """The same server over HTTP+SSE, the transport of 2024-11-05."""
    transport = SseServerTransport("/messages/")

    async def stream(request: Any) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return Response()

    messages = Mount("/messages/", app=transport.handle_post_message)
    return Starlette(routes=[Route("/sse", endpoint=stream, methods=["GET"]), messages])


def session_settings() -> dict[str, Any]:
    """How sessions are kept, in the words that both versions have for it."""
    idle = os.environ.get("INTEROP_IDLE_MS")
    return {
        "event_store": Memory(),
        "json_response": "INTEROP_JSON" in os.environ,
        "retry_interval": 200,
        **({"session_idle_timeout": int(idle) / 1000} if idle else {}),
    }


def main(server: Server[Any], http_app: Callable[[Server[Any]], Any]) -> None:
    if sys.argv[1:] == ["stdio"]:
        return anyio.run(serve_stdio, server)
    is_old = sys.argv[1:] == ["sse"]
    app = sse_app(server) if is_old else http_app(server)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    listener.listen(128)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/{'sse' if is_old else 'mcp'}", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
