"""The transports of the SDK over ridethrough, with whichever major of `mcp` is installed."""

from __future__ import annotations

import contextvars
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from fault_server import FaultServer, lose_session, primed_cut, reset_after, reset_before, status

pytest.importorskip("mcp")

import mcp.client.streamable_http as sdk_http
from mcp import ClientSession, StdioServerParameters

import ridethrough.mcp
from ridethrough import Policy
from ridethrough.mcp import facts, stdio_client, streamable_http_client

try:
    import httpx2 as httpx
except ImportError:
    import httpx  # type: ignore[no-redef]

try:
    from mcp.shared.exceptions import MCPError
except ImportError:
    from mcp.shared.exceptions import McpError as MCPError

IS_V1 = hasattr(sdk_http, "streamablehttp_client")

CHILD = str(Path(__file__).parent / "child_server.py")


@asynccontextmanager
async def session(url: str, is_carried: bool = False, **options: Any) -> AsyncIterator[Any]:
    if not is_carried:
        async with streamable_http_client(url, **options) as streams:
            async with ClientSession(streams[0], streams[1]) as opened:
                await opened.initialize()
                yield opened
        return
    async with httpx.AsyncClient(headers={"x-app": "mine"}, timeout=30) as client:
        async with streamable_http_client(url, http_client=client, **options) as streams:
            async with ClientSession(streams[0], streams[1]) as opened:
                await opened.initialize()
                yield opened
        assert not client.is_closed


@pytest.fixture(params=[False, True], ids=["native", "carried"])
def is_carried(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def said(result: Any) -> str:
    return str(result.content[0].text)


def test_calls_are_answered_and_the_session_is_deleted(
    run: Run, server: FaultServer, is_carried: bool
) -> None:
    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            assert said(await opened.call_tool("echo", {"text": "hällo"})) == "hällo"
            assert len((await opened.list_tools()).tools) == 6
        assert len(server.deleted) == 1
        sent = server.headers[server.requests.index("tools/call")]
        assert sent.get("x-app") == ("mine" if is_carried else None)
        assert "x-ridethrough-tag" not in sent

    run(main)


def test_a_lost_session_is_renewed(run: Run, server: FaultServer, is_carried: bool) -> None:
    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            server.faults.append(lose_session)
            assert said(await opened.call_tool("echo", {"text": "again"})) == "again"

    run(main)


def test_a_reset_ends_one_call_and_no_session(run: Run, server: FaultServer, is_carried: bool) -> None:
    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            server.faults.append(reset_after)
            with pytest.raises(MCPError) as caught:
                await opened.call_tool("write", {})
            assert said(await opened.call_tool("echo", {"text": "alive"})) == "alive"
        error = caught.value
        told = facts(error)
        assert told is not None and told.may_have_run and told.kind == "interrupted"
        # Neither of the codes that frameworks take for "send it again".
        assert error.error.code == -32050
        for marker in ("connection closed", "session expired", "broken pipe", "closed resource"):
            assert marker not in error.error.message.lower()
        assert server.ran.count("write") == 1

    run(main)


def test_a_call_that_did_not_run_has_the_code_of_a_lost_connection(
    run: Run, server: FaultServer, is_carried: bool
) -> None:
    async def main() -> None:
        async with session(server.url, is_carried, policy=Policy.never()) as opened:
            server.stop()
            with pytest.raises(MCPError) as caught:
                await opened.call_tool("write", {})
        told = facts(caught.value)
        assert told is not None and not told.may_have_run
        assert caught.value.error.code == -32000

    run(main)


def test_a_write_is_in_doubt_after_503_with_retry_after(run: Run, server: FaultServer, is_carried: bool) -> None:
    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            server.faults.append(status(503, ("retry-after", "0")))
            with pytest.raises(Exception) as caught:
                await opened.call_tool("write", {"text": "done"})
            told = facts(caught.value)
            assert told is not None and told.may_have_run
        assert server.ran == []

    run(main)


def test_429_with_retry_after_is_waited_out(run: Run, server: FaultServer, is_carried: bool) -> None:
    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            server.faults.append(status(429, ("retry-after", "0")))
            assert said(await opened.call_tool("write", {"text": "done"})) == "done"
        assert server.ran == ["write"]

    run(main)


def test_a_server_that_is_down_is_an_error_of_one_call(run: Run, server: FaultServer, is_carried: bool) -> None:
    server.stop()

    async def main() -> None:
        # The session itself wraps what is raised in it; `facts` looks inside.
        with pytest.raises(Exception) as caught:
            async with session(server.url, is_carried, policy=Policy.never()):
                pass
        told = facts(caught.value)
        assert told is not None and told.kind == "unreachable"

    run(main)


def test_questions_and_progress_reach_the_session(run: Run, server: FaultServer, is_carried: bool) -> None:
    server.ask = {"method": "roots/list"}
    steps: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            assert "not supported" in said(await opened.call_tool("asks", {}))
            await opened.call_tool("steps", {}, progress_callback=progress)
        assert steps == [1, 2, 3]

    run(main)


def test_the_requests_of_a_call_run_in_the_context_of_its_caller(run: Run, server: FaultServer) -> None:
    who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
    seen: dict[str, str] = {}

    async def hook(request: Any) -> None:
        if b"tools/call" in request.content:
            seen[request.headers["x-n"]] = who.get()

    async def main() -> None:
        import anyio

        async with httpx.AsyncClient(event_hooks={"request": [hook]}) as client:
            async with streamable_http_client(server.url, http_client=client) as streams:
                async with ClientSession(streams[0], streams[1]) as opened:
                    await opened.initialize()

                    async def one(name: str) -> None:
                        who.set(name)
                        client.headers["x-n"] = name
                        await opened.call_tool("echo", {"text": name})

                    for name in ("ann", "bob"):
                        async with anyio.create_task_group() as group:
                            group.start_soon(one, name)
        assert seen == {"ann": "ann", "bob": "bob"}

    run(main)


def test_a_resumption_token_is_refused_and_no_tool_runs(
    run: Run, server: FaultServer, is_carried: bool
) -> None:
    from mcp import types
    from mcp.shared.message import ClientMessageMetadata

    async def main() -> None:
        async with session(server.url, is_carried) as opened:
            params = types.CallToolRequestParams(name="write", arguments={})
            call: Any = types.CallToolRequest(method="tools/call", params=params)
            if IS_V1:
                call = types.ClientRequest(call)
            with pytest.raises(MCPError) as caught:
                await opened.send_request(
                    call, types.CallToolResult, metadata=ClientMessageMetadata(resumption_token="evt-1")
                )
            assert said(await opened.call_tool("echo", {"text": "alive"})) == "alive"
        told = facts(caught.value)
        # The call that the token is from may have run, so nothing may send this one again.
        assert told is not None and told.may_have_run and told.attempts == 0
        assert caught.value.error.code == -32050
        assert "write" not in server.ran

    run(main)


def test_an_error_of_the_applications_login_comes_out_itself(run: Run, server: FaultServer) -> None:
    class LoginFailed(Exception):
        pass

    class FailingLogin(httpx.Auth):
        async def async_auth_flow(self, request: Any) -> Any:
            raise LoginFailed("nobody was there")
            yield request

    async def main() -> None:
        with pytest.raises(Exception) as caught:
            async with httpx.AsyncClient(auth=FailingLogin()) as client:
                async with streamable_http_client(
                    server.url, http_client=client, policy=Policy.never()
                ) as streams:
                    async with ClientSession(streams[0], streams[1]) as opened:
                        await opened.initialize()
        raised = caught.value
        assert [type(each) for each in raised.exceptions] == [LoginFailed]  # type: ignore[attr-defined]
        # What became of the call can still be found out.
        assert facts(raised) is not None

    run(main)


def test_leaving_in_mid_call_is_quick_and_clean(run: Run, server: FaultServer, is_carried: bool) -> None:
    async def main() -> None:
        import anyio

        with anyio.move_on_after(0.3):
            async with session(server.url, is_carried) as opened:
                await opened.call_tool("slow", {"seconds": 20})
        async with session(server.url, is_carried) as opened:
            await opened.send_ping()

    run(main)


def test_events_are_told(run: Run, server: FaultServer) -> None:
    told: list[str] = []

    async def main() -> None:
        async with session(server.url, on_event=lambda event: told.append(event.name)) as opened:
            server.faults.append(lose_session)
            await opened.call_tool("echo", {})

    run(main)
    assert "sessionLost" in told


@pytest.mark.skipif(IS_V1, reason="`mcp` 1.x knows no such revision")
def test_a_pinned_revision_without_sessions_costs_no_handshake(run: Run, server: FaultServer) -> None:
    from mcp import Client

    async def main() -> None:
        async with Client(streamable_http_client(server.url), mode="2026-07-28") as client:
            with pytest.raises(MCPError):
                await client.call_tool("echo", {})
        assert server.requests[0] == "tools/call"
        assert "server/discover" not in server.requests and "initialize" not in server.requests

    run(main)


def test_nothing_starts_before_the_transport_is_entered() -> None:
    made = streamable_http_client(url="http://127.0.0.1:9/mcp")
    assert not hasattr(made, "_loop")
    del made


@pytest.mark.skipif(not IS_V1, reason="`mcp` 2.x has no such function")
def test_the_function_of_v1_has_its_arguments(run: Run, server: FaultServer) -> None:
    from datetime import timedelta

    server.token = "t"
    made: list[Any] = []

    def factory(**options: Any) -> Any:
        made.append(options)
        return httpx.AsyncClient(**options)

    async def main() -> None:
        headers = {"Authorization": "Bearer t", "x-team": "blue"}
        transport = ridethrough.mcp.streamablehttp_client
        async with transport(server.url, headers, timeout=timedelta(seconds=5)) as (read, write, session_id):
            async with ClientSession(read, write) as opened:
                await opened.initialize()
        async with transport(server.url, headers, 5, httpx_client_factory=factory) as (read, write, session_id):
            async with ClientSession(read, write) as opened:
                await opened.initialize()
                await opened.send_ping()
                assert session_id() in server.sessions
        assert len(made) == 1
        assert all(sent["x-team"] == "blue" for sent in server.headers)

    run(main)


def test_a_local_server_that_dies_is_started_again(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "stderr"

    async def main() -> None:
        parameters = StdioServerParameters(command=sys.executable, args=[CHILD])
        with open(log, "w") as errlog:
            async with stdio_client(parameters, errlog) as (read, write):
                async with ClientSession(read, write) as opened:
                    await opened.initialize()
                    first = said(await opened.call_tool("pid", {}))
                    with pytest.raises(MCPError) as caught:
                        await opened.call_tool("die", {})
                    second = said(await opened.call_tool("pid", {}))
        told = facts(caught.value)
        assert told is not None and told.may_have_run
        assert first != second
        assert log.read_text() == "started\nstarted\n"

    run(main)


def test_a_program_that_is_not_there_is_an_os_error(run: Run) -> None:
    async def main() -> None:
        with pytest.raises(OSError):
            async with stdio_client(StdioServerParameters(command="no-such-program-here")):
                pass

    run(main)


def test_install_takes_the_place_of_the_sdks_functions(server: FaultServer) -> None:
    import types

    framework = types.ModuleType("some_framework")
    theirs = sdk_http.streamable_http_client
    framework.connect = theirs  # type: ignore[attr-defined]
    sys.modules["some_framework"] = framework
    try:
        assert ridethrough.mcp.install() >= 2
        assert framework.connect is not theirs  # type: ignore[attr-defined]
        assert sdk_http.streamable_http_client is framework.connect  # type: ignore[attr-defined]
        assert ridethrough.mcp.install() == 0
    finally:
        ridethrough.mcp.uninstall()
        del sys.modules["some_framework"]
    assert framework.connect is theirs
    # What this module imported from ridethrough stays ours.
    assert streamable_http_client is ridethrough.mcp.streamable_http_client is not theirs
    assert sdk_http.streamable_http_client is theirs


def test_a_message_waits_for_tasks_that_the_one_before_began() -> None:
    # Trio starts tasks of one moment in any order: progress would arrive in any order.
    trio: Any = pytest.importorskip("trio")
    from ridethrough._loop import current_loop
    from ridethrough.mcp._streams import ReadStream

    async def main() -> None:
        stream = ReadStream(current_loop(), str.encode)
        started: list[bool] = []

        async def handle() -> None:
            started.append(True)

        for _ in range(2):
            stream.put(b'{"jsonrpc":"2.0","method":"notifications/x"}')
        async with trio.open_nursery() as nursery:
            await stream.receive()
            nursery.start_soon(handle)
            await stream.receive()
            assert started

    trio.run(main)
