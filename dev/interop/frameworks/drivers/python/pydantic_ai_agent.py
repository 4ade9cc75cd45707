"""pydantic-ai: an agent with an MCP toolset. What fails is shown to its model with a request to try again."""

from __future__ import annotations

from typing import Any

import driver
from fastmcp_client import transport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


async def play(order: driver.Order, script: driver.Script) -> None:
    def model(messages: list[Any], _: Any) -> ModelResponse:
        parts = [part for part in messages[-1].parts if isinstance(part, (RetryPromptPart, ToolReturnPart))]
        tool = script.next(shown(parts[-1]) if parts else None)
        if tool is None:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(tool, script.arguments)])

    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(transport(order))], retries=3)
    async with agent:
        await agent.run("pay")


def shown(part: Any) -> str:
    return str(part.model_response() if isinstance(part, RetryPromptPart) else part.model_response_str())


driver.main(play)
