"""What a session of the SDK is told of a call that may have run, and what becomes of its repeats."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, run_asyncio
from fault_server import FaultServer, reset_after
from test_sdk import IS_V1, MCPError, httpx, said

from mcp import ClientSession, StdioServerParameters

import ridethrough.mcp
from ridethrough.mcp import facts, stdio_client, streamable_http_client

import mcp.client.streamable_http as sdk_http

CHILD = str(Path(__file__).parent / "child_server.py")


class Carried:
    """Makes an HTTP client anew for each connection, as frameworks do."""

    def __init__(self, headers: Mapping[str, str] | None = None, auth: Any = None) -> None:
        self.headers, self.auth = headers, auth

    @asynccontextmanager
    async def session(self, url: str, connect: Any = streamable_http_client, **options: Any) -> AsyncIterator[Any]:
        async with httpx.AsyncClient(headers=self.headers, auth=self.auth, timeout=30) as client:
            async with connect(url, http_client=client, **options) as streams:
                async with opened(streams) as session:
                    yield session


class Native:
    @asynccontextmanager
    async def session(self, url: str, connect: Any = streamable_http_client, **options: Any) -> AsyncIterator[Any]:
        async with connect(url, **options) as streams:
            async with opened(streams) as session:
                yield session


@asynccontextmanager
async def opened(streams: Any, name: str = "tests") -> AsyncIterator[Any]:
    async with ClientSession(streams[0], streams[1], client_info=info(name)) as session:
        await session.initialize()
        yield session


def info(name: str) -> Any:
    try:
        from mcp_types import Implementation
    except ImportError:
        from mcp.types import Implementation  # type: ignore[no-redef]
    return Implementation(name=name, version="1")


@pytest.fixture(params=[Native, Carried], ids=["native", "carried"])
def caller(request: pytest.FixtureRequest) -> Any:
    return request.param()


async def doubtful_write(session: Any, server: FaultServer) -> None:
    """Runs the tool `write`, whose answer is lost."""
    server.faults.append(reset_after)
    await denied_write(session)


async def denied_write(session: Any) -> Any:
    with pytest.raises(MCPError) as caught:
        await session.call_tool("write", {"text": "it"})
    told = facts(caught.value)
    assert told is not None and told.may_have_run
    assert caught.value.error.code == -32050
    return caught.value


def test_a_repeat_in_its_session_is_answered_with_the_doubt(run: Run, server: FaultServer, caller: Any) -> None:
    events: list[Any] = []

    async def main() -> None:
        async with caller.session(server.url, on_event=events.append) as session:
            await doubtful_write(session, server)
            again = await denied_write(session)
        told = facts(again)
        assert told is not None and told.kind == "interrupted" and told.attempts == 1
        assert "the same call is taken again after 30 s" in told.report
        assert again.error.message == told.report
        assert server.ran == ["write"]
        held = [event for event in events if event.name == "repeatHeld"]
        assert [(event.level, event.details["tool"]) for event in held] == [("warning", "write")]

    run(main)


def test_a_repeat_over_a_later_connection_is_answered_with_the_doubt(
    run: Run, server: FaultServer, caller: Any
) -> None:
    async def main() -> None:
        async with caller.session(server.url) as session:
            await doubtful_write(session, server)
        for _ in range(2):
            async with caller.session(server.url) as session:
                await denied_write(session)
        assert server.ran == ["write"]

    run(main)


def test_a_session_that_was_open_before_is_another_callers(run: Run, server: FaultServer, caller: Any) -> None:
    async def main() -> None:
        async with caller.session(server.url) as other:
            async with caller.session(server.url) as session:
                await doubtful_write(session, server)
            assert said(await other.call_tool("write", {"text": "it"})) == "it"
        assert server.ran == ["write", "write"]

    run(main)


def test_who_has_looked_may_call_again(run: Run, server: FaultServer, caller: Any) -> None:
    async def main() -> None:
        async with caller.session(server.url) as session:
            await doubtful_write(session, server)
            await session.list_tools()
            await denied_write(session)
            await session.call_tool("echo", {"text": "what became of it?"})
            assert said(await session.call_tool("write", {"text": "it"})) == "it"
        assert server.ran == ["write", "echo", "write"]

    run(main)


def test_a_repeat_is_sent_where_that_is_allowed(run: Run, server: FaultServer, caller: Any) -> None:
    async def main() -> None:
        async with caller.session(server.url, doubt_repeat="allow") as session:
            await doubtful_write(session, server)
            assert said(await session.call_tool("write", {"text": "it"})) == "it"
        # What was told there holds no others either.
        async with caller.session(server.url) as session:
            assert said(await session.call_tool("write", {"text": "it"})) == "it"
        assert server.ran == ["write"] * 3

    run(main)


def test_other_credentials_are_another_caller(server: FaultServer) -> None:
    mine, other = httpx.BasicAuth("me", "secret"), httpx.BasicAuth("you", "secret")
    first = Carried({"authorization": "Bearer mine"}, mine)

    async def main() -> None:
        async with first.session(server.url) as session:
            await doubtful_write(session, server)
        for headers, auth in [({"authorization": "Bearer other"}, mine), (first.headers, other), (None, mine)]:
            async with Carried(headers, auth).session(server.url) as session:
                assert said(await session.call_tool("write", {"text": "it"})) == "it"
        async with first.session(server.url) as session:
            await denied_write(session)
        assert server.ran == ["write"] * 4

    run_asyncio(main)


def test_other_cookies_are_another_caller_and_those_of_answers_are_not(server: FaultServer) -> None:
    async def main() -> None:
        async with httpx.AsyncClient(timeout=30) as client:
            for cookies, ran in [({}, 1), ({"set-by": "an answer"}, 1)]:
                client.cookies.update(cookies)
                async with streamable_http_client(server.url, http_client=client) as streams:
                    async with opened(streams) as session:
                        await (denied_write(session) if server.ran else doubtful_write(session, server))
                assert len(server.ran) == ran
        async with httpx.AsyncClient(timeout=30, cookies={"user": "other"}) as client:
            async with streamable_http_client(server.url, http_client=client) as streams:
                async with opened(streams) as session:
                    assert said(await session.call_tool("write", {"text": "it"})) == "it"

    run_asyncio(main)


def test_a_client_of_another_name_is_another_caller(server: FaultServer) -> None:
    async def main() -> None:
        for name, ran in [("one", 1), ("one", 1), ("another", 2)]:
            async with streamable_http_client(server.url) as streams, opened(streams, name) as session:
                if not server.ran:
                    await doubtful_write(session, server)
                elif ran == 1:
                    await denied_write(session)
                else:
                    await session.call_tool("write", {"text": "it"})
            assert len(server.ran) == ran

    run_asyncio(main)


def test_a_doubt_is_told_by_a_result_where_that_is_asked_for(run: Run, server: FaultServer, caller: Any) -> None:
    async def main() -> None:
        async with caller.session(server.url, doubt="result") as session:
            server.faults.append(reset_after)
            first = await session.call_tool("write", {"text": "it"})
            again = await session.call_tool("write", {"text": "it"})
        for result in (first, again):
            assert is_error(result)
            assert "The tool may have run." in said(result)
            told = facts(result)
            assert told is not None and told.may_have_run and told.kind == "interrupted"
        assert "the same call is taken again after 30 s" in said(again)
        assert server.ran == ["write"]

    run(main)


@pytest.mark.parametrize("form", ["error", "result"])
def test_an_answer_that_the_sdk_cannot_read_leaves_its_call_in_doubt(server: FaultServer, form: Any) -> None:
    async def main() -> None:
        # Half of a character: JSON can hold it, and text cannot.
        server.faults.append(answer_with(b'{"content":[{"type":"text","text":"\\ud800"}]}'))
        for again in (False, True):
            async with Native().session(server.url, doubt=form) as session:
                if form == "error":
                    words = (await denied_write(session)).error.message
                else:
                    words = said(await session.call_tool("write", {"text": "it"}))
            assert words.startswith("The answer cannot be read.")
            assert ("the same call is taken again after 30 s" in words) == again

    run_asyncio(main)
    assert server.ran == ["write"]


def answer_with(result: bytes) -> Any:
    """Runs the tool, and answers with this text as the result."""

    def fault(handler: Any, message: dict[str, Any]) -> bool:
        handler.server_state.run(message["params"]["name"], message["params"].get("arguments") or {})
        body = b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (message["id"], result)
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True

    return fault


def test_a_local_server_that_died_does_not_get_the_call_again(run: Run) -> None:
    async def main() -> None:
        for _ in range(2):
            parameters = StdioServerParameters(command=sys.executable, args=[CHILD], env={"OF": "this test"})
            async with stdio_client(parameters) as streams, opened(streams) as session:
                with pytest.raises(MCPError) as caught:
                    await session.call_tool("die", {})
        assert "the same call is taken again after 30 s" in caught.value.error.message

    run_asyncio(main)


@pytest.mark.skipif(IS_V1, reason="`mcp` 1.x knows no such revision")
def test_in_the_revision_without_sessions_a_doubt_is_a_complete_result(server: FaultServer) -> None:
    from mcp import Client

    async def main() -> None:
        server.is_stateless = True
        server.faults.append(reset_after)
        for _ in range(2):
            transport = streamable_http_client(server.url, doubt="result")
            async with Client(transport, mode="2026-07-28") as client:
                result: Any = await client.call_tool("write", {"text": "it"})
            assert is_error(result) and result.result_type == "complete"
            assert "The tool may have run." in said(result)
        assert server.ran == ["write"]

    run_asyncio(main)


def test_what_is_installed_tells_doubt_by_a_result_unless_errors_are_asked_for(server: FaultServer) -> None:
    async def main() -> None:
        ridethrough.mcp.install()
        async with Native().session(server.url, sdk_http.streamable_http_client) as session:
            server.faults.append(reset_after)
            assert "may have run" in said(await session.call_tool("write", {"text": "it"}))
        ridethrough.mcp.install(doubt="error")
        async with Native().session(server.url, sdk_http.streamable_http_client) as session:
            await denied_write(session)
        ridethrough.mcp.install(doubt_repeat="allow")
        async with Native().session(server.url, sdk_http.streamable_http_client) as session:
            assert said(await session.call_tool("write", {"text": "it"})) == "it"

    try:
        run_asyncio(main)
    finally:
        ridethrough.mcp.uninstall()
    assert server.ran == ["write", "write"]


@pytest.mark.parametrize("setting", ["doubt", "doubt_repeat"])
def test_a_word_that_is_none_is_refused_by_its_name(server: FaultServer, setting: str) -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match=f"`{setting}` is `maybe`, must be"):
            async with streamable_http_client(server.url, **{setting: "maybe"}):  # type: ignore[arg-type]
                pass

    run_asyncio(main)


def is_error(result: Any) -> bool:
    return bool(getattr(result, "isError", False) or getattr(result, "is_error", False))
