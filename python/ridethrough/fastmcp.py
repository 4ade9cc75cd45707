"""A transport for FastMCP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastmcp.client.transports import ClientTransport
from mcp import ClientSession

from ._base import EventFn
from ._doubt import DoubtForm, DoubtRepeat
from .mcp._functions import _header_settings
from .mcp._transport import LinkTransport
from .mcp import _sdk
from .policy import Policy


class RideTransport(ClientTransport):
    """Connects FastMCP's `Client` to a server at a URL.

        async with fastmcp.Client(RideTransport("https://example.com/mcp")) as client:
            await client.call_tool("echo", {"text": "hello"})

    That a call of a tool may have run is told by an error, in which `ridethrough.mcp.facts` finds more: of a result
    FastMCP raises the words alone. An equal call is then not sent for a while; with `doubt_repeat="allow"` it is.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        http_client: Any = None,
        policy: Policy | None = None,
        on_event: EventFn | None = None,
        doubt: DoubtForm = "error",
        doubt_repeat: DoubtRepeat = "hold",
    ) -> None:
        self.url = url
        self._settings: dict[str, Any] = {"url": url, **_header_settings(dict(headers or {}))}
        if token is not None:
            self._settings["token"] = token
        self._http_client = http_client
        self._policy = policy
        self._on_event = on_event
        self._doubt: DoubtForm = doubt
        self._doubt_repeat: DoubtRepeat = doubt_repeat

    @contextlib.asynccontextmanager
    async def connect_session(self, **session_kwargs: Any) -> AsyncIterator[ClientSession]:
        """Opens a session of the SDK over a link."""
        transport = LinkTransport(
            self._settings,
            url=self.url,
            http_client=self._http_client,
            policy=self._policy,
            on_event=self._on_event,
            doubt=self._doubt,
            doubt_repeat=self._doubt_repeat,
            yields_session_id=_sdk.IS_V1,
        )
        async with transport as streams:
            async with ClientSession(streams[0], streams[1], **session_kwargs) as session:
                yield session

    def __repr__(self) -> str:
        return f"<RideTransport(url={self.url.partition('?')[0]!r})>"
