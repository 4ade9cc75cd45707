"""The client of its own, in asyncio and trio."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import pytest
from conftest import Run
from fault_server import FaultServer, lose_session, reset_after, reset_before, status, tell_first

import ridethrough
from ridethrough import Client, Policy


def test_a_tool_is_called_and_its_result_is_typed(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            result = await client.call_tool("echo", {"text": "hällo"})
            failed = await client.call_tool("failing")

            assert (result.text, result.is_error) == ("hällo", False)
            assert (failed.text, failed.is_error) == ("it failed", True)
            assert result.content[0].type == "text"
        assert len(server.deleted) == 1

    run(main)


def test_the_server_describes_itself(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            info = await client.connect()
        assert (info.name, info.instructions, info.protocol_version) == ("faulty", "be kind", "2025-06-18")

    run(main)


def test_all_pages_of_a_list_are_read(run: Run, server: FaultServer) -> None:
    server.pages = 3

    async def main() -> None:
        async with Client(server.url) as client:
            tools = await client.tools()
        names = [tool.name for tool in tools]
        assert [name for name in names if name.startswith("tool")] == ["tool1", "tool2", "tool3"]
        assert next(tool for tool in tools if tool.name == "read").annotations == {"readOnlyHint": True}

    run(main)


def test_a_list_that_never_ends_is_given_up(run: Run, server: FaultServer) -> None:
    server.is_endless = True

    async def main() -> None:
        async with Client(server.url) as client:
            with pytest.raises(ridethrough.ServerError, match="never ends"):
                await client.tools()

    run(main)


def test_a_lost_session_is_renewed_and_the_call_answered(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            await client.call_tool("echo")
            server.faults.append(lose_session)
            assert (await client.call_tool("echo", {"text": "again"})).text == "again"
        assert server.requests.count("initialize") == 2

    run(main)


def test_a_call_in_doubt_is_not_repeated_and_says_so(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            await client.call_tool("echo")
            server.faults.append(reset_after)
            with pytest.raises(ridethrough.Interrupted) as caught:
                await client.call_tool("write")
        error = caught.value
        assert (error.kind, error.may_have_run, error.attempts) == ("interrupted", True, 1)
        assert "hint: check whether `write` took effect" in error.report
        # A log or a traceback shows these words and nothing else.
        assert "the server may have run it" in str(error)
        assert error.message.startswith("tools/call `write` was interrupted") and "\n" not in error.message
        assert isinstance(error, ConnectionError)
        assert server.ran == ["echo", "write"]
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.report, copy.attempts) == (str(error), error.report, error.attempts)

    run(main)


def test_a_notification_reaches_the_application_before_the_answer(run: Run, server: FaultServer) -> None:
    heard: list[ridethrough.Notification] = []

    async def main() -> None:
        async with Client(server.url, on_notification=heard.append) as client:
            server.faults.append(tell_first)
            assert (await client.call_tool("echo")).text == "done"
            assert [(it.method, it.params["data"]) for it in heard] == [("notifications/message", "half done")]

    run(main)


def test_a_listener_that_fails_ends_no_call(run: Run, server: FaultServer) -> None:
    def fail(_: ridethrough.Notification) -> None:
        raise RuntimeError("a fault of the application")

    async def main() -> None:
        async with Client(server.url, on_notification=fail) as client:
            server.faults.append(tell_first)
            assert (await client.call_tool("echo")).text == "done"

    run(main)


def test_a_call_that_may_run_twice_is_sent_again(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            server.faults.append(reset_before)
            assert (await client.call_tool("write", idempotent=True)).text == "write"
            await client.tools()
            server.faults.append(reset_before)
            assert (await client.call_tool("read")).text == "read"

    run(main)


def test_a_time_limit_ends_the_call_as_a_timeout(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            # On a busy machine the handshake alone may take that long, and then the call was not sent.
            await client.connect()
            with pytest.raises(TimeoutError) as caught:
                await client.call_tool("slow", {"seconds": 5}, timeout=1)
        assert isinstance(caught.value, ridethrough.DeadlinePassed)
        assert caught.value.may_have_run

    run(main)


def test_a_server_that_is_down_is_waited_for(run: Run, server: FaultServer) -> None:
    import threading

    server.stop()
    threading.Timer(0.5, server.start, [server.port]).start()

    async def main() -> None:
        async with Client(server.url) as client:
            assert (await client.call_tool("echo", {"text": "there"})).text == "there"

    run(main)


def test_a_server_that_is_never_there_is_unreachable(run: Run, server: FaultServer) -> None:
    server.stop()

    async def main() -> None:
        async with Client(server.url, policy=Policy.never()) as client:
            with pytest.raises(ridethrough.Unreachable) as caught:
                await client.call_tool("echo")
        assert (caught.value.may_have_run, caught.value.attempts) == (False, 0)
        assert isinstance(caught.value, ConnectionError)

    run(main)


def test_progress_comes_before_the_result(run: Run, server: FaultServer) -> None:
    steps: list[Any] = []

    async def main() -> None:
        async with Client(server.url) as client:
            await client.call_tool("steps", on_progress=lambda step: steps.append(step))
        assert [(step.progress, step.total, step.message) for step in steps] == [
            (1, 3, "step 1"),
            (2, 3, "step 2"),
            (3, 3, "step 3"),
        ]

    run(main)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_servers_questions_are_answered(run: Run, server: FaultServer, is_async: bool) -> None:
    server.ask = {"method": "elicitation/create", "params": {"message": "your name?"}}

    def answer(params: Any) -> Any:
        assert params["message"] == "your name?"
        return {"action": "accept", "content": {"name": "Ada"}}

    async def answer_later(params: Any) -> Any:
        return answer(params)

    async def main() -> None:
        async with Client(server.url, elicitation=answer_later if is_async else answer) as client:
            result = await client.call_tool("asks")
        assert "Ada" in result.text

    run(main)


def test_a_handler_that_fails_refuses_and_ends_nothing(run: Run, server: FaultServer) -> None:
    server.ask = {"method": "sampling/createMessage", "params": {}}

    def fail(params: Any) -> Any:
        raise LookupError("secret words")

    async def main() -> None:
        async with Client(server.url, sampling=fail) as client:
            result = await client.call_tool("asks")
        assert "LookupError" in result.text and "secret words" not in result.text

    run(main)


def test_roots_are_told(run: Run, server: FaultServer) -> None:
    server.ask = {"method": "roots/list"}

    async def main() -> None:
        async with Client(server.url, roots=["file:///home/me"]) as client:
            result = await client.call_tool("asks")
        assert "file:///home/me" in result.text

    run(main)


def test_an_error_of_the_server_has_its_code_and_words(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            with pytest.raises(ridethrough.ServerError) as caught:
                await client.request("server/discover")
        assert (caught.value.code, caught.value.message) == (-32601, "Method not found")
        assert pickle.loads(pickle.dumps(caught.value)).code == -32601

    run(main)


def test_a_refusal_names_its_status(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            server.faults.append(status(418))
            with pytest.raises(ridethrough.Rejected) as caught:
                await client.call_tool("echo")
        assert caught.value.status == 418

    run(main)


def test_a_token_is_sent_and_a_better_one_is_asked_for(run: Run, server: FaultServer) -> None:
    server.token = "second"
    asked: list[bool] = []

    async def token(refused: bool) -> str:
        asked.append(refused)
        return "second" if refused else "first"

    async def main() -> None:
        async with Client(server.url, token=token) as client:
            assert (await client.call_tool("echo", {"text": "in"})).text == "in"
        async with Client(server.url, token="wrong") as client:
            with pytest.raises(ridethrough.Unauthorized):
                await client.call_tool("echo")
        assert asked == [False, True]

    run(main)


def test_headers_go_with_every_request_or_with_one(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url, headers={"x-team": "blue"}) as client:
            await client.call_tool("echo", headers={"x-tenant": "t1"})
        sent = server.headers[server.requests.index("tools/call")]
        assert (sent["x-team"], sent["x-tenant"]) == ("blue", "t1")
        assert "x-tenant" not in server.headers[0]

    run(main)


def test_no_event_is_lost_where_the_client_is_closed_right_after_a_call(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        for _ in range(100):
            async with Client(server.url) as client:
                events = client.events()
                await client.call_tool("echo")
            assert "callEnded" in [event.name async for event in events]

    run(main)


def test_events_are_told_to_a_function_to_readers_and_to_the_log(
    run: Run, server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[ridethrough.Event] = []
    caplog.set_level(logging.WARNING, "ridethrough")

    async def main() -> None:
        async with Client(server.url, on_event=told.append) as client:
            await client.call_tool("echo")
            events = client.events()
            server.faults.append(lose_session)
            await client.call_tool("echo")
            read = [(await events.__anext__()).name for _ in range(3)]
        assert "sessionLost" in [event.name for event in told]
        assert "sessionLost" in read
        assert "callEnded" in [event.name async for event in events]

    run(main)
    assert any("session is gone" in record.getMessage() for record in caplog.records)


def test_a_closed_client_says_so(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        client = Client(server.url)
        await client.call_tool("echo")
        await client.aclose()
        await client.aclose()
        with pytest.raises(ridethrough.Closed) as caught:
            await client.call_tool("echo")
        assert not caught.value.may_have_run

    run(main)


def test_wrong_settings_are_told_at_once() -> None:
    with pytest.raises(ValueError, match="patience"):
        Client("http://localhost/mcp", policy=Policy(patience=-1))
    with pytest.raises(ValueError):
        Client("ftp://localhost/mcp")
    with pytest.raises(ValueError, match="empty"):
        Client.spawn([])


def test_a_local_server_is_started_again_after_it_died(run: Run) -> None:
    import sys
    from pathlib import Path

    child = str(Path(__file__).parent / "child_server.py")

    async def main() -> None:
        async with Client.spawn([sys.executable, child]) as client:
            first = (await client.call_tool("pid")).text
            with pytest.raises(ridethrough.Interrupted) as caught:
                await client.call_tool("die")
            assert (await client.call_tool("pid")).text != first
        assert caught.value.may_have_run
        assert "started" in caught.value.report

    run(main)
