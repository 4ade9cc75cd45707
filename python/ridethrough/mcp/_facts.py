"""What is known about a call without an answer, read from an error of the SDK."""

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


def facts(error: BaseException) -> Facts | None:
    """Returns the facts in an error, in its causes, or in the errors of a group.

    `None` for an error of the server itself, and for one that the SDK or the application raised.
    """
    waiting, seen = [error], set()
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
    data: Any = getattr(getattr(error, "error", None), "data", None)
    written = data.get("ridethrough") if isinstance(data, dict) else None
    if not isinstance(written, dict):
        return None
    retry_after = written.get("retryAfterMs")
    return Facts(
        written.get("kind", "unknown"),
        bool(written.get("mayHaveRun", True)),
        int(written.get("attempts", 0)),
        written.get("elapsedMs", 0) / 1000,
        None if retry_after is None else retry_after / 1000,
        written.get("report", ""),
    )
