"""The functions that an application imports instead of the SDK's."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TextIO

import mcp.client.stdio as sdk_stdio

from .._base import EventFn
from .._doubt import DoubtForm, DoubtRepeat
from ..policy import Policy
from . import _sdk
from ._transport import LinkTransport

if TYPE_CHECKING:
    from mcp.client.stdio import StdioServerParameters

Streams = Any
"""`(read, write)`, and in `mcp` 1.x also a function that returns the id of the session."""

# The headers of an HTTP client that describe its own use of HTTP.
_OF_THE_CLIENT = {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}


def streamable_http_client(
    url: str,
    *,
    http_client: Any = None,
    terminate_on_close: bool = True,
    max_sse_event_size: int | None = None,
    policy: Policy | None = None,
    on_event: EventFn | None = None,
    http: Literal["auto", "native"] = "auto",
    doubt: DoubtForm = "error",
    doubt_repeat: DoubtRepeat = "hold",
) -> AbstractAsyncContextManager[Streams]:
    """Connects to a server at a URL.

    A given `http_client` carries the requests, so that its authorization, hooks and proxies stay in force; it
    is not closed. Without one, or with `http="native"`, ridethrough speaks HTTP itself.

    That a call of a tool may have run is told by an error, or with `doubt="result"` by a result that models read. An
    equal call is then not sent for a while; with `doubt_repeat="allow"` it is.
    """

    def check() -> None:
        if max_sse_event_size is not None and max_sse_event_size <= 0:
            raise ValueError("max_sse_event_size must be positive or None")

    settings: dict[str, Any] = {"url": url}
    if max_sse_event_size is not None:
        settings["message_limit"] = max(max_sse_event_size, LEAST_LIMIT)
    if http == "native" and http_client is not None:
        settings.update(_header_settings(dict(http_client.headers)))
        http_client = None
    return LinkTransport(
        settings,
        url=url,
        http_client=http_client,
        terminate_on_close=terminate_on_close,
        policy=policy,
        on_event=on_event,
        doubt=doubt,
        doubt_repeat=doubt_repeat,
        yields_session_id=_sdk.IS_V1,
        check=check,
    )


@contextlib.asynccontextmanager
async def streamablehttp_client(
    url: str,
    headers: dict[str, str] | None = None,
    timeout: float | timedelta = 30,
    sse_read_timeout: float | timedelta = 60 * 5,
    terminate_on_close: bool = True,
    httpx_client_factory: Callable[..., Any] | None = None,
    auth: Any = None,
    *,
    policy: Policy | None = None,
    on_event: EventFn | None = None,
    doubt: DoubtForm = "error",
    doubt_repeat: DoubtRepeat = "hold",
) -> AsyncIterator[Streams]:
    """Connects to a server at a URL, with the arguments of this function in `mcp` 1.x.

    With `auth` or a factory, the client that the factory makes carries the requests. Without them ridethrough
    speaks HTTP itself, and its policy replaces the timeouts.
    """
    if httpx_client_factory is None and auth is None:
        settings = {"url": url, **_header_settings(headers or {})}
        native = LinkTransport(
            settings,
            url=url,
            terminate_on_close=terminate_on_close,
            policy=policy,
            on_event=on_event,
            doubt=doubt,
            doubt_repeat=doubt_repeat,
            yields_session_id=_sdk.IS_V1,
        )
        async with native as streams:
            yield streams
        return
    from mcp.shared._httpx_utils import create_mcp_http_client

    # `mcp` 2.x has no such function, and does not depend on `httpx`.
    httpx: Any = importlib.import_module("httpx")
    times = httpx.Timeout(_seconds(timeout), read=_seconds(sse_read_timeout))
    make = httpx_client_factory or create_mcp_http_client
    async with make(headers=headers, timeout=times, auth=auth) as client:
        carried = streamable_http_client(
            url,
            http_client=client,
            terminate_on_close=terminate_on_close,
            policy=policy,
            on_event=on_event,
            doubt=doubt,
            doubt_repeat=doubt_repeat,
        )
        async with carried as streams:
            yield streams


def stdio_client(
    server: StdioServerParameters,
    errlog: TextIO = sys.stderr,
    *,
    policy: Policy | None = None,
    on_event: EventFn | None = None,
    doubt: DoubtForm = "error",
    doubt_repeat: DoubtRepeat = "hold",
) -> AbstractAsyncContextManager[Streams]:
    """Starts a local server, and starts it again after it has died.

    On Windows, and for an `errlog` that is no file, this is the SDK's own function.
    """
    stderr = _stderr(errlog)
    if os.name != "posix" or stderr is None:
        return sdk_stdio.stdio_client(server, errlog)
    environment = {**sdk_stdio.get_default_environment(), **(server.env or {})}

    def check() -> None:
        path = environment.get("PATH")
        if shutil.which(server.command, path=path) is None and server.cwd is None:
            raise FileNotFoundError(2, "No such file or directory", server.command)

    command = {
        "program": server.command,
        "arguments": list(server.args),
        "environment": environment,
        "directory": None if server.cwd is None else str(server.cwd),
        "stderr": stderr,
    }
    return LinkTransport(
        {"command": command},
        policy=policy,
        on_event=on_event,
        doubt=doubt,
        doubt_repeat=doubt_repeat,
        check=check,
    )


def _stderr(errlog: TextIO) -> str | None:
    """Returns where the server's stderr goes: to that of this process, or to the file of another log."""
    try:
        number = errlog.fileno()
    except (AttributeError, OSError, ValueError):
        # A notebook replaces stderr by something that is no file.
        return "inherited" if errlog is sys.stderr else None
    return "inherited" if number == 2 else f"/dev/fd/{number}"


def _header_settings(headers: dict[str, str]) -> dict[str, Any]:
    """Returns headers as settings. `Authorization` becomes the token."""
    settings: dict[str, Any] = {"headers": {}}
    for name, value in headers.items():
        if name.lower() == "authorization":
            settings["token"] = value
        elif name.lower() not in _OF_THE_CLIENT:
            settings["headers"][name] = value
    return settings


def _seconds(time: float | timedelta) -> float:
    return time.total_seconds() if isinstance(time, timedelta) else time


LEAST_LIMIT = 1024
"""The smallest message limit that a link accepts."""
