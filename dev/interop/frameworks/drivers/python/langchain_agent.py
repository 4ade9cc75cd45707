"""LangChain: an agent with the tools of langchain-mcp-adapters and the middleware that repeats what fails.

It opens a session, and starts a server that is a program, for each call; with `session` one for all.
"""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from typing import Any

import driver
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools


class ScriptedModel(BaseChatModel):
    script: Any

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        last = messages[-1]
        tool = self.script.next(last.text if isinstance(last, ToolMessage) else None)
        calls = [] if tool is None else [{"name": tool, "args": self.script.arguments, "id": self.script.call_id}]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done", tool_calls=calls))])

    @property
    def _llm_type(self) -> str:
        return "scripted"


async def play(order: driver.Order, script: driver.Script) -> None:
    if "url" in order:
        connection: Any = {"transport": "streamable_http", "url": order["url"]}
    else:
        connection = {"transport": "stdio", **{name: order[name] for name in ("command", "args", "env")}}
    client = MultiServerMCPClient({"it": connection})
    async with AsyncExitStack() as stack:
        if "session" in sys.argv:
            tools = await load_mcp_tools(await stack.enter_async_context(client.session("it")))
        else:
            tools = await client.get_tools()
        retry = ToolRetryMiddleware(max_retries=int(sys.argv[1]), initial_delay=0.1)
        agent = create_agent(ScriptedModel(script=script), tools, middleware=[retry])
        await agent.ainvoke({"messages": [("user", "pay")]})


driver.main(play)
