"""A link as a transport of the SDK."""

from __future__ import annotations

import contextvars
import itertools
import json
import logging
import sys
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _items
from .._base import EventFn, dumps, logger
from .._doubt import DoubtForm, DoubtRepeat, caller_of
from .._loop import Job, Loop, Waiter, current_loop
from .._link import Link
from ..model import Event
from ..policy import Policy
from . import _sdk
from ._carry import Carrier
from ._facts import facts
from ._streams import ReadStream, WriteStream

if sys.version_info < (3, 11):
    # Of `anyio`, which needs it there too.
    from exceptiongroup import ExceptionGroup

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    from .._native import HttpRequest

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}

# The headers that the link itself sets in the revision without sessions.
_STAMPED = ("mcp-protocol-version", "mcp-method")


class LinkTransport:
    """An async context manager that yields the streams of one link. Nothing starts before it is entered."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        url: str = "",
        http_client: Any = None,
        terminate_on_close: bool = True,
        policy: Policy | None = None,
        on_event: EventFn | None = None,
        doubt: DoubtForm = "error",
        doubt_repeat: DoubtRepeat = "hold",
        yields_session_id: bool = False,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._settings: dict[str, Any] = {
            **settings,
            "is_for_sdk": True,
            "is_carried": http_client is not None,
            "policy": (policy or Policy())._settings(),
            "doubt": doubt,
            "doubt_repeat": doubt_repeat,
        }
        if http_client is not None:
            self._settings["caller"] = caller_of(http_client)
        self._is_terminating = terminate_on_close
        self._on_event = on_event
        self._yields_session_id = yields_session_id
        self._check = check
        self._carrier = None if http_client is None else Carrier(http_client, url)
        self._jobs: dict[int, Job] = {}
        self._contexts: dict[int, contextvars.Context] = {}
        self._context: contextvars.Context | None = None
        self._asked: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._tags = itertools.count(1)
        self._closing: Waiter | None = None
        self._is_over = False
        self._link: Link | None = None
        self._fileno: int | None = None

    async def __aenter__(self) -> Any:
        if self._check is not None:
            self._check()
        self._loop: Loop = current_loop()
        # Nothing is sent before the session says something, and then it may be made anew.
        self._link = Link(dumps(self._settings))
        self._read = ReadStream(self._loop, self._replace)
        self._write = WriteStream(self._deliver)
        self._context = contextvars.copy_context()
        if self._yields_session_id:
            return self._read, self._write, self._session_id
        return self._read, self._write

    def _session_id(self) -> str | None:
        return None if self._carrier is None else self._carrier.session_id

    def _replace(self, id: str) -> bytes | None:
        return None if self._link is None else self._link.unreadable(id)

    def _watch(self, link: Link) -> None:
        """Begins to take what the link tells."""
        if self._on_event is not None or logger.isEnabledFor(logging.WARNING):
            link.watch(self._least_level())
        fileno = self._fileno = link.fileno()
        this = weakref.ref(self)

        def on_ready() -> None:
            transport = this()
            if transport is not None:
                transport._drain()

        self._loop.watch(fileno, on_ready)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._write.end()
        link = self._link
        if link is None:
            return
        if self._fileno is None:
            self._link = None
            self._read.end()
            return
        try:
            if self._is_terminating and not self._is_over:
                link.close()
                self._closing = self._loop.waiter()
                await self._closing.wait()
        finally:
            self._read.end()
            for job in list(self._jobs.values()):
                job.cancel()
            self._link = None
            self._loop.forget(self._fileno, link)
        own = None if self._carrier is None else self._carrier.error
        if own is not None and error is not None and facts(error) is not None:
            # A call failed because a login or a hook of the application did. With the SDK's transport that error
            # itself comes out, in a group.
            raise ExceptionGroup("the application's HTTP client raised an error", [own]) from error

    def __del__(self) -> None:
        if self._link is not None and self._fileno is not None:
            self._loop.forget(self._fileno, self._link)

    def _least_level(self) -> str:
        if self._on_event is not None or logger.isEnabledFor(logging.DEBUG):
            return "debug"
        return "info" if logger.isEnabledFor(logging.INFO) else "warning"

    def _deliver(self, message: SessionMessage) -> None:
        """Gives a message of the session to the link, in the context of its sender."""
        tag = next(self._tags)
        self._context = contextvars.copy_context()
        if self._carrier is not None:
            self._contexts[tag] = self._context
            while len(self._contexts) > MOST_CONTEXTS:
                del self._contexts[next(iter(self._contexts))]
        options = None
        said = _sdk.metadata(message)
        if said is not None and said.resumption_token is not None:
            refused = _sdk.refuse_to_resume(message)
            if refused is not None:
                self._read.put(refused)
            return
        headers = getattr(said, "headers", None)
        if headers:
            own = {n: v for n, v in headers.items() if not n.lower().startswith(_STAMPED)}
            options = dumps({"headers": own}) if own else None
        link = self._link
        if link is None:
            return
        text = _sdk.write(message)
        if self._fileno is None:
            shown = _sdk.era_settings(text)
            if shown:
                self._settings.update(shown)
                link = self._link = Link(dumps(self._settings))
            self._watch(link)
        link.send(text, tag, options)
        if _sdk.IS_V1:
            self._cancel_with_task(_sdk.request_id(message))

    def _cancel_with_task(self, id: int | str | None) -> None:
        """Cancels a request with the task that sent it, because `mcp` 1.x tells nobody that it waits no more.

        A task waits for one request at a time, so its last one is the one that it waits for.
        """
        task = None if id is None else self._loop.current_task()
        if task is None:
            return
        is_known = task in self._asked
        self._asked[task] = id
        if is_known:
            return
        this = weakref.ref(self)

        def on_done(task: Any) -> None:
            transport = this()
            if transport is not None and task.cancelled():
                transport._cancel(transport._asked.pop(task, None))

        task.add_done_callback(on_done)

    def _cancel(self, id: int | str | None) -> None:
        if self._link is not None and id is not None:
            params = {"requestId": id, "reason": "the caller was cancelled"}
            told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            self._link.send(dumps(told), 0, None)

    def _drain(self) -> None:
        link = self._link
        if link is None:
            return
        for kind, number, text, request in link.drain():
            if kind == _items.MESSAGE:
                self._read.put(text)
            elif request is not None:
                self._begin_http(link, number, request)
            elif kind == _items.HTTP_ABORT:
                job = self._jobs.pop(number, None)
                if job is not None:
                    job.cancel()
            elif kind == _items.EVENT:
                self._tell(Event._read(json.loads(text)))
            elif kind == _items.OVER:
                self._is_over = True
                self._read.end()
                if self._closing is not None:
                    self._closing.set()

    def _begin_http(self, link: Link, number: int, request: HttpRequest) -> None:
        carrier = self._carrier
        if carrier is None:
            return

        async def carrying() -> None:
            try:
                await carrier.carry(link, number, request)
            finally:
                self._jobs.pop(number, None)

        tag = request[3]
        context = self._contexts.get(tag, self._context) if tag is not None else self._context
        self._jobs[number] = self._loop.spawn(carrying, context)

    def _tell(self, event: Event) -> None:
        level = _LEVELS[event.level]
        if logger.isEnabledFor(level):
            logger.log(level, "%s", event.message, extra={"event": event.name})
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:
                logger.exception("`on_event` failed")


MOST_CONTEXTS = 4096
"""The most contexts of senders that are kept: more than there can be calls in flight."""
