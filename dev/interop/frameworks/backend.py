"""A server whose tool `pay` runs and whose answer is then lost, with the standard library alone.

    python backend.py http JOURNAL      prints its port; /LOSS/mcp has sessions, /LOSS/stateless/mcp has none
    python backend.py stdio JOURNAL     dies after `pay` ran

Each run of `pay` is a line of the journal, its key, which is written before the answer is lost. `look` says how often
a key was paid; it is read-only and always answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Message = dict[str, Any]

KEY = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
TOOLS = [
    {
        "name": "pay",
        "description": "Pays the invoice with this key.",
        "inputSchema": KEY,
    },
    {
        "name": "look",
        "description": "Says how often the invoice with this key was paid.",
        "inputSchema": KEY,
        "annotations": {"readOnlyHint": True},
    },
]
SERVER = {"name": "frameworks-backend", "version": "1"}
STATELESS = "2026-07-28"


class Journal:
    """What was paid, in a file that outlives the server."""

    def __init__(self, path: str) -> None:
        self.path = path

    def pay(self, key: str) -> None:
        # One write: several processes may append.
        with open(self.path, "ab", buffering=0) as file:
            file.write(f"{key}\n".encode())

    def paid(self, key: str) -> int:
        with contextlib.suppress(FileNotFoundError), open(self.path, encoding="utf-8") as file:
            return file.read().split("\n").count(key)
        return 0


def answer(message: Message, journal: Journal) -> Message:
    """Answers a request, but for `pay`."""
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        capabilities: Message = {"tools": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": SERVER}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        times = journal.paid(params["arguments"]["key"])
        return {"content": [{"type": "text", "text": f"paid {times} time{'' if times == 1 else 's'}"}]}
    if method == "server/discover":
        return {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}, "serverInfo": SERVER}
    return {}


def is_pay(message: Message) -> bool:
    return message.get("method") == "tools/call" and message["params"]["name"] == "pay"


class Handler(BaseHTTPRequestHandler):
    """Answers over HTTP. The first part of the path says how the answer of `pay` is lost."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    journal: Journal
    sessions: set[str]

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        # A connection that a loss has reset cannot be flushed.
        with contextlib.suppress(OSError, ValueError):
            super().handle()

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def do_GET(self) -> None:
        self.refuse(405)

    def do_DELETE(self) -> None:
        self.sessions.discard(self.headers.get("mcp-session-id", ""))
        self.refuse(200)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_stateless = "/stateless/" in self.path
        method = message.get("method", "")
        if not is_stateless and method != "initialize":
            if method == "server/discover":
                return self.say(message, {"error": {"code": -32601, "message": "Method not found"}})
            if self.headers.get("mcp-session-id") not in self.sessions:
                return self.refuse(404)
        if is_stateless and method == "initialize":
            return self.say(message, {"error": {"code": -32601, "message": "Method not found"}})
        if "id" not in message or "method" not in message:
            return self.refuse(202)
        if is_pay(message):
            self.journal.pay(message["params"]["arguments"]["key"])
            return LOSSES[self.path.split("/")[1]](self)
        result = answer(message, self.journal)
        if is_stateless:
            result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        headers = {}
        if method == "initialize":
            headers["mcp-session-id"] = uuid.uuid4().hex
            self.sessions.add(headers["mcp-session-id"])
        self.say(message, {"result": result}, headers)

    def say(self, message: Message, outcome: Message, headers: dict[str, str] | None = None) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode()
        self.refuse(200, body, {"content-type": "application/json", **(headers or {})})

    def refuse(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def reset(handler: Handler) -> None:
    # With no time to linger, closing a socket resets its connection.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.wfile = open(os.devnull, "wb")
    # The file that reads holds the socket open.
    handler.rfile.close()
    handler.connection.close()


def stream_without_answer(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"8\r\n: hello\n\r\n0\r\n\r\n")


LOSSES: dict[str, Callable[[Handler], None]] = {
    "reset": reset,
    "500": lambda handler: handler.refuse(500, b"Internal Server Error"),
    "503": lambda handler: handler.refuse(503),
    "503-hint": lambda handler: handler.refuse(503, headers={"retry-after": "1"}),
    "stream": stream_without_answer,
}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve_http(journal: Journal) -> None:
    bound = type("Bound", (Handler,), {"journal": journal, "sessions": set()})
    server = Server(("127.0.0.1", 0), bound)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def serve_stdio(journal: Journal) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        if is_pay(message):
            journal.pay(message["params"]["arguments"]["key"])
            os._exit(1)
        outcome: Message = {"result": answer(message, journal)}
        if message["method"] == "server/discover":
            outcome = {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)


if __name__ == "__main__":
    {"http": serve_http, "stdio": serve_stdio}[sys.argv[1]](Journal(sys.argv[2]))
