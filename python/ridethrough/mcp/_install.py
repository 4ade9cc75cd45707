"""Takes the place of the SDK's transports everywhere, for frameworks that make their transports themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mcp.client.stdio as sdk_stdio
import mcp.client.streamable_http as sdk_http

from . import _functions


def install() -> int:
    """Replaces the SDK's transports by ours in every module that has imported them; returns how often.

    Call it after the imports of the frameworks. A module that is imported later takes ours from the SDK.
    """
    return _replace(_pairs())


def uninstall() -> int:
    """Takes `install` back; returns how often a name was replaced."""
    return _replace([(ours, theirs) for theirs, ours in _pairs()])


def _pairs() -> list[tuple[Any, Any]]:
    pairs = [
        (_THEIRS["streamable_http_client"], _functions.streamable_http_client),
        (_THEIRS["stdio_client"], _functions.stdio_client),
    ]
    if "streamablehttp_client" in _THEIRS:
        pairs.append((_THEIRS["streamablehttp_client"], _functions.streamablehttp_client))
    return pairs


def _replace(pairs: list[tuple[Any, Any]]) -> int:
    count = 0
    by_id = {id(old): new for old, new in pairs}
    for name, module in list(sys.modules.items()):
        if name == __package__ or name.startswith(f"{__package__}."):
            continue
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            new = by_id.get(id(value))
            if new is not None:
                setattr(module, attribute, new)
                count += 1
    return count


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
