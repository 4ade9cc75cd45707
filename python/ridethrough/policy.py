"""The retry policy: how long to wait and how often to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Policy:
    """The settings of recovery. Times are in seconds; `None` is the default of the base policy."""

    patience: float | None = None
    """How long a call waits, in all, for a server in trouble: 30."""
    first_patience: float | None = None
    """How long a call waits before the first connect has ever succeeded: 10."""
    tool_deadline: float | None = None
    """The time of a tool call that names none: 600."""
    deadline: float | None = None
    """The time of any other call that names none: 60."""
    resends: int | None = None
    """How often a call may be sent again: 3."""
    resumes: int | None = None
    """How often in a row a stream may be resumed without progress: 8."""
    in_flight: int | None = None
    """How many calls may be out at once: 256."""
    trust_hints: Literal["none", "readOnly", "all"] | None = None
    """The annotations of a tool that are believed about whether it may run twice: `readOnly`."""
    base: Literal["interactive", "never", "unattended"] = "interactive"
    """The policy that these settings change."""

    @classmethod
    def unattended(cls) -> Policy:
        """Returns a policy for work without a waiting person: it outlasts an outage of half an hour."""
        return cls(base="unattended")

    @classmethod
    def never(cls) -> Policy:
        """Returns a policy of one attempt. A lost session is still renewed."""
        return cls(base="never")

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}
