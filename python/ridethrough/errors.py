"""The errors of calls: why a call has no result, and whether the server may have run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class RidethroughError(Exception):
    """The base of every error of a call."""

    may_have_run: bool = True
    """Whether the server may have run the call. If so, find out before you repeat it."""

    report: str = ""
    """What happened, what was tried, and what to do, in up to three lines."""


class LoginFailed(RidethroughError, PermissionError):
    """Nobody was logged in, or out. Its words say why."""

    may_have_run = False


class ServerError(RidethroughError):
    """The server answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"the server answered with error {code}: `{message}`")
        self.code = code
        self.message = message
        self.data = data
        self.report = str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.data)


class CallError(RidethroughError):
    """The base of errors without an answer. The subclasses say why; `kind` is their name for programs."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        # A traceback shows these words alone: they must say whether the call may have run.
        super().__init__(facts.get("report") or facts.get("message", ""))
        self._facts = dict(facts)
        self.message: str = facts.get("message", "")
        """What happened, in one line."""
        self.kind: str = facts.get("kind", "unknown")
        self.may_have_run = facts.get("mayHaveRun", True)
        self.attempts: int = facts.get("attempts", 0)
        """How many HTTP requests were made for this call."""
        self.elapsed: float = facts.get("elapsedMs", 0) / 1000
        """The seconds from the call to its end."""
        retry_after = facts.get("retryAfterMs")
        self.retry_after: float | None = None if retry_after is None else retry_after / 1000
        """How many seconds the server asks to be left alone."""
        self.status: int | None = facts.get("status")
        """The HTTP status, if the server refused the call by one."""
        self.report = facts.get("report", "")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._facts,)


class BreakerOpen(CallError):
    """The server keeps failing, and the call was not attempted."""


class Cancelled(CallError):
    """The call was cancelled."""


class Closed(CallError):
    """The client was closed during the call, or before."""


class InvalidCall(CallError, ValueError):
    """The call is invalid; nothing was sent."""


class DeadlinePassed(CallError, TimeoutError):
    """The time of the call is over."""


class Exhausted(CallError):
    """Everything that may be tried was tried."""


class Incompatible(CallError):
    """The server speaks no revision of MCP that the client does."""


class Interrupted(CallError, ConnectionError):
    """The connection broke after the server may have received the call."""


class PeerMisbehaved(CallError):
    """The server broke the protocol."""


class Rejected(CallError):
    """The server refused the call by an HTTP status."""


class SessionLost(CallError):
    """The session was lost, and could not be renewed."""


class TooLarge(CallError):
    """The answer is larger than the limit."""


class Unauthorized(CallError, PermissionError):
    """The server does not accept the credentials."""


class Unreachable(CallError, ConnectionError):
    """No connection could be made."""


_BY_KIND: dict[str, type[CallError]] = {
    "breakerOpen": BreakerOpen,
    "cancelled": Cancelled,
    "closed": Closed,
    "config": InvalidCall,
    "deadlinePassed": DeadlinePassed,
    "exhausted": Exhausted,
    "incompatible": Incompatible,
    "interrupted": Interrupted,
    "peerMisbehaved": PeerMisbehaved,
    "rejected": Rejected,
    "sessionLost": SessionLost,
    "tooLarge": TooLarge,
    "unauthorized": Unauthorized,
    "unreachable": Unreachable,
}


def call_error(facts: Mapping[str, Any]) -> CallError:
    """Returns the error that has these facts."""
    return _BY_KIND.get(facts.get("kind", ""), CallError)(facts)


def server_error(error: Mapping[str, Any]) -> ServerError:
    """Returns the error that the server answered with."""
    return ServerError(int(error.get("code", 0)), str(error.get("message", "")), error.get("data"))


def closed_error() -> Closed:
    """Returns the error of a call that a closed client cannot begin."""
    message = "the client is closed"
    report = f"{message}\n  tried: nothing was sent\nhint: make a new client: this one was closed"
    return Closed({"kind": "closed", "mayHaveRun": False, "message": message, "report": report})
