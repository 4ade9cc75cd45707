"""Takes the place of the SDK's transports everywhere, for frameworks that make their transports themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import mcp.client.stdio as sdk_stdio
import mcp.client.streamable_http as sdk_http

from . import _functions


def install() -> int:
    """Replaces the SDK's transports by ours in every module that has imported them; returns how often.

    Call it after the imports of the frameworks. A module that is imported later takes ours from the SDK.
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
    """Takes `install` back; returns how often a name was replaced. Names that import ours keep it."""
    count = len(_replaced)
    while _replaced:
        module, attribute, value = _replaced.pop()
        setattr(module, attribute, value)
    # Modules that were imported meanwhile took ours from the SDK; they cannot be told from those that want it.
    return count


_replaced: list[tuple[ModuleType, str, Any]] = []

# Taken when this module is imported: after `install` the SDK's modules have ours.
_THEIRS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module, name in [
        (sdk_http, "streamable_http_client"),
        (sdk_http, "streamablehttp_client"),
        (sdk_stdio, "stdio_client"),
    ]
    if hasattr(module, name)
}
