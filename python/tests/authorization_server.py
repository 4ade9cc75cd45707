"""A small authorization server, on a thread: whoever comes is logged in at once."""

from __future__ import annotations

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from fault_server import FaultServer


class AuthorizationServer:
    """Gives out tokens that one server accepts: the last one."""

    def __init__(self, resource: FaultServer) -> None:
        self.resource = resource
        self.logins = 0
        self.revoked: list[str] = []
        owner = self

        class Bound(Handler):
            state = owner

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._http.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        resource.token = "none is good enough yet"
        described = {"resource": resource.url, "authorization_servers": [self.issuer]}
        resource.documents["/.well-known/oauth-protected-resource/mcp"] = described

    def new_token(self) -> str:
        self.resource.token = uuid.uuid4().hex
        return self.resource.token

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: AuthorizationServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path == "/.well-known/oauth-authorization-server":
            return self.answer(200, self.metadata())
        if asked.path != "/authorize":
            return self.answer(404, {})
        self.state.logins += 1
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        back = urlencode({"code": "c", "state": query["state"], "iss": self.state.issuer})
        return self.answer(302, {}, ("location", f"{query['redirect_uri']}?{back}"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/register":
            return self.answer(201, {**json.loads(body), "client_id": "registered"})
        if self.path == "/revoke":
            self.state.revoked.append(parse_qs(body.decode())["token"][0])
            return self.answer(200, {})
        token = self.state.new_token()
        granted = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r"}
        return self.answer(200, granted)

    def metadata(self) -> dict[str, Any]:
        issuer = self.state.issuer
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "revocation_endpoint": f"{issuer}/revoke",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
        }

    def answer(self, status: int, content: Any, *headers: tuple[str, str]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in (("content-type", "application/json"), ("content-length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
