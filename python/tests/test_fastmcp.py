"""FastMCP over ridethrough."""

from __future__ import annotations

import pytest
from conftest import run_asyncio
from fault_server import FaultServer, lose_session, reset_after

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


def test_a_doubt_is_told_by_an_error_and_a_repeat_over_a_new_connection_is_not_sent(server: FaultServer) -> None:
    from ridethrough.fastmcp import RideTransport
    from ridethrough.mcp import facts

    async def main() -> None:
        server.faults.append(reset_after)
        for words in ("The server may have run the call.", "the same call is taken again after 30 s"):
            async with fastmcp.Client(RideTransport(server.url)) as client:
                with pytest.raises(Exception, match=words) as caught:
                    await client.call_tool("write", {"text": "it"})
            told = facts(caught.value)
            assert told is not None and told.may_have_run

    run_asyncio(main)
    assert server.ran == ["write"]


def test_a_doubt_is_told_by_a_result_and_a_repeat_is_sent_where_that_is_asked_for(server: FaultServer) -> None:
    from ridethrough.fastmcp import RideTransport
    from ridethrough.mcp import facts

    async def main() -> None:
        server.faults.append(reset_after)
        transport = RideTransport(server.url, doubt="result", doubt_repeat="allow")
        async with fastmcp.Client(transport) as client:
            result = await client.call_tool("write", {"text": "it"}, raise_on_error=False)
            told = facts(result)
            assert result.is_error and told is not None and told.may_have_run
            await client.call_tool("write", {"text": "it"})

    run_asyncio(main)
    assert server.ran == ["write", "write"]
