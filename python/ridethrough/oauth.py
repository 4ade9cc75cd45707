"""Logins: a person logs in once, and every client of that server uses it from then on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _link
from .errors import LoginFailed


@dataclass(frozen=True)
class OAuth:
    """How a client logs in. Tokens are kept in files that all programs of this person share, and renewed in time.

    A client with these settings uses the login that is there. It begins one only if `asks_person` is set.
    """

    name: str = "ridethrough"
    """What people read when they consent."""
    client_id: str | None = None
    """The client as it was registered by hand; without one it registers itself."""
    client_secret: str | None = field(default=None, repr=False)
    """The secret of that client, if it has one."""
    client_metadata_url: str | None = None
    """Where the client is described, for servers that read that instead of registering clients."""
    scopes: Sequence[str] | None = None
    """What is asked for; without it, what the server names."""
    profile: str | None = None
    """One of several accounts at a server."""
    port: int | None = None
    """The port on this machine that the browser comes back to; any, if there is none."""
    device: bool = False
    """Whether the person logs in on another device, by a code."""
    folder: str | None = None
    """The folder of the logins, if it is not the one that all programs share."""
    login_within: float | None = None
    """How many seconds a person has to log in."""
    asks_person: bool = False
    """Whether a call that needs a login begins one: for programs that a person sits in front of."""

    def _settings(self) -> dict[str, Any]:
        settings = {name: value for name, value in vars(self).items() if value is not None}
        if self.scopes is not None:
            settings["scopes"] = list(self.scopes)
        return settings


@dataclass(frozen=True)
class Login:
    """How a login stands."""

    issuer: str | None
    """Whose tokens they are."""
    scopes: tuple[str, ...]
    """What was granted."""
    expires_at: float | None
    """When the access token ends, in seconds since 1970; it is renewed before."""
    is_refreshable: bool
    """Whether it can be renewed without a person."""


def login(url: str, oauth: OAuth | None = None, *, root_certificates: str | None = None) -> Login:
    """Logs a person in to a server, by the browser of this machine or by a code, and waits for it.

    Raises `LoginFailed`. In a coroutine: `await asyncio.to_thread(login, url)`.
    """
    told = json.loads(_link.log_in(_written(url, oauth, root_certificates, asks_person=True)))
    if "error" in told:
        raise LoginFailed(told["error"])
    scopes = (told["scopes"] or "").split()
    return Login(told["issuer"], tuple(scopes), told["expiresAt"], told["isRefreshable"])


def logout(url: str, oauth: OAuth | None = None, *, root_certificates: str | None = None) -> None:
    """Logs out: the tokens are revoked where the server can do that, and forgotten here in any case."""
    told = json.loads(_link.log_out(_written(url, oauth, root_certificates, asks_person=False)))
    if "error" in told:
        raise LoginFailed(told["error"])


def _written(url: str, oauth: OAuth | None, root_certificates: str | None, *, asks_person: bool) -> bytes:
    settings = {**(oauth or OAuth())._settings(), "asks_person": asks_person}
    written = {"url": url, "root_certificates": root_certificates, "oauth": settings}
    return json.dumps(written).encode()
