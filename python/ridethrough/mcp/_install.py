"""Replacing the SDK's transports everywhere, for frameworks that create their transports themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import mcp.client.stdio as sdk_stdio
import mcp.client.streamable_http as sdk_http

from . import _functions


def install() -> int:
    """Replaces the SDK's transports in every module that has imported them; returns how many names changed.

    Call it after the imports of the frameworks. A module that is imported later gets the replacement by
    itself, because the SDK's own modules have it.
    """
    ours = {id(theirs): getattr(_functions, name) for name, theirs in _THEIRS.items()}
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
