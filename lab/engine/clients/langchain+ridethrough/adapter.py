"""langchain-mcp-adapters over `ridethrough.mcp.install()`, as an adapter of the lab.

One session serves all calls, as its documentation shows for servers with state; a tool is langchain's own,
made from its name, so that no list has to be asked for. langchain gives each session an HTTP client of its own,
which carries the requests.
"""

from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import mcp.types as types
from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
from pydantic import RootModel

import ridethrough.mcp
from player import answered, main, words

ridethrough.mcp.install()


class Adapter:
    def __init__(self, url, bearer, login, hear):
        self.hear, self.stack, self.session = hear, AsyncExitStack(), None
        headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
        settings = {"message_handler": self.heard}
        server = {"transport": "streamable_http", "url": url, "headers": headers, "session_kwargs": settings}
        self.client = MultiServerMCPClient({"it": server})

    async def __aenter__(self):
        # The result of the handshake is what `initialize` returns, which langchain throws away.
        opening = self.client.session("it", auto_initialize=False)
        session = await self.stack.enter_async_context(opening)
        try:
            greeted = await session.initialize()
        except BaseException:
            await self.stack.aclose()
            raise
        self.session = session
        return greeted.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def __aexit__(self, *error):
        return await self.stack.__aexit__(*error)

    async def heard(self, message):
        if isinstance(message, types.ServerNotification):
            self.hear(words(message.root.method, message.root.params))

    async def call(self, tool, args, timeout):
        if timeout is not None:
            # langchain's tools have no limit of their own; the session below them has one.
            limit = timedelta(seconds=timeout)
            result = await self.connected().call_tool(tool, args, read_timeout_seconds=limit)
            return outcome(result)
        named = types.Tool(name=tool, inputSchema={"type": "object", "properties": {name: {} for name in args}})
        made = convert_mcp_tool_to_langchain_tool(
            self.connected(), named, tool_interceptors=[unless_in_doubt], handle_tool_errors=False
        )
        try:
            return texts(await made.ainvoke(args)), False
        except ToolException as error:
            # A tool that says that it failed has answered; the adapter reports that, and no error.
            return str(error), True

    async def request(self, method, params, timeout):
        request: Any = types.Request[Any, str](method=method, params=params)
        limit = None if timeout is None else timedelta(seconds=timeout)
        anything = RootModel[dict[str, Any]]
        sent = self.connected().send_request(request, anything, request_read_timeout_seconds=limit)
        return (await sent).root

    def connected(self):
        if self.session is None:
            raise RuntimeError("not connected")
        return self.session


async def unless_in_doubt(request, handler):
    """langchain keeps no `_meta`: a doubt is seen before it makes its own message of the result."""
    result = await handler(request)
    outcome(result)
    return result


def outcome(result):
    return answered(texts(block.model_dump() for block in result.content), bool(result.isError), result.meta)


def texts(blocks):
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


main(Adapter)
