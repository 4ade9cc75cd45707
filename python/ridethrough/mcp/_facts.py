"""What is known about a call without an answer, read from an error or a result of the SDK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Facts:
    """What is known about a call that ended without an answer."""

    kind: str
    """The way in which the call ended, such as `interrupted`."""
    may_have_run: bool
    """Whether the server may have run the call. If so, find out before you repeat it."""
    attempts: int
    """How many HTTP requests were made for the call."""
    elapsed: float
    """The seconds from the call to its end."""
    retry_after: float | None
    """How many seconds the server asks to be left alone."""
    report: str
    """What happened, what was tried, and what to do."""


def facts(ended: Any) -> Facts | None:
    """Returns the facts in an error, in its causes, in the errors of a group, or in the result of a call.

    A bridge or gateway in between tells by a result that the call of a tool may have run. `None` for an error or a
    result of the server itself, and for an error that the SDK or the application raised.
    """
    if not isinstance(ended, BaseException):
        return _in_result(ended)
    waiting, seen = [ended], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        found = _in_one(each)
        if found is not None:
            return found
        waiting.extend(it for it in (each.__context__, each.__cause__) if it is not None)
        waiting.extend(getattr(each, "exceptions", ()))
    return None


def _in_one(error: BaseException) -> Facts | None:
    told = getattr(error, "error", None)
    data: Any = getattr(told, "data", None)
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("ridethrough"), dict):
        return _read(data["ridethrough"], "")
    if getattr(told, "code", None) == MAY_HAVE_RUN and data.get("mayHaveRun") is True:
        return _read(data, str(getattr(told, "message", "")))
    return None


def _in_result(result: Any) -> Facts | None:
    meta: Any = result.get("_meta") if isinstance(result, dict) else getattr(result, "meta", None)
    written = meta.get(DOUBT) if isinstance(meta, dict) else None
    if not isinstance(written, dict) or written.get("mayHaveRun", True) is not True:
        return None
    content: Any = result.get("content") if isinstance(result, dict) else getattr(result, "content", None)
    first: Any = content[0] if isinstance(content, list) and content else None
    words = first.get("text") if isinstance(first, dict) else getattr(first, "text", None)
    return _read(written, str(words or ""))


def _read(written: dict[str, Any], words: str) -> Facts:
    retry_after = written.get("retryAfterMs")
    return Facts(
        written.get("kind", "unknown"),
        bool(written.get("mayHaveRun", True)),
        int(written.get("attempts", 0)),
        written.get("elapsedMs", 0) / 1000,
        None if retry_after is None else retry_after / 1000,
        written.get("report", words),
    )


DOUBT = "ridethrough/doubt"
"""The key of the facts in the `_meta` of a result."""
MAY_HAVE_RUN = -32050
"""The code of a call that may have run, at every front."""
