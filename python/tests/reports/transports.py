"""The one import that the reports are about: the SDK's transport, or ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client as sdk
from ridethrough.mcp import streamable_http_client as ridethrough

try:
    from mcp.shared.exceptions import MCPError as MCPError
except ImportError:
    from mcp.shared.exceptions import McpError as MCPError  # noqa: F401


@asynccontextmanager
async def session(streamable_http_client: Any, url: str, **options: Any) -> AsyncIterator[Any]:
    async with streamable_http_client(url, **options) as streams:
        async with ClientSession(streams[0], streams[1]) as opened:
            await opened.initialize()
            yield opened
