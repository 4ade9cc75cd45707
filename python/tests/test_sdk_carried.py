"""HTTP by the application's own client: what its hooks may do, and servers of 2024-11-05."""

from __future__ import annotations

import itertools
import json
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, run_asyncio
from fault_server import FaultServer, Handler, text

pytest.importorskip("mcp")

from mcp import ClientSession
from test_sdk import httpx, is_carried, said, session

from ridethrough.mcp import streamable_http_client

__all__ = ["is_carried"]


@pytest.mark.parametrize("name", ["echo", "steps"], ids=["JSON", "stream"])
def test_a_hook_may_read_the_answers(run: Run, server: FaultServer, name: str) -> None:
    bodies: list[bytes] = []

    async def read(response: Any) -> None:
        bodies.append(await response.aread())

    async def main() -> None:
        async with httpx.AsyncClient(event_hooks={"response": [read]}, timeout=30) as client:
            async with streamable_http_client(server.url, http_client=client) as streams:
                async with ClientSession(streams[0], streams[1]) as opened:
                    await opened.initialize()
                    result = await opened.call_tool(name, {"text": name}, progress_callback=hear)
                    assert said(result) == name
        assert any(name.encode() in body for body in bodies)

    async def hear(*_: Any) -> None:
        pass

    run(main)


def test_changes_at_the_client_count_at_once(run: Run, server: FaultServer) -> None:
    """Headers are merged once for many requests; this is about the first request after each change."""
    sent: list[tuple[str, int, bytes]] = []

    async def look(request: Any) -> None:
        # As a login does: it must stay with this request.
        request.headers["x-signed"] = str(len(request.content))
        sent.append((request.method, request.extensions["timeout"]["read"], request.content))

    async def main() -> None:
        async with httpx.AsyncClient(headers={"x-turn": "1"}, timeout=30, event_hooks={"request": [look]}) as client:
            async with streamable_http_client(server.url, http_client=client) as streams:
                async with ClientSession(streams[0], streams[1]) as opened:
                    await opened.initialize()
                    await echo(opened, "a")
                    await echo(opened, "longer than before")
                    client.headers["x-turn"] = "2"
                    await echo(opened, "c")
                    client.timeout = 31
                    await echo(opened, "d")
                    client.cookies.set("turn", "5")
                    await echo(opened, "e")
                    client.cookies.clear()
                    client.params = {"turn": "6"}
                    await echo(opened, "f")
        calls = [headers for method, headers in zip(server.requests, server.headers) if method == "tools/call"]
        turns = [(it["x-turn"], it.get("cookie"), it["x-signed"] == it["content-length"]) for it in calls]
        assert turns == [("1", None, True)] * 2 + [("2", None, True)] * 2 + [("2", "turn=5", True), ("2", None, True)]
        assert [read for method, read, body in sent if b"tools/call" in body] == [30, 30, 30, 31, 31, 31]
        assert server.path == "/mcp?turn=6"

    async def echo(opened: Any, words: str) -> None:
        assert said(await opened.call_tool("echo", {"text": words})) == words

    run(main)


def test_a_client_that_makes_requests_its_own_way_does_so(run: Run, server: FaultServer) -> None:
    class Own(httpx.AsyncClient):  # type: ignore[misc]
        def build_request(self, *given: Any, **named: Any) -> Any:
            request = super().build_request(*given, **named)
            request.headers["x-number"] = str(next(numbers))
            return request

    async def main() -> None:
        async with Own(timeout=30) as client:
            async with streamable_http_client(server.url, http_client=client) as streams:
                async with ClientSession(streams[0], streams[1]) as opened:
                    await opened.initialize()
                    await opened.call_tool("echo")
                    await opened.call_tool("echo")
        assert len({it["x-number"] for it in server.headers}) == len(server.headers)

    numbers = itertools.count()
    run(main)


def test_an_answer_of_any_size_arrives_whole_and_is_given_back(server: FaultServer) -> None:
    """Large bodies are not copied: Python must get each of them back."""

    async def main() -> None:
        async with session(server.url, is_carried=True) as opened:
            # Below and above what is copied, reported at once, and reported in pieces.
            for size in (10, 20_000, 900_000, 1_500_000, 10, 3_000_000):
                assert said(await opened.call_tool("large", {"bytes": size})) == "x" * size
            before = resident()
            for _ in range(40):
                await opened.call_tool("large", {"bytes": 2_000_000})
            assert resident() - before < 40_000_000

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    if not Path("/proc/self/statm").exists():
        pytest.skip("memory is read from /proc")
    run_asyncio(main)


def test_a_server_of_2024_11_05_is_spoken_to(run: Run, old_server: OldServer, is_carried: bool) -> None:
    async def main() -> None:
        async with session(old_server.url, is_carried) as opened:
            assert said(await opened.call_tool("echo", {"text": "hällo"})) == "hällo"
            assert said(await opened.call_tool("echo", {"text": "again"})) == "again"
        asked = old_server.paths
        opened_at = asked.index(("GET", "/mcp"))
        assert set(asked[:opened_at]) == {("POST", "/mcp")}
        assert set(asked[opened_at + 1 :]) == {("POST", "/messages?id=1")}

    run(main)


class OldHandler(Handler):
    server_state: OldServer

    def do_GET(self) -> None:
        state = self.server_state
        state.paths.append(("GET", self.path))
        self.begin_stream()
        self.named_event("endpoint", "/messages?id=1")
        while (answer := state.answers_to_send.get()) is not None:
            self.named_event("message", json.dumps(answer))
        self.end_stream()

    def do_POST(self) -> None:
        state = self.server_state
        state.paths.append(("POST", self.path))
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/messages?id=1":
            return self.status(405)
        self.status(202)
        if message["method"] == "initialize":
            result: Any = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "old", "version": "1"}
        elif message["method"] == "tools/call":
            result = text(message["params"]["arguments"]["text"])
        else:
            result = self.page(message) if message["method"] == "tools/list" else {}
        if "id" in message:
            state.answers_to_send.put({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def named_event(self, name: str, data: str) -> None:
        body = f"event: {name}\ndata: {data}\n\n".encode()
        self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
        self.wfile.flush()


class OldServer(FaultServer):
    """A server of HTTP+SSE: a stream names the address for messages, and brings every answer."""

    handler = OldHandler

    def __init__(self) -> None:
        self.paths: list[tuple[str, str]] = []
        self.answers_to_send: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        super().__init__()

    def stop(self) -> None:
        self.answers_to_send.put(None)
        super().stop()


@pytest.fixture
def old_server() -> Iterator[OldServer]:
    made = OldServer()
    yield made
    made.stop()
