"""HTTP by the application's own client, of `httpx` or `httpx2`."""

from __future__ import annotations

import json
from typing import Any

from .._native import Link


async def carry(link: Link, client: Any, url: str, number: int, head: bytes, body: bytes) -> str | None:
    """Makes one request, reports everything about it, and raises nothing.

    Returns the session that the server named, if it named one.
    """
    asked = json.loads(head)
    try:
        request = client.build_request(
            asked["method"], asked["url"] or url, headers=dict(asked["headers"]), content=body or None
        )
        # The link follows redirects within the origin, and no others, whatever the client is set to.
        response = await client.send(request, stream=True, follow_redirects=False)
    except Exception as error:
        link.http_failed(number, *verdict(error))
        return None
    try:
        link.http_head(number, response.status_code, response.headers.raw)
        async for chunk in response.aiter_bytes():
            link.http_chunk(number, chunk)
        link.http_end(number)
    except Exception as error:
        cause, _, detail = verdict(error)
        link.http_failed(number, cause, True, detail)
    finally:
        await close(response)
    session: str | None = response.headers.get("mcp-session-id")
    return session


async def close(response: Any) -> None:
    """Closes an answer. A failure to close it is ignored, because nothing of it is used any more."""
    try:
        await response.aclose()
    except Exception:
        pass


def verdict(error: Exception) -> tuple[str, bool, str]:
    """Returns what an error of the client means: the cause, whether anything was sent, and words for people.

    Few errors of the client show that nothing was sent. All others leave the request in doubt.
    """
    names = {each.__name__ for each in type(error).__mro__}
    words = str(error).splitlines()
    detail = f"{type(error).__name__}: {words[0][:200]}" if words else type(error).__name__
    if "ConnectTimeout" in names or "PoolTimeout" in names:
        return "connectTimeout", False, detail
    if "ConnectError" in names:
        return _unconnected(detail), False, detail
    if "TimeoutException" in names:
        return "timeout", True, detail
    if names & {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}:
        return "misconfigured", False, detail
    if any(name.startswith("OAuth") for name in names):
        # A login comes before the request, or instead of one that was refused.
        return "misconfigured", False, detail
    if names & {"ReadError", "WriteError"}:
        return "reset", True, detail
    if "DecodingError" in names:
        return "unreadable", True, detail
    return "closed", True, detail


def _unconnected(detail: str) -> str:
    lowered = detail.lower()
    if "certificate" in lowered:
        return "certificate"
    if "name or service" in lowered or "nodename" in lowered or "name resolution" in lowered:
        return "name"
    return "refused"
