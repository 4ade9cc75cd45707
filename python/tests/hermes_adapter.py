"""hermes-agent's way of using a server, as an adapter of the lab: its `MCPServerTask`, with our transport installed.

`RIDETHROUGH_INSTALL=no` leaves the SDK's own transport in place, to see what hermes-agent meets without us.
"""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import Any

from player import main  # type: ignore[import-not-found]
from tools.mcp_tool import MCPServerTask  # type: ignore[import-not-found]

if os.environ.get("RIDETHROUGH_INSTALL") != "no":
    import ridethrough.mcp

    ridethrough.mcp.install()


class Adapter:
    def __init__(self, url: str, bearer: str | None, login: Any, hear: Any) -> None:
        self.config: dict[str, Any] = {"url": url}
        if bearer is not None:
            self.config["headers"] = {"Authorization": f"Bearer {bearer}"}
        self.server = MCPServerTask("it")

    async def __aenter__(self) -> Any:
        self.running = asyncio.create_task(self.server.run(self.config))
        await self.server._ready.wait()
        if self.server._error is not None:
            raise self.server._error
        self.session = self.server.session
        return self.server.initialize_result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def __aexit__(self, *error: object) -> None:
        await self.server.shutdown()
        await self.running

    async def call(self, tool: str, args: dict[str, Any], timeout: float | None) -> tuple[str, bool]:
        # Neither the session nor anything above it is made anew.
        assert self.server.session is self.session, "hermes-agent has restarted its connection"
        limit = timedelta(seconds=timeout or self.server.tool_timeout)
        result = await self.session.call_tool(tool, args, read_timeout_seconds=limit)
        return "\n".join(block.text for block in result.content if block.type == "text"), result.isError

    async def request(self, method: str, params: Any, timeout: float | None) -> Any:
        result = await self.session.read_resource(params["uri"])
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


main(Adapter)
