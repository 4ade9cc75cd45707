"""The surface of ../README.md on the Python SDK, in both eras, with an event store in memory so that streams resume."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import surface  # noqa: E402: it is in the folder above

STATELESS = "2026-07-28"

# What a stateless server tells whoever listens; one with sessions tells it on their streams.
BUS = InMemorySubscriptionBus()


def question(name: str, arguments: dict[str, Any]) -> Any:
    """What a stateless call of a tool has to be sent again with."""
    if name == "ask_elicitation":
        return types.ElicitRequest(params=types.ElicitRequestFormParams(message="Who is it?", requested_schema=surface.FORM))
    if name == "ask_roots":
        return types.ListRootsRequest()
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=surface.prompted(arguments), max_tokens=50)
    )


async def change(ctx: Any, arguments: dict[str, Any]) -> str:
    surface.TOOLS.append(surface.tool(f"added_{len(surface.TOOLS)}"))
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_prompt_list_changed()
    await ctx.session.send_resource_list_changed()
    for event in (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()):
        await BUS.publish(event)
    return "changed"


async def slow(ctx: Any, arguments: dict[str, Any]) -> str:
    surface.note(f"ran {arguments['key']}")
    steps = int(arguments["steps"])
    for step in range(1, steps + 1):
        await anyio.sleep(arguments["pause_ms"] / 1000)
        await ctx.session.report_progress(step, steps)
    return arguments["key"]


async def touch(ctx: Any, arguments: dict[str, Any]) -> str:
    if "test://note" in surface.session(ctx).subscribed:
        await ctx.session.send_resource_updated("test://note")
    await BUS.publish(ResourceUpdated("test://note"))
    return "touched"


surface.RUN |= {run.__name__: run for run in (change, slow, touch)}


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    if params.name.startswith("ask_") and ctx.protocol_version == STATELESS:
        return in_rounds(params, params.arguments or {})
    return await surface.call_tool(ctx, params)


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
    text = surface.said(params.input_responses["it"])
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def server() -> surface.Announcing:
    server = surface.Announcing(
        "interop-python",
        version="1",
        on_list_tools=surface.list_tools,
        on_call_tool=call_tool,
        on_list_resources=surface.list_resources,
        on_list_resource_templates=surface.list_templates,
        on_read_resource=surface.read_resource,
        on_subscribe_resource=surface.subscribe,
        on_unsubscribe_resource=surface.unsubscribe,
        on_list_prompts=surface.list_prompts,
        on_get_prompt=surface.get_prompt,
        on_completion=surface.complete,
        on_set_logging_level=surface.set_level,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="interop"))
    return server


if __name__ == "__main__":
    if "INTEROP_CONFORMANCE" in os.environ:
        import conformance

        conformance.take_over()
    surface.main(server(), lambda server: server.streamable_http_app(**surface.session_settings()))
