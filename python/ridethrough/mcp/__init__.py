"""The transports of the official SDK, `mcp`, over ridethrough, with its names, signatures and yields.

    from ridethrough.mcp import streamable_http_client   # instead of mcp.client.streamable_http

Every request ends with its answer or with one error; nothing is raised through a task group, and a broken
connection ends no session. `facts` reads from an error whether the server may have run the call.
"""

from ._facts import Facts, facts
from ._functions import stdio_client, streamable_http_client, streamablehttp_client
from ._install import install, uninstall

__all__ = [
    "Facts",
    "facts",
    "install",
    "stdio_client",
    "streamable_http_client",
    "streamablehttp_client",
    "uninstall",
]
