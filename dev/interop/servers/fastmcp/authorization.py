"""FastMCP with its authorization server in memory, which consents without a page."""

import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import (
    ClientRegistrationOptions,
    InMemoryOAuthProvider,
    RevocationOptions,
)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import authorization_hands as hands  # noqa: E402: it is in the folder above

provider = InMemoryOAuthProvider(
    base_url=hands.ORIGIN,
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=[hands.SCOPE]),
    revocation_options=RevocationOptions(enabled=True),
    required_scopes=[hands.SCOPE],
)
server = FastMCP("guarded", version="1", auth=provider)
server.tool(hands.let_in)
hands.add_hands(server, provider)
hands.serve(server.http_app())
