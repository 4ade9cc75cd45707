"""The two streams between a session of the SDK and the link."""

from __future__ import annotations

import contextvars
import json
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio

from .._loop import Loop, Waiter
from . import _sdk

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage


class _Closing:
    async def aclose(self) -> None:
        raise NotImplementedError

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


class ReadStream(_Closing):
    """The server's messages, for the session. The stream ends when the transport does."""

    def __init__(self, loop: Loop, replace: Callable[[str], bytes | None]) -> None:
        """`replace` returns the message in place of an answer to the request of this id that the SDK cannot read; none if
        the transport has ended."""
        self._loop = loop
        self._replace = replace
        self._texts: deque[bytes] = deque()
        self._waiter: Waiter | None = None
        self._is_over = False
        self._is_closed = False
        # The SDK handles a message in the context of its sender; a server has none.
        self.last_context: contextvars.Context | None = None

    def put(self, text: bytes) -> None:
        if not self._is_closed:
            self._texts.append(text)
            self._wake()

    def end(self) -> None:
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None:
            self._waiter.set()

    async def receive(self) -> SessionMessage | Exception:
        await self._loop.take_turn()
        while not self._texts:
            if self._is_closed:
                raise anyio.ClosedResourceError
            if self._is_over:
                raise anyio.EndOfStream
            self._waiter = self._loop.waiter()
            try:
                await self._waiter.wait()
            finally:
                self._waiter = None
        text = self._texts.popleft()
        try:
            return _sdk.read(text)
        except ValueError as error:
            message: Any = json.loads(text)
            if "id" not in message or "method" in message:
                return error
            replaced = self._replace(json.dumps(message["id"]))
            if replaced is None:
                raise anyio.EndOfStream from None
            return _sdk.read(replaced)

    def close(self) -> None:
        self._is_closed = True
        self._texts.clear()
        self._wake()

    async def aclose(self) -> None:
        self.close()

    def __aiter__(self) -> ReadStream:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> ReadStream:
        return self


class WriteStream(_Closing):
    """The session's messages, for the link."""

    def __init__(self, deliver: Callable[[SessionMessage], Awaitable[None] | None]) -> None:
        self._deliver = deliver
        self._is_closed = False
        self._is_over = False

    async def send(self, item: SessionMessage) -> None:
        if self._is_closed:
            raise anyio.ClosedResourceError
        if self._is_over:
            raise anyio.BrokenResourceError
        waiting = self._deliver(item)
        if waiting is not None:
            await waiting

    def end(self) -> None:
        self._is_over = True

    def close(self) -> None:
        self._is_closed = True

    async def aclose(self) -> None:
        self.close()

    async def __aenter__(self) -> WriteStream:
        return self

