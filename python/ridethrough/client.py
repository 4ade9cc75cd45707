"""The client for asyncio and trio."""

from __future__ import annotations

import inspect
import itertools
import json
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from . import _items
from ._base import (
    Base,
    ProgressFn,
    call_options,
    command_settings,
    dumps,
    logger,
    next_page,
    outcome,
    report_progress,
)
from ._loop import Job, Loop, Waiter, current_loop
from .errors import closed_error
from .model import (
    JSON,
    Event,
    Prompt,
    PromptResult,
    Resource,
    ResourceContents,
    ServerInfo,
    Tool,
    ToolResult,
)

T = TypeVar("T")
Self = TypeVar("Self", bound="Client")


class Client(Base):
    """A client of one MCP server.

    It connects with its first call, waits for a server that is down, renews a lost session, and repeats a call
    only if that is safe. Every call ends with its result or with an error that says whether it may have run.

        async with Client("https://example.com/mcp") as client:
            result = await client.call_tool("echo", {"text": "hello"})
            print(result.text)

    It works in asyncio and in trio, in the loop of its first call. It starts no task group, so any task of that
    loop may use and close it. A call whose task is cancelled is cancelled at the server, too.
    """

    def __init__(self, url: str, **settings: Any) -> None:
        """Creates a client.

        The settings are `headers`, `token`, `oauth`, `policy`, `on_event`, `on_notification`, `sampling`,
        `elicitation`, `roots`, `client_info`, `message_limit`, `root_certificates` and `doubt_repeat`; all are optional.
        """
        super().__init__({"url": url}, **settings)
        self._begin()

    @classmethod
    def spawn(
        cls: type[Self],
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stderr: str | None = None,
        **settings: Any,
    ) -> Self:
        """Creates a client of a local server: a program that speaks MCP over its stdin and stdout.

        The program is started with the first call, and again after it has died. `env` is its whole
        environment, by default that of this process. `stderr` is `quoted` in errors, `inherited` or
        `withheld`.
        """
        client = cls.__new__(cls)
        Base.__init__(client, {"command": command_settings(command, env, cwd, stderr)}, **settings)
        client._begin()
        return client

    def _begin(self) -> None:
        self._loop: Loop | None = None
        self._fileno = -1
        self._numbers = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._answering: dict[int, Job] = {}
        self._event_queues: weakref.WeakSet[_EventQueue] = weakref.WeakSet()
        self._closing: list[Waiter] = []
        self._is_over = False
        self._is_watched = False

    async def __aenter__(self: Self) -> Self:
        self._attach()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends every call, deletes the session and closes the connection, within 5 s, in any task."""
        if self._is_over:
            return
        loop = self._attach()
        if not self._is_closed:
            self._is_closed = True
            self._link.close()
        waiter = loop.waiter()
        self._closing.append(waiter)
        await waiter.wait()

    async def connect(self, *, timeout: float | None = None) -> ServerInfo:
        """Connects now instead of with the first call, and returns the server's description of itself."""
        return ServerInfo._read(await self._perform(lambda number: self._link.connect(number, timeout)))

    def keep_connected(self) -> None:
        """Keeps the client connected while there is no call, for the server's questions and notifications."""
        self._attach()
        self._link.keep_connected()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        idempotent: bool = False,
        headers: Mapping[str, str] | None = None,
        meta: Mapping[str, Any] | None = None,
        on_progress: ProgressFn | None = None,
    ) -> JSON:
        """Sends any request, and returns its result as JSON.

        `timeout` is the time in seconds for everything: waits, repeats and resumes. `idempotent` declares that
        a second run does no harm, so that the call may be sent again when it is in doubt.
        """
        options = call_options(timeout, idempotent, headers, meta, on_progress)
        text = None if params is None else dumps(params)

        def begin(number: int) -> None:
            self._link.call(number, method, text, options)

        return await self._perform(begin, on_progress)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Sends a notification, and returns when the server has accepted it."""
        text = None if params is None else dumps(params)
        await self._perform(lambda number: self._link.notify(number, method, text))

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> ToolResult:
        """Calls a tool. The options are those of `request`."""
        params = {"name": name, "arguments": dict(arguments or {})}
        return ToolResult._read(await self.request("tools/call", params, **options))

    async def tools(self) -> list[Tool]:
        """Lists the tools of the server, all pages."""
        return await self._list("tools/list", "tools", Tool._read)

    async def resources(self) -> list[Resource]:
        """Lists the resources of the server, all pages."""
        return await self._list("resources/list", "resources", Resource._read)

    async def resource_templates(self) -> list[Resource]:
        """Lists the resource templates of the server, all pages."""
        return await self._list("resources/templates/list", "resourceTemplates", Resource._read)

    async def prompts(self) -> list[Prompt]:
        """Lists the prompts of the server, all pages."""
        return await self._list("prompts/list", "prompts", Prompt._read)

    async def read_resource(self, uri: str, **options: Any) -> list[ResourceContents]:
        """Reads a resource. The options are those of `request`."""
        result = await self.request("resources/read", {"uri": uri}, **options)
        return [ResourceContents._read(part) for part in result.get("contents") or ()]

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Any
    ) -> PromptResult:
        """Gets a prompt, filled in. The options are those of `request`."""
        params = {"name": name, "arguments": dict(arguments or {})}
        return PromptResult._read(await self.request("prompts/get", params, **options))

    async def ping(self, **options: Any) -> None:
        """Sends a ping, which asks for nothing but an answer."""
        await self.request("ping", **options)

    def events(self) -> AsyncIterator[Event]:
        """Returns the events of the connection, from now on. The iterator ends when the client is closed."""
        queue = _EventQueue(self._attach())
        self._event_queues.add(queue)
        if self._on_event is None:
            self._link.watch("debug")
        if self._is_over:
            queue.end()
        return queue

    async def _list(self, method: str, name: str, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
        listed: list[T] = []
        seen: set[str] = set()
        cursor: str | None = None
        while True:
            params = {} if cursor is None else {"cursor": cursor}
            page = await self.request(method, params)
            listed.extend(read(each) for each in page.get(name) or ())
            cursor = next_page(page, seen)
            if cursor is None:
                return listed

    async def _perform(
        self, begin: Callable[[int], None], on_progress: ProgressFn | None = None
    ) -> JSON:
        if self._is_closed:
            raise closed_error()
        number = next(self._numbers)
        pending = self._pending[number] = _Pending(self._attach().waiter(), on_progress)
        try:
            begin(number)
            await pending.waiter.wait()
        except BaseException:
            # The task was most likely cancelled: the server is told so.
            self._link.cancel(number)
            raise
        finally:
            del self._pending[number]
        if isinstance(pending.outcome, Exception):
            raise pending.outcome
        return pending.outcome

    def _attach(self) -> Loop:
        """Makes the running loop watch the socket, and returns the loop."""
        loop = self._loop
        if loop is not None and loop.is_current():
            return loop
        if loop is not None and not loop.is_closed():
            raise RuntimeError(
                "this client is used in another event loop\nhint: make one client for each loop"
            )
        loop = self._loop = current_loop()
        self._fileno = self._link.fileno()
        this = weakref.ref(self)

        def on_ready() -> None:
            client = this()
            if client is not None:
                client._drain()

        loop.watch(self._fileno, on_ready)
        self._is_watched = True
        return loop

    def _detach(self) -> None:
        if self._is_watched and self._loop is not None:
            self._is_watched = False
            self._loop.forget(self._fileno, self._link)

    def __del__(self) -> None:
        if getattr(self, "_is_watched", False):
            self._detach()

    def _drain(self) -> None:
        for kind, number, text, _ in self._link.drain():
            if kind <= _items.FAILURE:
                pending = self._pending.get(number)
                if pending is not None:
                    pending.outcome = outcome(kind, text)
                    pending.waiter.set()
            elif kind == _items.PROGRESS:
                pending = self._pending.get(number)
                if pending is not None:
                    report_progress(pending.on_progress, text)
            else:
                self._take_other(kind, number, text)

    def _take_other(self, kind: int, number: int, text: bytes) -> None:
        if kind == _items.EVENT:
            event = Event._read(json.loads(text))
            self._tell(event)
            for queue in self._event_queues:
                queue.put(event)
        elif kind == _items.NOTIFICATION:
            self._hear(text)
        elif kind == _items.QUESTION:
            self._answer(number, json.loads(text))
        elif kind == _items.WITHDRAWN:
            job = self._answering.pop(number, None)
            if job is not None:
                job.cancel()
        elif kind == _items.TOKEN:
            self._provide_token(number, json.loads(text))
        elif kind == _items.OVER:
            self._end()

    def _answer(self, question: int, message: Mapping[str, Any]) -> None:
        handler = self._handlers.get(message["method"])
        if handler is None:
            self._refuse(question, -32601, "Method not found")
            return

        async def answering() -> None:
            try:
                answer = handler(message.get("params") or {})
                if inspect.isawaitable(answer):
                    answer = await answer
                self._link.answer(question, dumps(answer), False)
            except Exception as error:
                logger.exception("the handler of `%s` failed", message["method"])
                self._refuse(question, -32603, f"the handler failed: {type(error).__name__}")
            finally:
                self._answering.pop(question, None)

        self._answering[question] = self._attach().spawn(answering)

    def _provide_token(self, number: int, question: Mapping[str, Any]) -> None:
        async def providing() -> None:
            try:
                token = None if self._token is None else self._token(question["refused"])
                if inspect.isawaitable(token):
                    token = await token
                self._link.provide_token(number, token, None)
            except Exception as error:
                # The words of the error may quote the token.
                self._link.provide_token(number, None, f"`token` failed: {type(error).__name__}")

        self._attach().spawn(providing)

    def _end(self) -> None:
        self._is_over = self._is_closed = True
        for job in list(self._answering.values()):
            job.cancel()
        for pending in self._pending.values():
            pending.outcome = closed_error()
            pending.waiter.set()
        for waiter in self._closing:
            waiter.set()
        for queue in self._event_queues:
            queue.end()
        self._detach()


class _Pending:
    __slots__ = ("on_progress", "outcome", "waiter")

    def __init__(self, waiter: Waiter, on_progress: ProgressFn | None) -> None:
        self.waiter = waiter
        self.on_progress = on_progress
        self.outcome: Any = None


class _EventQueue(AsyncIterator[Event]):
    """The events for one reader. If the reader is slow, the oldest events are dropped."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._events: deque[Event] = deque(maxlen=1024)
        self._waiter: Waiter | None = None
        self._is_over = False

    def put(self, event: Event) -> None:
        self._events.append(event)
        self._wake()

    def end(self) -> None:
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None:
            self._waiter.set()

    async def __anext__(self) -> Event:
        while not self._events:
            if self._is_over:
                raise StopAsyncIteration
            self._waiter = self._loop.waiter()
            await self._waiter.wait()
        return self._events.popleft()
