"""HTTP by the application's own client, of `httpx` or `httpx2`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from .._link import Link
from ._requests import RequestMaker

if TYPE_CHECKING:
    from .._native import HttpRequest


class Carrier:
    """Makes the HTTP requests of one link by the application's client."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._requests = RequestMaker(client, url)
        self.session_id: str | None = None
        """The session that the server named last."""
        self.error: Exception | None = None
        """What the application's own code raised instead of the last request, such as a failed login."""

    async def carry(self, link: Link, number: int, request: HttpRequest) -> None:
        """Makes one request, reports everything about it, and raises nothing."""
        method = request[0]
        try:
            made = self._requests.make(request)
            # The link follows redirects within the origin, and no others, whatever the client is set to.
            response = await self._client.send(made, stream=True, follow_redirects=False)
        except Exception as error:
            link.http_failed(number, *verdict(error))
            if method == "POST":
                self.error = None if is_of_http(error) else error
            return
        if method == "POST":
            self.error = None
        try:
            await self._report(link, number, method, response)
        except Exception as error:
            cause, _, detail = verdict(error)
            link.http_failed(number, cause, True, detail)
        finally:
            await close(response)

    async def _report(self, link: Link, number: int, method: str, response: Any) -> None:
        """Reports an answer, and reads it to its end."""
        status = response.status_code
        headers = response.headers.raw
        named = {name.lower(): value for name, value in headers}
        if b"mcp-session-id" in named:
            self.session_id = named[b"mcp-session-id"].decode("latin-1")
        # What is not encoded need not be decoded, unless a hook of the application has read it.
        is_raw = b"content-encoding" not in named and not response.is_stream_consumed
        chunks = response.stream if is_raw else response.aiter_bytes()
        if status >= 400:
            chunks = masked(chunks, response.request.headers.get("authorization", ""))
        if method == "GET" and status == 401:
            # Some servers check the GET that listens by other rules. Whether the token is good, calls show: the link
            # knows no better token than that of the application's client, and would send nothing more.
            status = 403
        if is_raw and is_small(named):
            return await report_whole(link, number, status, headers, chunks)
        link.http_head(number, status, headers)
        if b"content-length" in named:
            chunks = gathered(chunks)
        async for chunk in chunks:
            link.http_chunk(number, chunk)
        link.http_end(number)


async def gathered(chunks: Any) -> AsyncIterator[bytes]:
    """Yields pieces of a body whose length is known, so that nothing in it is waited for: larger ones, which cost less."""
    pieces: list[bytes] = []
    size = 0
    async for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size >= PIECE:
            yield b"".join(pieces)
            pieces, size = [], 0
    yield b"".join(pieces)


async def masked(chunks: Any, authorization: str) -> AsyncIterator[bytes]:
    """Yields a refusal without the token that was refused, in case the server repeats it: errors quote refusals."""
    secret = authorization.rpartition(" ")[2].encode("latin-1", "replace")
    kept = b""
    async for chunk in chunks:
        kept = (kept + chunk).replace(secret, b"***") if secret else chunk
        # The token may come in two pieces.
        end = max(len(kept) - len(secret) + 1, 0) if secret else len(kept)
        yield kept[:end]
        kept = kept[end:]
    yield kept


async def report_whole(
    link: Link, number: int, status: int, headers: list[tuple[bytes, bytes]], chunks: Any
) -> None:
    """Reads a small answer to its end, and reports it at once."""
    try:
        body = b"".join([chunk async for chunk in chunks])
    except Exception:
        link.http_head(number, status, headers)
        raise
    link.http_answer(number, status, headers, body)


def is_small(headers: dict[bytes, bytes]) -> bool:
    """Whether an answer is short, and has an end: each report wakes a thread, which costs more than such a body."""
    length = headers.get(b"content-length", b"")
    return length.isdigit() and int(length) <= SMALL


SMALL = 1024 * 1024
PIECE = 256 * 1024
"""Bytes."""


async def close(response: Any) -> None:
    """Closes an answer. A failure to close it is ignored, because nothing of it is used any more."""
    try:
        await response.aclose()
    except Exception:
        pass


def is_of_http(error: Exception) -> bool:
    """Whether an error tells of the connection, and not of the application's login or hooks."""
    return any(each.__name__ in ("HTTPError", "InvalidURL", "StreamError") for each in type(error).__mro__)


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
