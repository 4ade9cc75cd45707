"""The requests of the application's own HTTP client, `httpx` or `httpx2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._native import HttpRequest


class RequestMaker:
    """Makes requests as the client's `build_request` does.

    Most requests of a link differ in their body alone. For those the headers are not merged anew, which takes longer
    than all that this package does for a call. Whatever the application changes at its client counts at once.
    """

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = _parsed(url, client)
        self._is_known = _builds_as_httpx(client)
        self._like: _Like | None = None

    def make(self, request: HttpRequest) -> Any:
        """Returns a request for the client's `send`."""
        method, url, headers, _, body = request
        client = self._client
        if not self._is_known or method != "POST" or url is not None or client.cookies or client.params:
            return client.build_request(method, url or self._url, headers=headers, content=body or None)
        settings = (headers, client.headers.raw, client.timeout)
        if self._like is not None and self._like.settings == settings:
            return self._like.with_body(body)
        made = client.build_request(method, self._url, headers=headers, content=body)
        self._like = _Like(settings, made)
        return made


class _Like:
    """A request that was made, as the pattern for others."""

    def __init__(self, settings: tuple[Any, ...], made: Any) -> None:
        self.settings = settings
        # Logins and hooks change the request itself: only what they cannot change is kept.
        self._kinds = type(made), type(made.stream)
        self._method, self._url = made.method, made.url
        self._headers = [pair for pair in made.headers.raw if pair[0].lower() != b"content-length"]

    def with_body(self, body: bytes) -> Any:
        request, stream = self._kinds
        headers = [*self._headers, (b"Content-Length", b"%d" % len(body))]
        extensions = {"timeout": self.settings[2].as_dict()}
        made = request(self._method, self._url, headers=headers, stream=stream(body), extensions=extensions)
        # Hooks may look at the content.
        made.read()
        return made


def _builds_as_httpx(client: Any) -> bool:
    """Whether requests are made by the library's own code, and not by a subclass or a stand-in."""
    own = getattr(type(client), "build_request", None)
    module = getattr(own, "__module__", "")
    return module.partition(".")[0] in ("httpx", "httpx2") and "build_request" not in vars(client)


def _parsed(url: str, client: Any) -> Any:
    """Returns the URL as the client reads it, which it then need not do for each request."""
    try:
        return type(client.base_url)(url)
    except Exception:
        # A client of another kind, or a URL that it does not take: each request tells of it.
        return url
