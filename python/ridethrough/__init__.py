"""MCP connections that ride through faults.

`Client` and `SyncClient` need no other package. `ridethrough.mcp` has the transports of the official SDK, and
`ridethrough.fastmcp` one for FastMCP.
"""

import os

from ._native import after_fork
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

# The child of a fork has none of the threads that its parent's clients run on.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)

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
