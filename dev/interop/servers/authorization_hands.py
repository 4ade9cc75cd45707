"""What the two Python servers that guard themselves have in common: a tool, and what a person does by hand."""

import os
from typing import Any

import uvicorn
from mcp.shared.auth import OAuthClientInformationFull
from starlette.requests import Request
from starlette.responses import JSONResponse

PORT = int(os.environ.get("PORT", "0"))
ORIGIN = f"http://127.0.0.1:{PORT}"
SCOPE = "mcp:read"


def let_in() -> str:
    """Answers whoever has a token."""
    return "let in"


def add_hands(server: Any, provider: Any) -> None:
    """Adds two routes: one ends all access tokens, one registers a client."""

    @server.custom_route("/interop/end", methods=["GET"])
    async def end(request: Request) -> JSONResponse:
        provider.access_tokens.clear()
        return JSONResponse({})

    @server.custom_route("/interop/register", methods=["GET"])
    async def register(request: Request) -> JSONResponse:
        await provider.register_client(
            OAuthClientInformationFull(
                client_id="by-hand",
                client_secret="secret-of-by-hand",
                token_endpoint_auth_method="client_secret_basic",
                redirect_uris=[f"http://127.0.0.1:{request.query_params['port']}/callback"],
                grant_types=["authorization_code", "refresh_token"],
                scope=SCOPE,
            )
        )
        return JSONResponse({})


def serve(app: Any) -> None:
    print(f"listening on {ORIGIN}/mcp", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
