from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE / "reports")]

from fault_server import FaultServer  # noqa: E402

Run = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture
def server() -> Iterator[FaultServer]:
    made = FaultServer()
    yield made
    made.stop()


@pytest.fixture(params=["asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs an async function in each event loop, for a minute at most."""
    return run_asyncio if request.param == "asyncio" else run_trio


def run_asyncio(main: Callable[[], Awaitable[None]]) -> None:
    import asyncio

    async def bounded() -> None:
        await asyncio.wait_for(main(), 60)

    asyncio.run(bounded())


def run_trio(main: Callable[[], Awaitable[None]]) -> None:
    trio: Any = pytest.importorskip("trio")

    async def bounded() -> None:
        with trio.fail_after(60):
            await main()

    trio.run(bounded)
