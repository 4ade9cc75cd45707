"""The client without `await`."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fault_server import FaultServer, lose_session, reset_after, tell_first

import ridethrough
from ridethrough import SyncClient


def test_calls_are_answered_in_many_threads(server: FaultServer) -> None:
    with SyncClient(server.url) as client, ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: client.call_tool("echo", {"text": str(n)}).text, range(100)))
    assert texts == [str(n) for n in range(100)]
    assert len(server.deleted) == 1


def test_a_notification_reaches_the_application(server: FaultServer) -> None:
    heard: list[str] = []
    with SyncClient(server.url, on_notification=lambda it: heard.append(it.method)) as client:
        server.faults.append(tell_first)
        assert client.call_tool("echo").text == "done"
    assert heard == ["notifications/message"]


def test_faults_are_handled_and_told(server: FaultServer) -> None:
    with SyncClient(server.url) as client:
        client.call_tool("echo")
        server.faults.append(lose_session)
        assert client.call_tool("echo", {"text": "again"}).text == "again"
        server.faults.append(reset_after)
        with pytest.raises(ridethrough.Interrupted) as caught:
            client.call_tool("write")
        assert caught.value.may_have_run
        assert len(client.tools()) == 6
    with pytest.raises(ridethrough.Closed):
        client.call_tool("echo")


def test_questions_progress_and_tokens_are_served_in_the_thread_that_waits(server: FaultServer) -> None:
    server.token = "t"
    server.ask = {"method": "elicitation/create", "params": {}}
    threads: list[str] = []
    steps: list[Any] = []

    def answer(params: Any) -> Any:
        threads.append(threading.current_thread().name)
        return {"action": "decline"}

    with SyncClient(server.url, elicitation=answer, token=lambda refused: "t") as client:
        assert "decline" in client.call_tool("asks").text
        client.call_tool("steps", on_progress=steps.append)
    assert threads == [threading.current_thread().name]
    assert len(steps) == 3


def test_an_async_function_is_refused_where_nothing_could_await_it() -> None:
    async def answer(params: Any) -> Any:
        return {}

    with pytest.raises(TypeError, match="use `Client`"):
        SyncClient("http://localhost/mcp", sampling=answer)


def test_a_signal_interrupts_a_call_and_the_server_learns_of_it(server: FaultServer) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with SyncClient(server.url) as client:
            client.connect()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                client.call_tool("slow", {"seconds": 2})
            client.ping()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(server.cancelled) == 1
