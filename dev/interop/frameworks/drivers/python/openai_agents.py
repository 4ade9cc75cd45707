"""OpenAI Agents: an agent with one MCP server, whose calls it repeats `max_retry_attempts` times."""

from __future__ import annotations

import json
import sys
from typing import Any

import driver
from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class ScriptedModel(Model):
    def __init__(self, script: driver.Script) -> None:
        self.script = script

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        said = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        tool = self.script.next(text(said[-1]["output"]) if said else None)
        return ModelResponse(output=[self.item(tool)], usage=Usage(), response_id=None)

    def item(self, tool: str | None) -> Any:
        if tool is not None:
            arguments = json.dumps(self.script.arguments)
            name, call_id = tool, self.script.call_id
            return ResponseFunctionToolCall(type="function_call", name=name, call_id=call_id, arguments=arguments)
        done = ResponseOutputText(type="output_text", text="done", annotations=[])
        return ResponseOutputMessage(id="1", type="message", role="assistant", status="completed", content=[done])

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def text(output: Any) -> str:
    if isinstance(output, list):
        return " ".join(str(part.get("text", part)) for part in output)
    return str(output)


async def play(order: driver.Order, script: driver.Script) -> None:
    settings: dict[str, Any] = {
        "client_session_timeout_seconds": driver.CALL_SECONDS,
        "max_retry_attempts": int(sys.argv[1]),
        "retry_backoff_seconds_base": 0.1,
    }
    if "url" in order:
        server: Any = MCPServerStreamableHttp({"url": order["url"]}, **settings)
    else:
        server = MCPServerStdio({name: order[name] for name in ("command", "args", "env")}, **settings)
    async with server:
        agent = Agent(name="it", model=ScriptedModel(script), mcp_servers=[server])
        await Runner.run(agent, "pay")


set_tracing_disabled(True)
driver.main(play)
