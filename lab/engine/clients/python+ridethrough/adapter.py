"""The Python SDK (`mcp`) over ridethrough, as an adapter of the lab: one import differs from that of the SDK alone."""

from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import TypeAdapter

from player import answered, main, words
from ridethrough.mcp import streamable_http_client


class Adapter:
    def __init__(self, url, bearer, login, hear):
        self.url, self.bearer, self.hear = url, bearer, hear
        self.stack, self.client = AsyncExitStack(), None

    async def __aenter__(self):
        http = None
        if self.bearer is not None:
            # The SDK's way to a header is an HTTP client of one's own, which then carries the requests.
            made = create_mcp_http_client(headers={"Authorization": f"Bearer {self.bearer}"})
            http = await self.stack.enter_async_context(made)
        server = streamable_http_client(self.url, http_client=http)
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

    async def __aexit__(self, *error):
        return await self.stack.__aexit__(*error)

    async def heard(self, message):
        if not isinstance(message, Exception):
            self.hear(words(message.method, message.params))

    async def call(self, tool, args, timeout):
        result = await self.connected().call_tool(tool, args, read_timeout_seconds=timeout)
        texts = [block.text for block in result.content if block.type == "text"]
        return answered("\n".join(texts), bool(result.is_error), result.meta)

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
