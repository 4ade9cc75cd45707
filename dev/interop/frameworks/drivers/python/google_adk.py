"""Google ADK: an agent with an MCP toolset."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import driver
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.genai import types
from mcp import StdioServerParameters


class ScriptedModel(BaseLlm):
    script: Any

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = [part.function_response for part in llm_request.contents[-1].parts or [] if part.function_response]
        tool = self.script.next(json.dumps(said[-1].response) if said else None)
        part = types.Part(text="done")
        if tool is not None:
            part = types.Part(function_call=types.FunctionCall(name=tool, args=self.script.arguments))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def play(order: driver.Order, script: driver.Script) -> None:
    if "url" in order:
        params: Any = StreamableHTTPConnectionParams(url=order["url"], timeout=driver.CALL_SECONDS)
    else:
        server = StdioServerParameters(command=order["command"], args=order["args"], env=order["env"])
        params = StdioConnectionParams(server_params=server, timeout=driver.CALL_SECONDS)
    toolset = McpToolset(connection_params=params)
    try:
        runner = InMemoryRunner(
            LlmAgent(name="it", model=ScriptedModel(model="scripted", script=script), tools=[toolset])
        )
        await runner.run_debug("pay", quiet=True)
    finally:
        await toolset.close()


driver.main(play)
