"""python-sdk #2393: a server that accepts each resume and drops the stream again is retried for ever.

The reported job hung for five hours.
"""

from __future__ import annotations

import os
from typing import Any

import anyio
import pytest
import transports
from conftest import run_asyncio
from fault_server import FaultServer, Handler

from ridethrough import Policy
from ridethrough.mcp import facts

# The default is 8, which takes 12 s.
RESUMES = int(os.environ.get("RIDETHROUGH_RESUMES", "4"))


def drop(handler: Handler, *_: Any) -> bool:
    """Sends an event with an id, and ends the stream without the answer."""
    handler.begin_stream()
    handler.event(None, id="evt-1")
    handler.end_stream()
    return True


@pytest.fixture
def dropping(server: FaultServer) -> FaultServer:
    server.faults.append(drop)
    server.get_faults.extend([drop] * 100_000)
    return server


def test_with_the_sdk_the_call_never_ends(dropping: FaultServer) -> None:
    async def main() -> None:
        async with transports.session(transports.sdk, dropping.url) as session:
            with anyio.move_on_after(4.5) as scope:
                await session.call_tool("any_tool", {})
            assert scope.cancelled_caught
            # Its limit is two, and it waits for a second before each.
            assert dropping.requests.count("last-event-id") > 2

    run_asyncio(main)


def test_with_ridethrough_the_call_ends_with_an_error(dropping: FaultServer) -> None:
    async def main() -> None:
        policy = Policy(resumes=RESUMES)
        async with transports.session(transports.ridethrough, dropping.url, policy=policy) as session:
            with anyio.fail_after(30):
                with pytest.raises(transports.MCPError) as caught:
                    await session.call_tool("any_tool", {})
            await session.send_ping()
        told = facts(caught.value)
        assert told is not None and told.may_have_run
        # The call, and the resumes that brought nothing.
        assert told.attempts == 1 + RESUMES

    run_asyncio(main)
