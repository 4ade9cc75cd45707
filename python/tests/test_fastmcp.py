"""FastMCP over ridethrough."""

from __future__ import annotations

import pytest
from conftest import run_asyncio
from fault_server import FaultServer, lose_session

fastmcp = pytest.importorskip("fastmcp")


def test_a_client_of_fastmcp_rides_through_a_lost_session(server: FaultServer) -> None:
    from ridethrough.fastmcp import RideTransport

    async def main() -> None:
        transport = RideTransport(server.url, headers={"x-team": "blue", "Authorization": "Bearer t"})
        async with fastmcp.Client(transport) as client:
            await client.call_tool("echo", {"text": "before"})
            server.faults.append(lose_session)
            result = await client.call_tool("echo", {"text": "after"})
        assert result.content[0].text == "after"
        sent = server.headers[-1]
        assert (sent["x-team"], sent["authorization"]) == ("blue", "Bearer t")
        assert "mcp?key" not in repr(RideTransport(server.url + "?key=secret"))

    run_asyncio(main)


def test_install_serves_fastmcps_own_transport(server: FaultServer) -> None:
    import ridethrough.mcp
    from fastmcp.client.transports import StreamableHttpTransport

    async def main() -> None:
        async with fastmcp.Client(StreamableHttpTransport(server.url)) as client:
            await client.call_tool("echo", {"text": "before"})
            server.faults.append(lose_session)
            result = await client.call_tool("echo", {"text": "after"})
        assert result.content[0].text == "after"

    assert ridethrough.mcp.install() > 0
    try:
        run_asyncio(main)
    finally:
        ridethrough.mcp.uninstall()
