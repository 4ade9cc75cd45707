"""Frameworks over ridethrough, each by the lines that `docs/python.md` shows. Those not installed are skipped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import run_asyncio
from fault_server import FaultServer, lose_session

pytest.importorskip("mcp")

import ridethrough.mcp


@pytest.fixture
def installed() -> Iterator[None]:
    ridethrough.mcp.install()
    yield
    ridethrough.mcp.uninstall()


def test_langchain(server: FaultServer) -> None:
    pytest.importorskip("langchain_mcp_adapters")
    from langchain_mcp_adapters.client import MultiServerMCPClient

    ridethrough.mcp.install()

    async def main() -> None:
        client = MultiServerMCPClient({"it": {"transport": "streamable_http", "url": server.url}})
        tools = {tool.name: tool for tool in await client.get_tools()}
        server.faults.append(lose_session)
        result = await tools["echo"].ainvoke({"text": "after"})
        assert "echo" in str(result) or "after" in str(result)
        assert server.requests.count("initialize") == 3

    try:
        run_asyncio(main)
    finally:
        ridethrough.mcp.uninstall()


def test_openai_agents(server: FaultServer) -> None:
    agents: Any = pytest.importorskip("agents.mcp")
    ridethrough.mcp.install()

    async def main() -> None:
        params = {"url": server.url, "headers": {"x-team": "blue"}}
        # Its default of 5 s for a call leaves no time to wait for a server.
        options = {"client_session_timeout_seconds": 60}
        async with agents.MCPServerStreamableHttp(params, **options) as opened:
            server.faults.append(lose_session)
            result = await opened.call_tool("echo", {"text": "after"})
        assert result.content[0].text == "after"
        assert all(sent["x-team"] == "blue" for sent in server.headers)

    try:
        run_asyncio(main)
    finally:
        ridethrough.mcp.uninstall()


def test_strands(server: FaultServer) -> None:
    pytest.importorskip("strands")
    from strands.tools.mcp import MCPClient

    from ridethrough.mcp import streamable_http_client

    with MCPClient(lambda: streamable_http_client(server.url)) as client:
        server.faults.append(lose_session)
        result = client.call_tool_sync("1", "echo", {"text": "after"})
    assert result["content"][0]["text"] == "after"


def test_pydantic_ai(server: FaultServer) -> None:
    mcp: Any = pytest.importorskip("pydantic_ai.mcp")
    pytest.importorskip("fastmcp")
    from ridethrough.fastmcp import RideTransport

    async def main() -> None:
        toolset = mcp.MCPToolset(RideTransport(server.url))
        async with toolset:
            server.faults.append(lose_session)
            assert "after" in str(await toolset.direct_call_tool("echo", {"text": "after"}))

    run_asyncio(main)


def test_google_adk(server: FaultServer, installed: None) -> None:
    pytest.importorskip("google.adk")
    from google.adk.tools.mcp_tool.mcp_session_manager import StreamableHTTPConnectionParams
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset

    async def main() -> None:
        # Its default of 5 s to connect leaves no time to wait for a server.
        params = StreamableHTTPConnectionParams(url=server.url, timeout=60)
        toolset = McpToolset(connection_params=params)
        assert "echo" in [tool.name for tool in await toolset.get_tools()]
        server.lose_sessions()
        assert "echo" in [tool.name for tool in await toolset.get_tools()]
        await toolset.close()

    asyncio.run(asyncio.wait_for(main(), 60))
