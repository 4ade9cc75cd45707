"""The client without `await`."""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
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
Self = TypeVar("Self", bound="SyncClient")


class SyncClient(Base):
    """A client of one MCP server whose methods wait.

        with SyncClient("https://example.com/mcp") as client:
            print(client.call_tool("echo", {"text": "hello"}).text)

    Several threads may use it at once. Handlers, `on_event` and `token` run in a thread that waits for a call.
    """

    def __init__(self, url: str, **settings: Any) -> None:
        """Creates a client; the settings are those of `Client`, with functions that are not async."""
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
        """Creates a client of a local server; see `Client.spawn`."""
        client = cls.__new__(cls)
        Base.__init__(client, {"command": command_settings(command, env, cwd, stderr)}, **settings)
        client._begin()
        return client

    def _begin(self) -> None:
        self._numbers = itertools.count(1)
        functions = [self._token, *self._handlers.values()]
        if any(inspect.iscoroutinefunction(function) for function in functions):
            raise TypeError("a function for `SyncClient` is async\nhint: use `Client`, or a plain function")

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends every call, deletes the session and closes the connection, within 5 s."""
        if not self._is_closed:
            self._is_closed = True
            self._link.close()
        self._wait(next(self._numbers), None)

    def connect(self, *, timeout: float | None = None) -> ServerInfo:
        """Connects now instead of with the first call, and returns the server's description of itself."""
        return ServerInfo._read(self._perform(lambda number: self._link.connect(number, timeout)))

    def request(
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
        """Sends any request, and returns its result as JSON; see `Client.request`."""
        options = call_options(timeout, idempotent, headers, meta, on_progress)
        text = None if params is None else dumps(params)

        def begin(number: int) -> None:
            self._link.call(number, method, text, options)

        return self._perform(begin, on_progress)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Sends a notification, and returns when the server has accepted it."""
        text = None if params is None else dumps(params)
        self._perform(lambda number: self._link.notify(number, method, text))

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> ToolResult:
        """Calls a tool. The options are those of `request`."""
        params = {"name": name, "arguments": dict(arguments or {})}
        return ToolResult._read(self.request("tools/call", params, **options))

    def tools(self) -> list[Tool]:
        """Lists the tools of the server, all pages."""
        return self._list("tools/list", "tools", Tool._read)

    def resources(self) -> list[Resource]:
        """Lists the resources of the server, all pages."""
        return self._list("resources/list", "resources", Resource._read)

    def resource_templates(self) -> list[Resource]:
        """Lists the resource templates of the server, all pages."""
        return self._list("resources/templates/list", "resourceTemplates", Resource._read)

    def prompts(self) -> list[Prompt]:
        """Lists the prompts of the server, all pages."""
        return self._list("prompts/list", "prompts", Prompt._read)

    def read_resource(self, uri: str, **options: Any) -> list[ResourceContents]:
        """Reads a resource. The options are those of `request`."""
        result = self.request("resources/read", {"uri": uri}, **options)
        return [ResourceContents._read(part) for part in result.get("contents") or ()]

    def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Any
    ) -> PromptResult:
        """Gets a prompt, filled in. The options are those of `request`."""
        params = {"name": name, "arguments": dict(arguments or {})}
        return PromptResult._read(self.request("prompts/get", params, **options))

    def ping(self, **options: Any) -> None:
        """Sends a ping, which asks for nothing but an answer."""
        self.request("ping", **options)

    def _list(self, method: str, name: str, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
        listed: list[T] = []
        seen: set[str] = set()
        cursor: str | None = None
        while True:
            page = self.request(method, {} if cursor is None else {"cursor": cursor})
            listed.extend(read(each) for each in page.get(name) or ())
            cursor = next_page(page, seen)
            if cursor is None:
                return listed

    def _perform(self, begin: Callable[[int], None], on_progress: ProgressFn | None = None) -> JSON:
        if self._is_closed:
            raise closed_error()
        number = next(self._numbers)
        try:
            begin(number)
            ended = self._wait(number, on_progress)
        except BaseException:
            # A person most likely interrupted the call: the server is told so.
            self._link.cancel(number)
            raise
        if isinstance(ended, Exception):
            raise ended
        return ended

    def _wait(self, number: int, on_progress: ProgressFn | None) -> JSON:
        """Waits for the end of a call, or of the client, and handles other items meanwhile."""
        while True:
            # Python handles signals between two waits.
            item = self._link.take(number, SIGNALS)
            if item is None:
                continue
            kind, about, text, _ = item
            if kind <= _items.FAILURE:
                return outcome(kind, text)
            if kind == _items.OVER:
                self._is_closed = True
                return closed_error()
            if kind == _items.PROGRESS:
                report_progress(on_progress, text)
            elif kind == _items.EVENT:
                self._tell(Event._read(json.loads(text)))
            elif kind == _items.NOTIFICATION:
                self._hear(text)
            elif kind == _items.QUESTION:
                self._answer(about, json.loads(text))
            elif kind == _items.TOKEN:
                self._provide_token(about, json.loads(text))

    def _answer(self, question: int, message: Mapping[str, Any]) -> None:
        handler = self._handlers.get(message["method"])
        if handler is None:
            self._refuse(question, -32601, "Method not found")
            return
        try:
            self._link.answer(question, dumps(handler(message.get("params") or {})), False)
        except Exception as error:
            logger.exception("the handler of `%s` failed", message["method"])
            self._refuse(question, -32603, f"the handler failed: {type(error).__name__}")

    def _provide_token(self, number: int, question: Mapping[str, Any]) -> None:
        try:
            token = None if self._token is None else self._token(question["refused"])
            assert token is None or isinstance(token, str), "it was checked not to be async"
            self._link.provide_token(number, token, None)
        except Exception as error:
            # The words of the error may quote the token.
            self._link.provide_token(number, None, f"`token` failed: {type(error).__name__}")


SIGNALS = 0.2
"""How many seconds pass before a signal, such as Ctrl-C, is noticed."""
