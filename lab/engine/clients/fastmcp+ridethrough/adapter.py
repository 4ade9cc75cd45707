"""FastMCP over `RideTransport`, as an adapter of the lab. Everything else is as its client has it by default."""

from typing import Any

import mcp_types as types
from fastmcp import Client
from pydantic import TypeAdapter

from player import answered, main, words
from ridethrough.fastmcp import RideTransport


class Adapter:
    def __init__(self, url, bearer, login, hear):
        self.hear = hear
        self.client = Client(RideTransport(url, token=bearer), message_handler=self.heard)

    async def __aenter__(self):
        await self.client.__aenter__()
        info, capabilities = self.client.server_info, self.client.server_capabilities
        return {
            "protocolVersion": self.client.protocol_version,
            "capabilities": capabilities and plain(capabilities),
            "serverInfo": info and plain(info),
            "instructions": self.client.instructions,
        }

    async def __aexit__(self, *error):
        return await self.client.__aexit__(*error)

    async def heard(self, message):
        if not isinstance(message, Exception):
            self.hear(words(message.method, message.params))

    async def call(self, tool, args, timeout):
        # A tool that says that it failed has answered; the adapter reports that, and no error.
        result = await self.client.call_tool(tool, args, timeout=timeout, raise_on_error=False)
        texts = [block.text for block in result.content if block.type == "text"]
        return answered("\n".join(texts), result.is_error, result.meta)

    async def request(self, method, params, timeout):
        request = types.Request[Any, str](method=method, params=params)
        anything = TypeAdapter(dict[str, Any])
        return await self.client.session.send_request(request, anything, request_read_timeout_seconds=timeout)


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


main(Adapter)
