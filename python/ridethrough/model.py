"""The answers of a server, as types. Each keeps the JSON that it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

JSON = Any
"""Anything that `json.loads` returns."""


@dataclass(frozen=True)
class Tool:
    """A tool of the server."""

    name: str
    description: str | None
    input_schema: Mapping[str, Any]
    annotations: Mapping[str, Any]
    raw: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> Tool:
        schema, annotations = raw.get("inputSchema") or {}, raw.get("annotations") or {}
        return cls(raw["name"], raw.get("description"), schema, annotations, raw)


@dataclass(frozen=True)
class Content:
    """A part of a result: text, an image, audio or a resource."""

    type: str
    text: str | None
    data: str | None
    """The bytes of an image or of audio, in base64."""
    mime_type: str | None
    raw: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> Content:
        return cls(raw.get("type", ""), raw.get("text"), raw.get("data"), raw.get("mimeType"), raw)


@dataclass(frozen=True)
class ToolResult:
    """The result of a tool."""

    content: tuple[Content, ...]
    structured_content: JSON
    is_error: bool
    """Whether the tool itself failed; its content then says why."""
    raw: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text of all parts that are text, one per line."""
        return "\n".join(part.text for part in self.content if part.text is not None)

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> ToolResult:
        content = tuple(Content._read(part) for part in raw.get("content") or ())
        return cls(content, raw.get("structuredContent"), bool(raw.get("isError")), raw)


@dataclass(frozen=True)
class Resource:
    """A resource of the server, or a resource template, whose `uri` is then a pattern."""

    uri: str
    name: str
    description: str | None
    mime_type: str | None
    raw: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> Resource:
        uri = raw.get("uri") or raw.get("uriTemplate") or ""
        return cls(uri, raw.get("name", ""), raw.get("description"), raw.get("mimeType"), raw)


@dataclass(frozen=True)
class ResourceContents:
    """One part of the contents of a resource: `text`, or `blob` in base64."""

    uri: str
    mime_type: str | None
    text: str | None
    blob: str | None
    raw: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> ResourceContents:
        return cls(raw.get("uri", ""), raw.get("mimeType"), raw.get("text"), raw.get("blob"), raw)


@dataclass(frozen=True)
class Prompt:
    """A prompt of the server."""

    name: str
    description: str | None
    arguments: tuple[Mapping[str, Any], ...]
    raw: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> Prompt:
        return cls(raw["name"], raw.get("description"), tuple(raw.get("arguments") or ()), raw)


@dataclass(frozen=True)
class PromptMessage:
    """A message of a prompt."""

    role: str
    content: Content


@dataclass(frozen=True)
class PromptResult:
    """A prompt, filled in."""

    description: str | None
    messages: tuple[PromptMessage, ...]
    raw: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> PromptResult:
        messages = tuple(
            PromptMessage(said.get("role", ""), Content._read(said.get("content") or {}))
            for said in raw.get("messages") or ()
        )
        return cls(raw.get("description"), messages, raw)


@dataclass(frozen=True)
class ServerInfo:
    """A server's description of itself."""

    name: str
    version: str
    protocol_version: str
    instructions: str | None
    capabilities: Mapping[str, Any]
    raw: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> ServerInfo:
        info = raw.get("serverInfo") or {}
        return cls(
            info.get("name", ""),
            info.get("version", ""),
            raw.get("protocolVersion", ""),
            raw.get("instructions"),
            raw.get("capabilities") or {},
            raw,
        )


@dataclass(frozen=True)
class Progress:
    """The progress of a call."""

    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True)
class Event:
    """Something that happened on the connection."""

    name: str
    """The name for programs, such as `sessionLost`."""
    level: str
    """The level: `debug`, `info` or `warning`."""
    message: str
    """What happened, in one line."""
    details: Mapping[str, Any]
    """The details of the event, such as the tool of a call."""

    @classmethod
    def _read(cls, raw: dict[str, Any]) -> Event:
        told = raw.pop("name"), raw.pop("level"), raw.pop("message")
        return cls(*told, raw)


@dataclass(frozen=True)
class Notification:
    """A message of the server that wants no answer."""

    method: str
    """Its method, such as `notifications/tools/list_changed`."""
    params: Mapping[str, Any]

    @classmethod
    def _read(cls, raw: Mapping[str, Any]) -> Notification:
        return cls(raw["method"], raw.get("params") or {})


@dataclass(frozen=True)
class Root:
    """A root that the server may work in."""

    uri: str
    name: str | None = None
