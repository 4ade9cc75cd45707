"""The event loop that a client runs in: asyncio or trio.

A client starts no task group and no thread. The loop watches one socket, and calls back when the native module
has an item. Nothing here keeps a client alive: a client that is dropped removes its socket from the loop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from contextvars import Context

    import trio


class Waiter(Protocol):
    """A signal that one task waits for, once."""

    async def wait(self) -> None: ...
    def set(self) -> None: ...


class Job(Protocol):
    """A task in the background."""

    def cancel(self) -> object: ...


class Loop(Protocol):
    """The methods of an event loop that a client needs."""

    def is_current(self) -> bool: ...
    def is_closed(self) -> bool: ...
    def watch(self, fileno: int, on_ready: Callable[[], None]) -> None: ...
    def forget(self, fileno: int, keep: object) -> None: ...
    def waiter(self) -> Waiter: ...
    async def take_turn(self) -> None: ...
    def current_task(self) -> Any: ...
    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]], context: Context | None = None) -> Job: ...


def current_loop() -> Loop:
    """Returns the loop that runs now."""
    if "trio" in sys.modules:
        import trio

        try:
            return _TrioLoop(trio.lowlevel.current_trio_token())
        except RuntimeError:
            pass
    import asyncio

    return _AsyncioLoop(asyncio.get_running_loop())


class _AsyncioLoop:
    __slots__ = ("_loop", "_watcher")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watcher: Job | None = None

    def is_current(self) -> bool:
        import asyncio

        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def is_closed(self) -> bool:
        return self._loop.is_closed()

    def watch(self, fileno: int, on_ready: Callable[[], None]) -> None:
        try:
            self._loop.add_reader(fileno, on_ready)
        except NotImplementedError:
            # The default loop on Windows cannot watch sockets; anyio does it in a thread of its own.
            self._watcher = self.spawn(lambda: _watch_by_anyio(fileno, on_ready))

    def forget(self, fileno: int, keep: object) -> None:
        """Removes the socket from the loop, from any thread, and keeps `keep` alive until that is done."""

        def take_out() -> None:
            if self._watcher is not None:
                self._watcher.cancel()
            else:
                self._loop.remove_reader(fileno)
            del_ref(keep)

        try:
            self._loop.call_soon_threadsafe(take_out)
        except RuntimeError:
            # A closed loop watches nothing.
            pass

    def waiter(self) -> Waiter:
        return _AsyncioWaiter(self._loop.create_future())

    async def take_turn(self) -> None:
        """Lets earlier tasks start first. Nothing is needed: asyncio starts tasks in order."""

    def current_task(self) -> Any:
        """Returns the task that runs, if it can tell when it is done."""
        import asyncio

        return asyncio.current_task(self._loop)

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]], context: Context | None = None) -> Job:
        if context is None:
            task = self._loop.create_task(work())
        else:
            task = context.run(self._loop.create_task, work())
        # The loop itself keeps only weak references to its tasks.
        _running.add(task)
        task.add_done_callback(_running.discard)
        return task


class _AsyncioWaiter:
    __slots__ = ("_future",)

    def __init__(self, future: asyncio.Future[None]) -> None:
        self._future = future

    async def wait(self) -> None:
        await self._future

    def set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


class _TrioLoop:
    __slots__ = ("_scope", "_token")

    def __init__(self, token: trio.lowlevel.TrioToken) -> None:
        self._token = token
        self._scope: trio.CancelScope | None = None

    def is_current(self) -> bool:
        import trio

        try:
            return trio.lowlevel.current_trio_token() is self._token
        except RuntimeError:
            return False

    def is_closed(self) -> bool:
        import trio

        try:
            self._token.run_sync_soon(_nothing)
        except trio.RunFinishedError:
            return True
        return False

    def watch(self, fileno: int, on_ready: Callable[[], None]) -> None:
        import trio

        scope = self._scope = trio.CancelScope()

        async def watching() -> None:
            with scope:
                while True:
                    await trio.lowlevel.wait_readable(fileno)
                    on_ready()

        trio.lowlevel.spawn_system_task(watching)

    def forget(self, fileno: int, keep: object) -> None:
        """Removes the socket from the loop, from any thread, and keeps `keep` alive until that is done."""
        import trio

        scope = self._scope

        def take_out() -> None:
            if scope is not None:
                scope.cancel()
            # The watching task runs once more before it releases the socket.
            self._token.run_sync_soon(del_ref, keep)

        try:
            self._token.run_sync_soon(take_out)
        except trio.RunFinishedError:
            pass

    def waiter(self) -> Waiter:
        import trio

        return trio.Event()

    async def take_turn(self) -> None:
        """Lets earlier tasks start first: trio starts the tasks of one turn in any order."""
        import trio

        # Tasks of one turn run in any order, so only a second turn is sure to come after all of them.
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()

    def current_task(self) -> Any:
        """Returns nothing: trio's tasks do not tell when they are done."""
        return None

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]], context: Context | None = None) -> Job:
        import trio

        scope = trio.CancelScope()

        async def run() -> None:
            with scope:
                await work()

        trio.lowlevel.spawn_system_task(run, context=context)
        return scope


async def _watch_by_anyio(fileno: int, on_ready: Callable[[], None]) -> None:
    import anyio

    while True:
        await anyio.wait_readable(fileno)
        on_ready()


def _nothing() -> None:
    pass


def del_ref(_: object) -> None:
    """Does nothing: its caller gives up a reference by passing it here."""


_running: set[Any] = set()
