"""MCP connections that ride through faults.

`Client` and `SyncClient` need no other package. `ridethrough.mcp` has the transports of the official SDK, and
`ridethrough.fastmcp` one for FastMCP.
"""

# Checkers of types know this name. To import it from `typing` takes longer than the rest of this file.
TYPE_CHECKING = False

__all__ = [
    "BreakerOpen",
    "CallError",
    "Cancelled",
    "Client",
    "Closed",
    "Content",
    "DeadlinePassed",
    "Event",
    "Exhausted",
    "Incompatible",
    "Interrupted",
    "InvalidCall",
    "Login",
    "LoginFailed",
    "Notification",
    "OAuth",
    "PeerMisbehaved",
    "Policy",
    "Progress",
    "Prompt",
    "PromptMessage",
    "PromptResult",
    "Rejected",
    "Resource",
    "ResourceContents",
    "RidethroughError",
    "Root",
    "ServerError",
    "ServerInfo",
    "SessionLost",
    "SyncClient",
    "Tool",
    "ToolResult",
    "TooLarge",
    "Unauthorized",
    "Unreachable",
    "login",
    "logout",
]

if TYPE_CHECKING:
    from .client import Client
    from .errors import (
        BreakerOpen,
        CallError,
        Cancelled,
        Closed,
        DeadlinePassed,
        Exhausted,
        Incompatible,
        Interrupted,
        InvalidCall,
        LoginFailed,
        PeerMisbehaved,
        Rejected,
        RidethroughError,
        ServerError,
        SessionLost,
        TooLarge,
        Unauthorized,
        Unreachable,
    )
    from .model import (
        Content,
        Event,
        Notification,
        Progress,
        Prompt,
        PromptMessage,
        PromptResult,
        Resource,
        ResourceContents,
        Root,
        ServerInfo,
        Tool,
        ToolResult,
    )
    from .oauth import Login, OAuth, login, logout
    from .policy import Policy
    from .sync_client import SyncClient
else:
    _MODULES = {
        "client": ("Client",),
        "errors": (
            "BreakerOpen", "CallError", "Cancelled", "Closed", "DeadlinePassed", "Exhausted", "Incompatible",
            "Interrupted", "InvalidCall", "LoginFailed", "PeerMisbehaved", "Rejected", "RidethroughError",
            "ServerError", "SessionLost", "TooLarge", "Unauthorized", "Unreachable",
        ),
        "model": (
            "Content", "Event", "Notification", "Progress", "Prompt", "PromptMessage", "PromptResult",
            "Resource", "ResourceContents", "Root", "ServerInfo", "Tool", "ToolResult",
        ),
        "oauth": ("Login", "OAuth", "login", "logout"),
        "policy": ("Policy",),
        "sync_client": ("SyncClient",),
    }

    def __getattr__(name: str) -> object:
        """Imports a module when something of it is first used: most programs use two of them."""
        from importlib import import_module

        if name in _MODULES:
            return import_module(f".{name}", __name__)
        for module, names in _MODULES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f".{module}", __name__), name)
                return value
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
