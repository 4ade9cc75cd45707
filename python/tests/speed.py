"""Measures CPU per call and latency: a session of the SDK over its own transport and over ours, and our client.

    PYTHONPATH=../target/python/package ../target/python/sdk2/bin/python tests/speed.py [CALLS] [ROUNDS]

The server runs in another process. CPU is that of this process, with all its threads. The contestants take turns, so
that a busy machine is busy for all of them: each number is the median of the rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "reports")]

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


@asynccontextmanager
async def sdk(url: str) -> AsyncIterator[Call]:
    import transports

    async with transports.session(transports.sdk, url) as session:
        await session.list_tools()
        yield session.call_tool


@asynccontextmanager
async def sdk_over_ours(url: str) -> AsyncIterator[Call]:
    import transports

    async with transports.session(transports.ridethrough, url) as session:
        await session.list_tools()
        yield session.call_tool


@asynccontextmanager
async def sdk_over_ours_carried(url: str) -> AsyncIterator[Call]:
    import transports
    from mcp.shared._httpx_utils import create_mcp_http_client

    async with create_mcp_http_client() as client:
        async with transports.session(transports.ridethrough, url, http_client=client) as session:
            await session.list_tools()
            yield session.call_tool


@asynccontextmanager
async def client(url: str) -> AsyncIterator[Call]:
    import ridethrough

    async with ridethrough.Client(url) as opened:
        await opened.tools()
        yield opened.call_tool


async def measure(contestant: Any, url: str, calls: int, name: str, arguments: dict[str, Any]) -> tuple[float, float]:
    """Returns CPU a call and the median latency, in microseconds."""
    async with contestant(url) as call:
        for _ in range(calls // 10 + 1):
            await call(name, arguments)
        times, cpu = [], time.process_time()
        for _ in range(calls):
            began = time.perf_counter()
            await call(name, arguments)
            times.append(time.perf_counter() - began)
        cpu = (time.process_time() - cpu) / calls
    return cpu * 1e6, statistics.median(times) * 1e6


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    program = "from fault_server import FaultServer; s = FaultServer(); print(s.url, flush=True); input()"
    server = subprocess.Popen(
        [sys.executable, "-c", program], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    try:
        for size, count, length in [("500 bytes", calls, 500), ("1 MB", max(calls // 20, 10), 1_000_000)]:
            found: dict[str, list[tuple[float, float]]] = {}
            for _ in range(rounds):
                for contestant in (sdk, sdk_over_ours, sdk_over_ours_carried, client):
                    measured = asyncio.run(measure(contestant, url, count, "large", {"bytes": length}))
                    found.setdefault(contestant.__name__, []).append(measured)
            for name, measured in found.items():
                cpu, p50 = (statistics.median(each) for each in zip(*measured))
                print(f"{size:9}  {name:22} CPU {cpu:7.0f} us a call, p50 {p50:7.0f} us")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
