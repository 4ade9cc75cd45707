"""What becomes of a call that may have run: how its caller is told, and whose repeats of it are held."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, Literal

DoubtForm = Literal["result", "error"]
"""How the SDK is told that the call of a tool may have run."""

DoubtRepeat = Literal["hold", "allow"]
"""What becomes of a call that is equal to one that may have run: it is answered with that doubt for 30 s, 90 s at
most, unless its caller has looked; or it is sent."""


def number_of(thing: Any) -> int:
    """Returns the number of an object whose credentials cannot be read: a login, or a function that gives tokens."""
    owner = getattr(thing, "__self__", thing)
    try:
        return _numbers.setdefault(owner, next(_counter))
    except TypeError:
        # It cannot be kept in mind, so each of its links is a caller of its own.
        return next(_counter)


def caller_of(http_client: Any) -> list[Any]:
    """Returns what identifies the caller whose requests an application's HTTP client carries.

    Frameworks make a client anew for each connection, so clients with equal headers and cookies, and with one login,
    are one caller. A client is read once: its cookies change with each answer, and its token may be renewed.
    """
    try:
        return _clients.setdefault(http_client, _read(http_client))
    except TypeError:
        return _read(http_client)


def _read(http_client: Any) -> list[Any]:
    headers = getattr(http_client, "headers", None) or {}
    named = sorted((name.lower(), value) for name, value in dict(headers).items())
    jar = getattr(getattr(http_client, "cookies", None), "jar", None) or ()
    cookies = sorted((each.name, each.value or "", each.domain) for each in jar)
    auth = getattr(http_client, "auth", None)
    return [named, cookies, None if auth is None else number_of(auth)]


_counter = itertools.count(1)
_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_clients: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()
