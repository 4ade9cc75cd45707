"""The surface of ../README.md on the Python SDK, version 1, with an event store in memory so that streams resume."""

import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.routing import Route

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import surface  # noqa: E402: it is in the folder above


async def change(ctx: Any, arguments: dict[str, Any]) -> str:
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_prompt_list_changed()
    await ctx.session.send_resource_list_changed()
    return "changed"


async def slow(ctx: Any, arguments: dict[str, Any]) -> str:
    surface.note(f"ran {arguments['key']}")
    steps = int(arguments["steps"])
    for step in range(1, steps + 1):
        await anyio.sleep(arguments["pause_ms"] / 1000)
        if ctx.meta is not None and ctx.meta.progressToken is not None:
            await ctx.session.send_progress_notification(
                ctx.meta.progressToken, step, steps, related_request_id=str(ctx.request_id)
            )
    return arguments["key"]


async def touch(ctx: Any, arguments: dict[str, Any]) -> str:
    if "test://note" in surface.session(ctx).subscribed:
        await ctx.session.send_resource_updated(AnyUrl("test://note"))
    return "touched"


surface.RUN |= {run.__name__: run for run in (change, slow, touch)}

ANSWERS = {
    types.CallToolRequest: surface.call_tool,
    types.CompleteRequest: surface.complete,
    types.GetPromptRequest: surface.get_prompt,
    types.ListPromptsRequest: surface.list_prompts,
    types.ListResourcesRequest: surface.list_resources,
    types.ListResourceTemplatesRequest: surface.list_templates,
    types.ListToolsRequest: surface.list_tools,
    types.ReadResourceRequest: surface.read_resource,
    types.SetLevelRequest: surface.set_level,
    types.SubscribeRequest: surface.subscribe,
    types.UnsubscribeRequest: surface.unsubscribe,
}


def handler(server: surface.Announcing, answer: Any) -> Any:
    async def handle(request: Any) -> types.ServerResult:
        return types.ServerResult(await answer(server.request_context, request.params))

    return handle


def http_app(server: surface.Announcing) -> Starlette:
    sessions = StreamableHTTPSessionManager(server, **surface.session_settings())

    class Endpoint:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await sessions.handle_request(scope, receive, send)

    # A class, so that it is called as an application and answers every method.
    return Starlette(routes=[Route("/mcp", endpoint=Endpoint())], lifespan=lambda _: sessions.run())


def server() -> surface.Announcing:
    server = surface.Announcing("interop-python-1", version="1")
    for request, answer in ANSWERS.items():
        server.request_handlers[request] = handler(server, answer)
    return server


if __name__ == "__main__":
    surface.main(server(), http_app)
