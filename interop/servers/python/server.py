"""The surface of ../README.md on the Python SDK, in both eras, with an event store in memory so that streams resume."""

import json
import os
import socket
import sys
import warnings
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

warnings.simplefilter("ignore")

STATELESS = "2026-07-28"
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


def note(line: str) -> None:
    """A line that survives us: one write to a file opened for appending."""
    with open(os.environ["INTEROP_LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(line + "\n")


def tool(name: str, read_only: bool = False, **arguments: str) -> types.Tool:
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in arguments.items()}}
    return types.Tool(
        name=name,
        description=f"See {name} in the README.",
        input_schema=schema,
        annotations=types.ToolAnnotations(read_only_hint=read_only),
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
ROUTE = next(tool for tool in TOOLS if tool.name == "route")
ROUTE.input_schema["properties"]["region"]["x-mcp-header"] = "Region"

# What a stateless server tells whoever listens; one with sessions tells it on their streams.
BUS = InMemorySubscriptionBus()


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


def question(name: str, arguments: dict[str, Any]) -> Any:
    """What a stateless call of a tool has to be sent again with."""
    if name == "ask_elicitation":
        return types.ElicitRequest(params=types.ElicitRequestFormParams(message="Who is it?", requested_schema=FORM))
    if name == "ask_roots":
        return types.ListRootsRequest()
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=prompted(arguments), max_tokens=50)
    )


async def change(ctx: Any, arguments: dict[str, Any]) -> str:
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_prompt_list_changed()
    await ctx.session.send_resource_list_changed()
    for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
        await BUS.publish(event)
    return "changed"


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


async def slow(ctx: Any, arguments: dict[str, Any]) -> str:
    note(f"ran {arguments['key']}")
    steps = int(arguments["steps"])
    for step in range(1, steps + 1):
        await anyio.sleep(arguments["pause_ms"] / 1000)
        await ctx.session.report_progress(step, steps)
    return arguments["key"]


async def touch(ctx: Any, arguments: dict[str, Any]) -> str:
    if "test://note" in session(ctx).subscribed:
        await ctx.session.send_resource_updated("test://note")
    await BUS.publish(ResourceUpdated("test://note"))
    return "touched"


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
    for run in (
        add, ask_elicitation, ask_roots, ask_sampling, change, count, drop_stream, echo, fail, log, route, slow, touch,
        wait,
    )
}  # fmt: skip


async def call_tool(
    ctx: Any, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    run, arguments = RUN.get(params.name), params.arguments or {}
    if run is None:
        raise MCPError(code=-32602, message=f"no tool `{params.name}`")
    if params.name.startswith("ask_") and ctx.protocol_version == STATELESS:
        return in_rounds(params, arguments)
    try:
        text, is_error = await run(ctx, arguments), False
    except ValueError as error:
        text, is_error = str(error), True
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


def in_rounds(
    params: types.CallToolRequestParams, arguments: dict[str, Any]
) -> types.CallToolResult | types.InputRequiredResult:
    """A tool that asks, without a session: the state comes back with the answer, or there is none."""
    if params.input_responses is None:
        return types.InputRequiredResult(
            input_requests={"it": question(params.name, arguments)}, request_state=f"asked {params.name}"
        )
    if params.request_state != f"asked {params.name}":
        raise MCPError(code=-32602, message=f"the state is {params.request_state!r}")
    text = said(params.input_responses["it"])
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def page(items: list[Any], params: Any) -> tuple[list[Any], str | None]:
    start = int(params.cursor) if params is not None and params.cursor else 0
    more = start + PAGE < len(items)
    return items[start : start + PAGE], str(start + PAGE) if more else None


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    tools, cursor = page(TOOLS, params)
    return types.ListToolsResult(tools=tools, next_cursor=cursor)


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri="test://note", name="note", mime_type="text/plain")])


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template="test://item/{id}", name="item")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri != "test://note" and not uri.startswith("test://item/"):
        raise MCPError(code=-32002, message=f"no resource `{uri}`")
    text = "a note" if uri == "test://note" else f"item {uri.removeprefix('test://item/')}"
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type="text/plain")])


async def subscribe(ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    session(ctx).subscribed.add(str(params.uri))
    return types.EmptyResult()


async def unsubscribe(ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    session(ctx).subscribed.discard(str(params.uri))
    return types.EmptyResult()


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    argument = types.PromptArgument(name="name", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", arguments=[argument]), types.Prompt(name="plain")])


async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    text = f"Hello, {(params.arguments or {})['name']}!" if params.name == "greet" else "Hello!"
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(messages=[message])


async def complete(ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [name for name in NAMES if name.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def set_level(ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    session(ctx).level = params.level
    return types.EmptyResult()


class Announcing(Server[Any]):
    """Says that its lists may change; the SDK's own default is that they do not."""

    def create_initialization_options(self, *_: Any, **__: Any) -> Any:
        changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(changes)


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


def main() -> None:
    server = Announcing(
        "interop-python",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="interop"))
    if sys.argv[1:] == ["stdio"]:
        return anyio.run(serve_stdio, server)
    is_old = sys.argv[1:] == ["sse"]
    app = sse_app(server) if is_old else server.streamable_http_app(event_store=Memory(), retry_interval=200)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    listener.listen(128)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/{'sse' if is_old else 'mcp'}", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
