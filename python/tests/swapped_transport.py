"""A pytest plugin that puts ridethrough's transport in the place of the SDK's, for the SDK's own tests.

It counts the tests that open the transport, and leaves out those that `sdk1_exceptions.txt` or `sdk2_exceptions.txt`
lists. One that fails with `DID NOT RAISE` breaks the event loop that all tests of its file share, so they are not even
begun.
"""

from __future__ import annotations

import os
from math import inf
from pathlib import Path
from typing import Any

import mcp.client.streamable_http
import pytest
import trio.testing

import ridethrough.mcp
from ridethrough.mcp import _sdk

opened: set[str] = set()
current = ""


def counting(*arguments: Any, **options: Any) -> Any:
    opened.add(current)
    return ridethrough.mcp.streamable_http_client(*arguments, **options)


def counting_v1(*arguments: Any, **options: Any) -> Any:
    opened.add(current)
    return ridethrough.mcp.streamablehttp_client(*arguments, **options)


mcp.client.streamable_http.streamable_http_client = counting  # type: ignore[assignment]
if _sdk.IS_V1:
    mcp.client.streamable_http.streamablehttp_client = counting_v1  # type: ignore[attr-defined]
else:
    import mcp.client.client

    mcp.client.client.streamable_http_client = counting  # type: ignore[assignment]


_MockClock: Any = trio.testing.MockClock


def patient_clock(rate: float = 0.0, autojump_threshold: float = inf) -> Any:
    """Makes trio's clock for tests, which jumps when no task runs for a while: threads are given a moment."""
    return _MockClock(rate, max(autojump_threshold, THREADS_ANSWER_WITHIN))


trio.testing.MockClock = patient_clock  # type: ignore[assignment, misc]

THREADS_ANSWER_WITHIN = 0.3
"""Seconds."""


def exceptions() -> dict[str, str]:
    """Returns the tests that cannot pass, each with its reason."""
    listed, reason = {}, ""
    file = "sdk1_exceptions.txt" if _sdk.IS_V1 else "sdk2_exceptions.txt"
    for line in (Path(__file__).parent / file).read_text().splitlines():
        if line.startswith("#"):
            reason = line.strip("# ")
        elif line.strip():
            listed[line.strip()] = reason
    return listed


def pytest_runtest_setup(item: pytest.Item) -> None:
    global current
    current = item.nodeid


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("RIDETHROUGH_UNLISTED"):
        return
    listed = exceptions()
    for item in items:
        reason = listed.get(item.nodeid) or listed.get(item.nodeid.partition("[")[0])
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"{len(opened)} tests opened ridethrough's transport")
