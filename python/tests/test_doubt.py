"""What becomes of repeats of a call that may have run, of a client without the SDK."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Run
from fault_server import FaultServer, reset_after

import ridethrough
from ridethrough import Client, SyncClient


async def doubtful_write(client: Client, server: FaultServer) -> None:
    server.faults.append(reset_after)
    with pytest.raises(ridethrough.Interrupted):
        await client.call_tool("write", {"text": "it"})


def test_a_repeat_ends_with_the_error_of_the_call_in_doubt(run: Run, server: FaultServer) -> None:
    events: list[Any] = []

    async def main() -> None:
        async with Client(server.url, on_event=events.append) as client:
            await doubtful_write(client, server)
            with pytest.raises(ridethrough.Interrupted) as caught:
                await client.call_tool("write", {"text": "it"})
        error = caught.value
        assert (error.kind, error.may_have_run, error.attempts) == ("interrupted", True, 1)
        assert "This call was not sent; the same call is taken again after 30 s." in error.report
        assert str(error) == error.report
        assert [event.details["tool"] for event in events if event.name == "repeatHeld"] == ["write"]

    run(main)
    assert server.ran == ["write"]


def test_a_later_client_with_the_same_token_is_the_same_caller(server: FaultServer) -> None:
    server.faults.append(reset_after)
    for token, ran in [("mine", 1), ("mine", 1), ("another's", 2)]:
        with SyncClient(server.url, token=token) as client:
            try:
                client.call_tool("write", {"text": "it"})
            except ridethrough.Interrupted:
                pass
        assert len(server.ran) == ran


def test_functions_that_give_tokens_are_a_caller_each(server: FaultServer) -> None:
    def mine(_: bool) -> str:
        return "t"

    server.faults.append(reset_after)
    for token, ran in [(mine, 1), (mine, 1), (lambda _: "t", 2)]:
        with SyncClient(server.url, token=token) as client:
            try:
                client.call_tool("write", {"text": "it"})
            except ridethrough.Interrupted:
                pass
        assert len(server.ran) == ran


def test_who_has_looked_may_call_again(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            await doubtful_write(client, server)
            await client.call_tool("echo")
            assert (await client.call_tool("write", {"text": "it"})).text == "it"

    run(main)
    assert server.ran == ["write", "echo", "write"]


def test_a_call_that_may_run_twice_is_sent(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            await doubtful_write(client, server)
            assert (await client.call_tool("write", {"text": "it"}, idempotent=True)).text == "it"

    run(main)
    assert server.ran == ["write", "write"]


def test_a_repeat_is_sent_where_that_is_allowed(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url, doubt_repeat="allow") as client:
            await doubtful_write(client, server)
            assert (await client.call_tool("write", {"text": "it"})).text == "it"

    run(main)
    assert server.ran == ["write", "write"]


def test_a_word_that_is_none_is_refused_at_once(server: FaultServer) -> None:
    with pytest.raises(ValueError, match="`doubt_repeat` is `maybe`, must be `hold` or `allow`"):
        Client(server.url, doubt_repeat="maybe")
