"""Replacing the SDK's transports everywhere, for frameworks that create their transports themselves."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import mcp.client.stdio as sdk_stdio
import mcp.client.streamable_http as sdk_http

from .._doubt import DoubtForm, DoubtRepeat
from . import _functions


def install(*, doubt: DoubtForm = "result", doubt_repeat: DoubtRepeat = "hold") -> int:
    """Replaces the SDK's transports in every module that has imported them; returns how many names changed.

    That a call of a tool may have run is told by a result, because frameworks repeat what is raised and show their
    models little of it. An equal call is then not sent for a while. What is set here counts for every transport that
    is opened from now on.

    Call it after the imports of the frameworks. A module that is imported later gets the replacement by
    itself, because the SDK's own modules have it.
    """
    _settings.update(doubt=doubt, doubt_repeat=doubt_repeat)
    ours = {id(theirs): _OURS[name] for name, theirs in _THEIRS.items()}
    count = 0
    for name, module in list(sys.modules.items()):
        if name == __package__ or name.startswith(f"{__package__}."):
            continue
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in ours:
                setattr(module, attribute, ours[id(value)])
                _replaced.append((module, attribute, value))
                count += 1
    return count


def uninstall() -> int:
    """Undoes `install`; returns how many names it restored. Modules that import ridethrough keep it."""
    count = len(_replaced)
    while _replaced:
        module, attribute, value = _replaced.pop()
        setattr(module, attribute, value)
    # Modules imported meanwhile got the replacement from the SDK; they look like modules that chose it.
    return count


def _set_by_install(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def connect(*args: Any, **options: Any) -> Any:
        return function(*args, **{**_settings, **options})

    return connect


_settings: dict[str, Any] = {}
_replaced: list[tuple[ModuleType, str, Any]] = []

# Read when this module is imported: after `install`, the SDK's modules have the replacements.
_THEIRS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module, name in [
        (sdk_http, "streamable_http_client"),
        (sdk_http, "streamablehttp_client"),
        (sdk_stdio, "stdio_client"),
    ]
    if hasattr(module, name)
}
_OURS = {name: _set_by_install(getattr(_functions, name)) for name in _THEIRS}
