"""hermes-agent #13406 and #13383: the server forgets the session, and every later call fails.

Until then only a restart of the whole gateway helped.
"""

from __future__ import annotations

import anyio
import pytest
import transports
from conftest import run_asyncio
from fault_server import FaultServer


def test_with_the_sdk_every_later_call_fails(server: FaultServer) -> None:
    async def main() -> None:
        async with transports.session(transports.sdk, server.url) as session:
            await session.call_tool("echo", {"text": "before"})
            server.lose_sessions()
            for _ in range(3):
                with pytest.raises(transports.MCPError):
                    await session.call_tool("echo", {"text": "after"})

    run_asyncio(main)


def test_with_ridethrough_all_calls_go_on_in_one_new_session(server: FaultServer) -> None:
    async def main() -> None:
        async with transports.session(transports.ridethrough, server.url) as session:
            await session.call_tool("echo", {"text": "before"})
            server.lose_sessions()
            texts: list[str] = []

            async def one(number: int) -> None:
                texts.append((await session.call_tool("echo", {"text": str(number)})).content[0].text)

            async with anyio.create_task_group() as group:
                for number in range(5):
                    group.start_soon(one, number)
            assert sorted(texts) == ["0", "1", "2", "3", "4"]
            assert len((await session.list_tools()).tools) == 6
        assert server.requests.count("initialize") == 2
        # Each of them ran once.
        assert len(server.ran) == 6

    run_asyncio(main)
