"""The differences between the majors of the SDK, detected by features and not by versions."""

from __future__ import annotations

import json
from typing import Any

import mcp.client.streamable_http as sdk_http
from mcp.shared.message import ClientMessageMetadata, SessionMessage

from ._facts import MAY_HAVE_RUN

IS_V1 = hasattr(sdk_http, "streamablehttp_client")
"""Whether this is `mcp` 1.x: three values are yielded, and messages have a root."""


def write(message: SessionMessage) -> bytes:
    """Writes a message of the SDK as JSON."""
    body: Any = message.message
    if IS_V1:
        text: str = body.model_dump_json(by_alias=True, exclude_none=True)
    else:
        text = body.model_dump_json(by_alias=True, exclude_unset=True)
    return text.encode()


def read(text: bytes) -> SessionMessage:
    """Reads a message from JSON; raises `ValueError` if the SDK does not accept it."""
    if IS_V1:
        from mcp.types import JSONRPCMessage

        message: Any = JSONRPCMessage
        return SessionMessage(message.model_validate_json(text))
    import mcp_types

    types: Any = mcp_types
    return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))


def era_settings(first: bytes) -> dict[str, bool]:
    """Returns what the first message of a session shows of the revisions that the SDK wants to speak.

    `server/discover` asks what the server speaks: the link finds that out by itself.
    """
    message = json.loads(first)
    method = message.get("method")
    if method == "initialize":
        return {"prefers_session": True}
    meta = (message.get("params") or {}).get("_meta") or {}
    if method != "server/discover" and "io.modelcontextprotocol/protocolVersion" in meta:
        return {"is_pinned_modern": True}
    return {}


def request_id(message: SessionMessage) -> int | str | None:
    """Returns the id of a request of `mcp` 1.x."""
    body: Any = getattr(message.message, "root", None)
    return getattr(body, "id", None) if hasattr(body, "method") else None


def metadata(message: SessionMessage) -> ClientMessageMetadata | None:
    """Returns the sender's metadata of a message; that of a server's message is ignored."""
    said = message.metadata
    return said if isinstance(said, ClientMessageMetadata) else None


def refuse_to_resume(message: SessionMessage) -> bytes | None:
    """Returns the error for a request that asks for the answer to an earlier one, by its resumption token.

    The link knows neither that request nor its session. Sent as a new request, its tool would run twice. The
    earlier request may have run, so the error has a code after which no framework sends it again.
    """
    request = json.loads(write(message))
    if "id" not in request or "method" not in request:
        return None
    words = (
        "a resumption token was given, and ridethrough takes none: it resumes interrupted answers by itself\n"
        "  the request was not sent; the earlier one, which the token is from, may have run\n"
        "hint: find out what became of the earlier request before you send this one without the token"
    )
    facts = {"kind": "config", "mayHaveRun": True, "attempts": 0, "elapsedMs": 0, "report": words}
    return error(request["id"], words, facts)


def error(id: int | str, words: str, facts: dict[str, Any]) -> bytes:
    """Returns the error for a request that may have run."""
    told = {"code": MAY_HAVE_RUN, "message": words, "data": {"ridethrough": facts}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": told}).encode()

