"""The Python SDK (`mcp`) as an adapter of the lab. Everything is as the SDK has it by default."""

from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import TypeAdapter

from login import Login
from player import main, words


class Adapter:
    kept = None

    def __init__(self, url, bearer, login, hear):
        self.url, self.bearer, self.login, self.hear = url, bearer, login, hear
        self.stack, self.client = AsyncExitStack(), None

    async def __aenter__(self):
        server = self.url
        if self.bearer is not None or self.login is not None:
            # The way to a header is an HTTP client of one's own; this one has the SDK's default timeouts.
            headers = None if self.bearer is None else {"Authorization": f"Bearer {self.bearer}"}
            http = create_mcp_http_client(headers=headers, auth=await self.provider())
            server = streamable_http_client(self.url, http_client=await self.stack.enter_async_context(http))
        try:
            self.client = await self.stack.enter_async_context(Client(server, message_handler=self.heard))
        except BaseException:
            await self.stack.aclose()
            raise
        info, capabilities = self.client.server_info, self.client.server_capabilities
        return {
            "protocolVersion": self.client.protocol_version,
            "capabilities": plain(capabilities),
            "serverInfo": info and plain(info),
            "instructions": self.client.instructions,
        }

    async def provider(self):
        if self.login is None:
            return None
        Adapter.kept = Adapter.kept or Login()
        return await Adapter.kept.provider(self.url, self.login["within_s"])

    async def __aexit__(self, *error):
        return await self.stack.__aexit__(*error)

    async def heard(self, message):
        if not isinstance(message, Exception):
            self.hear(words(message.method, message.params))

    async def call(self, tool, args, timeout):
        result = await self.connected().call_tool(tool, args, read_timeout_seconds=timeout)
        texts = [block.text for block in result.content if block.type == "text"]
        return "\n".join(texts), bool(result.is_error)

    async def request(self, method, params, timeout):
        request = types.Request[Any, str](method=method, params=params)
        anything = TypeAdapter(dict[str, Any])
        session = self.connected().session
        return await session.send_request(request, anything, request_read_timeout_seconds=timeout)

    def connected(self):
        if self.client is None:
            raise RuntimeError("not connected")
        return self.client


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


main(Adapter)
