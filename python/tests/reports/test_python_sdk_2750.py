"""python-sdk #2750 and #2707: a stream that is closed as soon as the answer is there costs its connection.

Each later call pays for a new one. And a drain that fails after the answer must not bring the answer twice.
"""

from __future__ import annotations

from typing import Any

import anyio
import transports
from conftest import run_asyncio
from fault_server import FaultServer, Handler, text

CALLS = 10


def answer_then_end(handler: Handler, message: dict[str, Any]) -> bool:
    """Answers on a stream, and ends the stream a moment later."""
    import time

    handler.begin_stream()
    handler.event({"jsonrpc": "2.0", "id": message["id"], "result": text("x")}, id="evt-1")
    time.sleep(0.02)
    handler.end_stream()
    return True


def answer_then_break(handler: Handler, message: dict[str, Any]) -> bool:
    """Answers on a stream that can be resumed, and breaks the connection."""
    handler.begin_stream()
    handler.event({"jsonrpc": "2.0", "id": message["id"], "result": text("x")}, id="evt-1")
    handler.connection.shutdown(2)
    handler.close_connection = True
    return True


async def connections(streamable_http_client: Any, server: FaultServer) -> int:
    """Returns how many connections some calls in a row took."""
    server.faults.extend([answer_then_end] * CALLS)
    async with transports.session(streamable_http_client, server.url) as session:
        before = server.accepted
        for _ in range(CALLS):
            await session.call_tool("any_tool", {})
            await anyio.sleep(0.05)
    return server.accepted - before


def test_with_the_sdk_each_call_takes_a_new_connection(server: FaultServer) -> None:
    async def main() -> None:
        assert await connections(transports.sdk, server) >= CALLS - 1

    run_asyncio(main)


def test_with_ridethrough_the_connection_is_used_again(server: FaultServer) -> None:
    async def main() -> None:
        assert await connections(transports.ridethrough, server) <= 1

    run_asyncio(main)


def test_with_ridethrough_nothing_is_resumed_or_told_twice_after_the_answer(server: FaultServer) -> None:
    server.faults.append(answer_then_break)

    async def main() -> None:
        async with transports.session(transports.ridethrough, server.url) as session:
            assert (await session.call_tool("any_tool", {})).content[0].text == "x"
            await session.send_ping()
            assert "last-event-id" not in server.requests
            assert server.requests.count("tools/call") == 1

    run_asyncio(main)
