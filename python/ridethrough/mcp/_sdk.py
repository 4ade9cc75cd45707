"""What differs between the majors of the SDK, found by looking for features and not for versions."""

from __future__ import annotations

from typing import Any

import mcp.client.streamable_http as sdk_http
from mcp.shared.message import ClientMessageMetadata, SessionMessage

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
    """Reads a message from JSON; raises `ValueError` if the SDK does not take it for one."""
    if IS_V1:
        from mcp.types import JSONRPCMessage

        message: Any = JSONRPCMessage
        return SessionMessage(message.model_validate_json(text))
    import mcp_types

    types: Any = mcp_types
    return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))


def metadata(message: SessionMessage) -> ClientMessageMetadata | None:
    """Returns what the sender says about a message; what a server says about its own is ignored."""
    said = message.metadata
    return said if isinstance(said, ClientMessageMetadata) else None
