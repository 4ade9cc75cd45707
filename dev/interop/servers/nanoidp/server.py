"""nanoidp as it is published, and beside it an MCP server that lets in whoever has one of its tokens."""

import os
import shutil
from pathlib import Path

import yaml
from flask import Response, jsonify, request
from nanoidp.app import create_app
from nanoidp.services import client_metadata_fetch, get_crypto_service, get_revocation_store

PORT = int(os.environ.get("PORT", "0"))
ORIGIN = f"http://127.0.0.1:{PORT}"
RESOURCE = f"{ORIGIN}/mcp"
REDIRECT_URIS = ["http://127.0.0.1/callback", "http://localhost/callback"]
# The client whose id is a URL: it is handed over here, because there is no TLS on this machine.
DOCUMENT = {
    "client_id": "https://client.example/ridethrough.json",
    "client_name": "ridethrough interop",
    "redirect_uris": REDIRECT_URIS,
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}
SETTINGS = {
    "config_version": 1,
    "server": {"host": "127.0.0.1", "port": PORT},
    "oauth": {
        "issuer": ORIGIN,
        "audience": RESOURCE,
        "token_expiry_minutes": 60,
        "refresh_token_rotation": True,
        "scopes_supported": ["openid", "offline_access", "mcp:read"],
        "dynamic_registration": {"enabled": True},
        "client_id_metadata_documents": {"enabled": True, "allowed_hosts": ["client.example"]},
        "clients": [
            {
                "client_id": "by-hand",
                "client_secret": "secret-of-by-hand",
                "redirect_uris": REDIRECT_URIS,
            }
        ],
    },
}
USERS = {"config_version": 1, "users": {"admin": {"password": "admin", "email": "admin@example.org"}}}

seen: set[str] = set()
ended: set[str] = set()


def is_good(token: str | None) -> bool:
    if not token or token in ended:
        return False
    seen.add(token)
    try:
        claims = get_crypto_service().verify_jwt(token, None)
    except ValueError:
        return False
    audience = claims.get("aud")
    is_for_us = RESOURCE in (audience if isinstance(audience, list) else [audience])
    return is_for_us and not get_revocation_store().is_revoked(claims.get("jti"))


def mcp() -> Response:
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not is_good(token):
        error = 'error="invalid_token", ' if token else ""
        response = jsonify({})
        response.status_code = 401
        metadata = f"{ORIGIN}/.well-known/oauth-protected-resource/mcp"
        response.headers["www-authenticate"] = f'Bearer {error}resource_metadata="{metadata}"'
        return response
    if request.method != "POST":
        return Response(status=405)
    message = request.get_json()
    if "id" not in message:
        return Response(status=202)
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        },
        "tools/call": {"content": [{"type": "text", "text": "let in"}]},
    }
    result = results.get(message["method"], {})
    return jsonify({"jsonrpc": "2.0", "id": message["id"], "result": result})


def metadata() -> Response:
    return jsonify({"resource": RESOURCE, "authorization_servers": [ORIGIN], "scopes_supported": ["mcp:read"]})


def end() -> Response:
    """Ends all access tokens that were seen."""
    ended.update(seen)
    return jsonify({})


def register() -> Response:
    """Registers `by-hand` for a port; here it may come from any."""
    return jsonify({})


# In the working directory, and new with each start: what it signs with is in `keys`.
folder = Path("config")
for old in (folder, Path("keys")):
    shutil.rmtree(old, ignore_errors=True)
folder.mkdir()
(folder / "settings.yaml").write_text(yaml.safe_dump(SETTINGS))
(folder / "users.yaml").write_text(yaml.safe_dump(USERS))
app = create_app(str(folder), profile="oauth21")
client_metadata_fetch.fetch_document = lambda client_id, settings: (DOCUMENT, None)
app.add_url_rule("/mcp", view_func=mcp, methods=["GET", "POST", "DELETE"])
app.add_url_rule("/.well-known/oauth-protected-resource/mcp", view_func=metadata)
app.add_url_rule("/interop/end", view_func=end)
app.add_url_rule("/interop/register", view_func=register)
print(f"listening on {RESOURCE}", flush=True)
app.run(host="127.0.0.1", port=PORT, threaded=True)
