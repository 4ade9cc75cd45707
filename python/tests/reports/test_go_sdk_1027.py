"""go-sdk #1027: a 503 that answers the resume of a stream breaks the whole session."""

from __future__ import annotations

import pytest
import transports
from conftest import run_asyncio
from fault_server import FaultServer, Handler, primed_cut, text


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_with_ridethrough_the_resume_is_tried_again(server: FaultServer, status: int) -> None:
    def refuse(handler: Handler) -> bool:
        if "last-event-id" in handler.headers:
            handler.status(status)
            return True
        server.get_faults.appendleft(refuse)
        handler.status(405)
        return True

    def deliver(handler: Handler) -> bool:
        handler.begin_stream()
        # The ids of the link begin at one, and `initialize` and others come before the call.
        handler.event({"jsonrpc": "2.0", "id": server.call_id, "result": text("resumed")}, id="evt-2")
        handler.end_stream()
        return True

    def cut(handler: Handler, message: dict[str, object]) -> bool:
        server.call_id = message["id"]
        return primed_cut(handler, message)

    server.faults.append(cut)
    server.get_faults.extend([refuse, deliver])

    async def main() -> None:
        async with transports.session(transports.ridethrough, server.url) as session:
            result = await session.call_tool("write", {})
            assert result.content[0].text == "resumed"
            await session.send_ping()
        assert server.requests.count("tools/call") == 1
        assert server.requests.count("initialize") == 1

    run_asyncio(main)
