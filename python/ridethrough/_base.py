"""The settings and the reading of items that `Client` and `SyncClient` share."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Union

from . import _items
from ._doubt import DoubtRepeat, number_of
from ._link import Link
from .errors import CallError, ServerError, call_error, server_error
from .model import JSON, Event, Notification, Progress, Root
from .oauth import OAuth
from .policy import Policy

logger = logging.getLogger("ridethrough")
# Without a handler, Python prints the records of an application that has not set up logging.
logger.addHandler(logging.NullHandler())

Handler = Callable[[Mapping[str, Any]], Union[Mapping[str, Any], Awaitable[Mapping[str, Any]]]]
"""A function that answers a question of the server: params in, result out. It may be async."""

TokenFn = Callable[[bool], Union[str, None, Awaitable[Union[str, None]]]]
"""A function that returns a token. Its argument is `True` if the server refused the last one."""

ProgressFn = Callable[[Progress], None]
EventFn = Callable[[Event], None]
NotificationFn = Callable[[Notification], None]

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


def dumps(value: JSON) -> bytes:
    """Writes JSON in its most compact form."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def command_settings(
    command: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: str | None,
    stderr: str | None,
) -> dict[str, Any]:
    """Returns the settings of a local server."""
    if not command:
        raise ValueError("`command` is empty, must begin with a program")
    settings: dict[str, Any] = {"program": str(command[0]), "arguments": [str(it) for it in command[1:]]}
    if env is not None:
        settings["environment"] = dict(env)
    if cwd is not None:
        settings["directory"] = str(cwd)
    if stderr is not None:
        settings["stderr"] = stderr
    return settings


class Base:
    """The settings of a client, and its link once it is used."""

    def __init__(
        self,
        place: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        token: str | TokenFn | None = None,
        oauth: OAuth | None = None,
        policy: Policy | None = None,
        on_event: EventFn | None = None,
        on_notification: NotificationFn | None = None,
        sampling: Handler | None = None,
        elicitation: Handler | None = None,
        roots: Iterable[Root | str] | None = None,
        client_info: Mapping[str, str] | None = None,
        message_limit: int | None = None,
        root_certificates: str | None = None,
        doubt_repeat: DoubtRepeat = "hold",
    ) -> None:
        settings: dict[str, Any] = {**place, "policy": (policy or Policy())._settings()}
        settings["doubt_repeat"] = doubt_repeat
        if headers:
            settings["headers"] = dict(headers)
        if callable(token):
            settings["asks_for_tokens"] = True
            settings["caller"] = number_of(token)
        elif token is not None:
            settings["token"] = token
        if oauth is not None:
            if token is not None:
                raise ValueError("`token` and `oauth` are both given; a client has one source of tokens")
            settings["oauth"] = oauth._settings()
        capabilities: dict[str, Any] = {}
        if sampling is not None:
            capabilities["sampling"] = {}
        if elicitation is not None:
            capabilities["elicitation"] = {"form": {}, "url": {}}
        settings["capabilities"] = capabilities
        if roots is not None:
            listed = [Root(it) if isinstance(it, str) else it for it in roots]
            settings["roots"] = [{"uri": it.uri, "name": it.name} for it in listed]
        optional = {
            "client_info": client_info,
            "message_limit": message_limit,
            "root_certificates": root_certificates,
        }
        settings.update({name: value for name, value in optional.items() if value is not None})
        self._token: TokenFn | None = token if callable(token) else None
        self._on_event = on_event
        self._on_notification = on_notification
        self._handlers = {"sampling/createMessage": sampling, "elicitation/create": elicitation}
        # Wrong settings raise an error here, and not where the client is first used.
        self._link = Link(dumps(settings))
        self._is_closed = False
        if on_event is not None or logger.isEnabledFor(logging.DEBUG):
            self._link.watch("debug")
        elif logger.isEnabledFor(logging.INFO):
            self._link.watch("info")
        elif logger.isEnabledFor(logging.WARNING):
            self._link.watch("warning")

    def _tell(self, event: Event) -> None:
        """Reports an event to the application's function and to its log."""
        level = _LEVELS[event.level]
        if logger.isEnabledFor(level):
            logger.log(level, "%s", event.message, extra={"event": event.name})
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:
                logger.exception("`on_event` failed")

    def _hear(self, text: bytes) -> None:
        """Passes a notification of the server on to the application's function."""
        if self._on_notification is None:
            return
        try:
            self._on_notification(Notification._read(json.loads(text)))
        except Exception:
            logger.exception("`on_notification` failed")

    def _refuse(self, question: int, code: int, message: str) -> None:
        self._link.answer(question, dumps({"code": code, "message": message}), True)


def call_options(
    timeout: float | None,
    idempotent: bool,
    headers: Mapping[str, str] | None,
    meta: Mapping[str, Any] | None,
    on_progress: ProgressFn | None,
) -> bytes | None:
    """Writes the options of a call, if it has any."""
    options: dict[str, Any] = {}
    if timeout is not None:
        options["timeout"] = timeout
    if idempotent:
        options["idempotent"] = True
    if headers:
        options["headers"] = dict(headers)
    if meta:
        options["meta"] = dict(meta)
    if on_progress is not None:
        options["progress"] = True
    return dumps(options) if options else None


def outcome(kind: int, text: bytes) -> JSON | CallError | ServerError:
    """Returns the result of a call, or the error to raise."""
    value = json.loads(text)
    if kind == _items.SERVER_ERROR:
        return server_error(value)
    if kind == _items.FAILURE:
        return call_error(value)
    return value


def report_progress(listener: ProgressFn | None, text: bytes) -> None:
    """Passes progress on. A listener that fails does not end the call."""
    if listener is None:
        return
    try:
        listener(Progress(**json.loads(text)))
    except Exception:
        logger.exception("`on_progress` failed")


def next_page(page: JSON, seen: set[str]) -> str | None:
    """Returns the cursor of the next page of a list. Raises `ServerError` if the list never ends."""
    cursor = page.get("nextCursor")
    if cursor is None:
        return None
    if cursor in seen or len(seen) >= MOST_PAGES:
        raise ServerError(-32603, f"the list never ends: {len(seen)} pages, and then one of them again")
    seen.add(cursor)
    return str(cursor)


MOST_PAGES = 1000
