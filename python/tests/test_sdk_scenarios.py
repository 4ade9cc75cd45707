"""What the lab's scenarios found of the SDK over ridethrough: cancelling (F1, F2, F5), secrets (K22), eras (J2, K24)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from conftest import Run, run_asyncio
from fault_server import FaultServer, Handler

pytest.importorskip("mcp")

from mcp import ClientSession
from test_sdk import IS_V1, MCPError, httpx, is_carried, session

from ridethrough.mcp import streamable_http_client

__all__ = ["is_carried"]


def test_a_refusal_that_repeats_the_token_does_not_show_it(run: Run, server: FaultServer) -> None:
    def refuse(handler: Handler, message: dict[str, Any]) -> bool:
        body = json.dumps({"error": "no", "got": handler.headers["authorization"]}).encode()
        handler.send_response(403)
        handler.send_header("content-type", "application/json")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for piece in (body[:30], body[30:]):
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        handler.wfile.write(b"0\r\n\r\n")
        return True

    async def main() -> None:
        headers = {"Authorization": "Bearer tok-3c1f9a77e2"}
        async with httpx.AsyncClient(headers=headers, timeout=30) as client:
            async with streamable_http_client(server.url, http_client=client) as streams:
                async with ClientSession(streams[0], streams[1]) as opened:
                    await opened.initialize()
                    server.faults.append(refuse)
                    with pytest.raises(MCPError) as caught:
                        await opened.call_tool("write")
        error = caught.value.error
        told = f"{error.message}{error.data}"
        assert "got" in told and "tok-3c1f9a77e2" not in told

    run(main)


@pytest.mark.skipif(not IS_V1, reason="`mcp` 2.x tells the server itself")
def test_a_cancelled_task_of_v1_cancels_its_call_at_the_server(server: FaultServer, is_carried: bool) -> None:
    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            await opened.call_tool("echo")
            calling = asyncio.create_task(opened.call_tool("slow", {"seconds": 2}))
            while "slow" not in server.ran:
                await asyncio.sleep(0.01)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            while not server.cancelled:
                await asyncio.sleep(0.01)
            assert (await opened.call_tool("echo", {"text": "after"})).content[0].text == "after"
            assert len(server.cancelled) == 1

    run_asyncio(main)


@pytest.mark.skipif(not IS_V1, reason="`mcp` 2.x tells the server itself")
def test_a_task_of_v1_that_ends_after_its_answer_cancels_nothing(server: FaultServer) -> None:
    async def main() -> None:
        async with session(server.url) as opened:

            async def call_and_wait() -> None:
                await opened.call_tool("echo")
                await asyncio.sleep(60)

            task = asyncio.create_task(call_and_wait())
            while "echo" not in server.ran:
                await asyncio.sleep(0.01)
            # The answer is there after another call.
            await opened.call_tool("read")
            task.cancel()
            await asyncio.wait([task])
            await opened.call_tool("read")
            assert server.cancelled == []

    run_asyncio(main)


def test_401_to_the_stream_that_listens_ends_no_call(server: FaultServer) -> None:
    """Found by G7: a call that began after that answer was not sent at all."""

    def refuse(handler: Handler) -> bool:
        handler.status(401, ("www-authenticate", 'Bearer error="invalid_token"'))
        return True

    async def main() -> None:
        server.get_faults.extend([refuse] * 9)
        async with session(server.url, is_carried=True) as opened:
            # One of them begins while that answer is looked at.
            ends = await asyncio.gather(*[again(opened, 25) for _ in range(3)])
            assert sum(ends, []) == ["after"] * 75
            assert "GET" in server.requests

    async def again(opened: Any, times: int) -> list[str]:
        return [(await opened.call_tool("echo", {"text": "after"})).content[0].text for _ in range(times)]

    run_asyncio(main)


@pytest.mark.skipif(IS_V1, reason="`mcp` 1.x does not ask for the era")
def test_a_client_that_asks_for_the_era_has_the_server_asked(server: FaultServer) -> None:
    from mcp import Client  # type: ignore[attr-defined]

    async def main() -> None:
        async with Client(streamable_http_client(server.url)) as client:
            await client.call_tool("echo", {"text": "hello"})
        assert server.requests[:2] == ["server/discover", "initialize"]

    run_asyncio(main)


def test_a_session_that_asks_for_a_session_gets_one_at_once(server: FaultServer) -> None:
    async def main() -> None:
        async with session(server.url) as opened:
            await opened.call_tool("echo")
        assert server.requests[0] == "initialize"

    run_asyncio(main)
