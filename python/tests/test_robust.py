"""Cancelling, leaving, forking, several loops, many clients: no hang and no leak."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import pytest
from conftest import Run, run_asyncio
from fault_server import FaultServer

import ridethrough
from ridethrough import Client, SyncClient

# Python imports from the working directory first, and the folder above has the package without its module.
HERE = Path(__file__).parent
CANCELLED = int(os.environ.get("RIDETHROUGH_CANCELLED", "500"))
CLIENTS = int(os.environ.get("RIDETHROUGH_CLIENTS", "100"))


def test_a_cancelled_task_cancels_its_call_at_the_server(server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            await client.connect()
            task = asyncio.create_task(client.call_tool("slow", {"seconds": 2}))
            while "tools/call" not in server.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not server.cancelled:
                await asyncio.sleep(0.01)
            await client.ping()

    run_asyncio(main)


def test_calls_cancelled_at_random_moments_leave_nothing_behind(server: FaultServer) -> None:
    chance = random.Random(7)

    async def one(client: Client) -> bool:
        task = asyncio.create_task(client.call_tool("echo", {"text": "x"}))
        await asyncio.sleep(chance.random() * 0.004)
        task.cancel()
        try:
            return (await task).text == "x"
        except asyncio.CancelledError:
            return False

    async def main() -> None:
        async with Client(server.url) as client:
            await client.connect()
            answered = 0
            for _ in range(CANCELLED // 10):
                answered += sum(await asyncio.gather(*[one(client) for _ in range(10)]))
            assert (await client.call_tool("echo", {"text": "alive"})).text == "alive"
            assert not client._pending
            assert answered < CANCELLED

    asyncio.run(asyncio.wait_for(main(), 300))


def test_two_loops_in_two_threads_do_not_meet(server: FaultServer) -> None:
    counts: list[int] = []

    async def main() -> None:
        async with Client(server.url) as client:
            texts = [(await client.call_tool("echo", {"text": str(n)})).text for n in range(50)]
        counts.append(texts == [str(n) for n in range(50)])

    threads = [threading.Thread(target=run_asyncio, args=(main,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert counts == [True, True]


def test_a_client_of_another_running_loop_is_refused_with_a_hint(server: FaultServer) -> None:
    async def main() -> None:
        async with Client(server.url) as client:
            await client.ping()
            errors: list[str] = []

            def elsewhere() -> None:
                try:
                    asyncio.run(client.ping())
                except RuntimeError as error:
                    errors.append(str(error))

            await asyncio.get_running_loop().run_in_executor(None, elsewhere)
            assert "one client for each loop" in errors[0]

    run_asyncio(main)


def test_a_client_outlives_its_loop(server: FaultServer) -> None:
    client = Client(server.url)

    async def call() -> None:
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"

    async def leave() -> None:
        asyncio.ensure_future(client.call_tool("slow"))
        await asyncio.sleep(0.05)

    run_asyncio(call)
    run_asyncio(leave)
    run_asyncio(call)
    run_asyncio(client.aclose)


def test_any_task_may_close_a_client(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        import anyio

        client = Client(server.url)
        await client.call_tool("echo")
        async with anyio.create_task_group() as group:
            group.start_soon(client.aclose)
            group.start_soon(client.aclose)

    run(main)
    assert len(server.deleted) == 1


def test_a_dropped_client_is_gone_with_its_socket(run: Run, server: FaultServer) -> None:
    async def main() -> None:
        import anyio

        client = Client(server.url)
        await client.call_tool("echo")
        dropped = weakref.ref(client)
        del client
        gc.collect()
        assert dropped() is None
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(100):
            await anyio.sleep(0.01)
            if len(os.listdir("/proc/self/fd")) < before:
                return
        raise AssertionError("the sockets of the client are still open")

    run(main)


def test_clients_made_and_dropped_leave_memory_and_sockets_as_they_were(server: FaultServer) -> None:
    async def some(count: int) -> None:
        for number in range(count):
            client = Client(server.url)
            await client.call_tool("echo")
            if number % 2:
                await client.aclose()
            del client
        gc.collect()
        await asyncio.sleep(0.3)

    async def main() -> None:
        await some(CLIENTS // 2)
        memory, sockets = resident(), len(os.listdir("/proc/self/fd"))
        await some(CLIENTS)
        # 1,000 clients that leaked only their driver would take 20 MB.
        assert resident() - memory < 4 * 1024 * 1024
        assert len(os.listdir("/proc/self/fd")) - sockets < 10

    asyncio.run(asyncio.wait_for(main(), 300))


@pytest.mark.parametrize("kind", ["asyncio", "trio", "sync", "thread"])
def test_an_interpreter_may_exit_in_mid_call(server: FaultServer, kind: str) -> None:
    program = {
        "asyncio": """
            async def main():
                client = ridethrough.Client(url)
                await client.ping()
                asyncio.ensure_future(client.call_tool("slow", {"seconds": 3}))
                await asyncio.sleep(0.2)
            asyncio.run(main())
        """,
        "trio": """
            import trio
            async def main():
                client = ridethrough.Client(url)
                await client.ping()
                with trio.move_on_after(0.2):
                    await client.call_tool("slow", {"seconds": 3})
            trio.run(main)
        """,
        "sync": """
            client = ridethrough.SyncClient(url)
            client.ping()
            threading.Timer(0.2, lambda: os._exit(0)).start()
            client.call_tool("slow", {"seconds": 3})
        """,
        "thread": """
            client = ridethrough.SyncClient(url)
            client.ping()
            call = lambda: client.call_tool("slow", {"seconds": 3})
            threading.Thread(target=call, daemon=True).start()
            time.sleep(0.2)
        """,
    }[kind]
    assert exits(program, server.url) == (0, "")


def test_a_child_of_a_fork_is_told_and_may_make_its_own_client(server: FaultServer) -> None:
    program = """
        with ridethrough.SyncClient(url) as client:
            client.ping()
            child = os.fork()
            if child == 0:
                try:
                    client.ping()
                except RuntimeError as error:
                    assert "make a new client in the child" in str(error), error
                else:
                    os._exit(1)
                del client
                with ridethrough.SyncClient(url) as own:
                    own.ping()
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            client.ping()
    """
    code, errors = exits(program, server.url)
    assert code == 0, errors


def test_importing_needs_neither_an_sdk_nor_an_event_loop() -> None:
    program = "import sys, ridethrough; ridethrough.Client; print([m for m in ('mcp', 'anyio', 'asyncio', 'trio', 'httpx') if m in sys.modules])"
    assert printed(program) == "[]"


def test_importing_loads_nothing_before_it_is_used() -> None:
    slow = ("json", "logging", "dataclasses", "inspect", "ridethrough._native", "ridethrough.client")
    # Some environments import a part of these themselves.
    program = f"import sys; before = set(sys.modules); import ridethrough; print(set({slow}) & set(sys.modules) - before)"
    assert printed(program) == "set()"


def test_every_public_name_is_there() -> None:
    program = "import ridethrough as it; print(sorted(n for ns in it._MODULES.values() for n in ns) == sorted(it.__all__), [n for n in it.__all__ if getattr(it, n).__name__ != n], set(it.__all__) - set(dir(it)))"
    assert printed(program) == "True [] set()"
    assert printed("from ridethrough import *; print(Client.__name__)") == "Client"
    assert printed("import ridethrough; print(ridethrough.errors.__name__)") == "ridethrough.errors"
    with pytest.raises(AttributeError, match="nothing_like_that"):
        getattr(ridethrough, "nothing_like_that")


def test_importing_is_quick() -> None:
    program = "import time; t = time.process_time(); from ridethrough import Client; print(time.process_time() - t)"
    times = [float(printed(program)) for _ in range(3)]
    # 20 ms on a machine at rest, half of it the standard library; ten times that if nothing is compiled yet.
    assert min(times) < 0.5


def printed(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_waiting_thread_does_not_hold_pythons_lock(server: FaultServer) -> None:
    with SyncClient(server.url) as client:
        client.ping()
        waiting = threading.Thread(target=client.call_tool, args=("slow", {"seconds": 0.5}))
        waiting.start()
        counted = 0
        while waiting.is_alive():
            counted += 1
        assert counted > 10_000


def exits(program: str, url: str) -> tuple[int, str]:
    """Runs a program, and returns its exit code and what it wrote to stderr."""
    head = f"import asyncio, os, threading, time, ridethrough\nurl = {url!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program)],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stderr


def resident() -> int:
    """Returns the memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
