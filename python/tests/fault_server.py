"""A small MCP server over HTTP, on a thread, whose faults a test scripts."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

Fault = Callable[["Handler", dict[str, Any]], bool]
"""Does something to a tool call; returns whether that was all."""


class FaultServer:
    """A server in the legacy era, with sessions. It counts which tools it ran."""

    handler: type[Handler] | None = None
    """What answers requests, if it is another server."""
    bound_ports: ClassVar[set[int]] = set()
    """No port is bound again for another test: what is held of a call at one server is no call at the next."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.ran: list[str] = []
        self.requests: list[str] = []
        self.path = ""
        self.cancelled: list[Any] = []
        self.deleted: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.faults: deque[Fault] = deque()
        self.get_faults: deque[Callable[[Handler], bool]] = deque()
        self.token: str | None = None
        self.ask: dict[str, Any] | None = None
        self.answers: list[Any] = []
        self.pages = 1
        self.is_endless = False
        self.is_stateless = False
        self.connections: set[socket.socket] = set()
        self.accepted = 0
        self.call_id: Any = None
        self.documents: dict[str, Any] = {}
        self._waiting: dict[str, threading.Event] = {}
        self.start()

    def start(self, port: int = 0) -> None:
        bound = type("Bound", (self.handler or Handler,), {"server_state": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", port), bound)
        while port == 0 and self._http.server_address[1] in self.bound_ports:
            self._http.server_close()
            self._http = ThreadingHTTPServer(("127.0.0.1", port), bound)
        self.bound_ports.add(self._http.server_address[1])
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def lose_sessions(self) -> None:
        """Forgets every session, as a server does that was restarted."""
        self.sessions.clear()

    def run(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Runs a tool."""
        self.ran.append(name)
        if name == "slow":
            time.sleep(float(arguments.get("seconds", 0.5)))
        if name == "large":
            return text("x" * int(arguments["bytes"]))
        if name == "failing":
            return {**text("it failed"), "isError": True}
        return text(str(arguments.get("text", name)))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server_state: FaultServer

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        self.server_state.connections.add(self.connection)
        self.server_state.accepted += 1
        try:
            super().handle()
        except (OSError, ValueError):
            # The connection was ended by a fault.
            pass
        finally:
            self.server_state.connections.discard(self.connection)

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def do_POST(self) -> None:
        state = self.server_state
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = message.get("method", "answer")
        state.requests.append(method)
        if method == "tools/call":
            state.path = self.path
        state.headers.append({name.lower(): value for name, value in self.headers.items()})
        if state.token is not None and self.headers.get("authorization") != f"Bearer {state.token}":
            return self.status(401, ("www-authenticate", "Bearer"))
        if method == "server/discover":
            return self.answer(message, error={"code": -32601, "message": "Method not found"})
        if method == "initialize":
            session = uuid.uuid4().hex
            state.sessions.add(session)
            return self.answer(message, INITIALIZED, ("mcp-session-id", session))
        if not state.is_stateless and self.headers.get("mcp-session-id") not in state.sessions:
            return self.status(404)
        if method == "answer":
            state.answers.append(message)
            event = state._waiting.get(str(message["id"]))
            if event is not None:
                event.set()
            return self.status(202)
        if "id" not in message:
            if method == "notifications/cancelled":
                state.cancelled.append(message["params"]["requestId"])
            return self.status(202)
        if method == "tools/call":
            if state.faults and state.faults.popleft()(self, message):
                return None
            return self.call(message)
        if method == "tools/list":
            return self.answer(message, self.page(message))
        return self.answer(message, {})

    def call(self, message: dict[str, Any]) -> None:
        state, params = self.server_state, message["params"]
        if params["name"] == "asks" and state.ask is not None:
            return self.ask(message)
        if params["name"] == "steps":
            self.begin_stream()
            token = params["_meta"]["progressToken"]
            for step in (1, 2, 3):
                told = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
                self.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
            self.event({"jsonrpc": "2.0", "id": message["id"], "result": state.run("steps", {})})
            return self.end_stream()
        return self.answer(message, state.run(params["name"], params.get("arguments") or {}))

    def ask(self, message: dict[str, Any]) -> None:
        """Asks the client something during the call, and answers with what it said."""
        state = self.server_state
        self.begin_stream()
        event = state._waiting["q1"] = threading.Event()
        self.event({"jsonrpc": "2.0", "id": "q1", **(state.ask or {})})
        event.wait(10)
        said = state.answers[-1].get("result", state.answers[-1].get("error"))
        self.event({"jsonrpc": "2.0", "id": message["id"], "result": text(json.dumps(said))})
        self.end_stream()

    def page(self, message: dict[str, Any]) -> dict[str, Any]:
        number = int((message.get("params") or {}).get("cursor", 1))
        schema = {"type": "object"}
        tools: list[dict[str, Any]] = [{"name": f"tool{number}", "inputSchema": schema}]
        if number == 1:
            tools.append({"name": "read", "inputSchema": schema, "annotations": {"readOnlyHint": True}})
            tools += [{"name": name, "inputSchema": schema} for name in ("echo", "write", "slow", "large")]
        page: dict[str, Any] = {"tools": tools}
        if number < self.server_state.pages:
            page["nextCursor"] = str(number + 1)
        if self.server_state.is_endless:
            page["nextCursor"] = "1"
        return page

    def do_GET(self) -> None:
        state = self.server_state
        if self.path in state.documents:
            return self.document(state.documents[self.path])
        state.requests.append("last-event-id" if "last-event-id" in self.headers else "GET")
        state.headers.append({name.lower(): value for name, value in self.headers.items()})
        if state.get_faults and state.get_faults.popleft()(self):
            return None
        return self.status(405)

    def do_DELETE(self) -> None:
        state = self.server_state
        session = self.headers.get("mcp-session-id", "")
        state.deleted.append(session)
        state.sessions.discard(session)
        self.status(200)

    def status(self, status: int, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", "0")
        self.end_headers()

    def answer(
        self,
        message: dict[str, Any],
        result: Any = None,
        *headers: tuple[str, str],
        error: Any = None,
    ) -> None:
        outcome = {"result": result} if error is None else {"error": error}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def document(self, content: Any) -> None:
        """Answers with a document that belongs to no session."""
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def event(self, message: Any, id: str | None = None) -> None:
        data = "" if message is None else json.dumps(message)
        name = "" if id is None else f"id: {id}\n"
        body = f"{name}data: {data}\n\n".encode()
        self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def reset(self) -> None:
        """Ends the connection with a reset."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def reset_before(handler: Handler, message: dict[str, Any]) -> bool:
    """Resets the connection; the tool does not run, which the client cannot know."""
    handler.reset()
    return True


def reset_after(handler: Handler, message: dict[str, Any]) -> bool:
    """Runs the tool, then resets the connection."""
    handler.server_state.run(message["params"]["name"], message["params"].get("arguments") or {})
    handler.reset()
    return True


def status(code: int, *headers: tuple[str, str]) -> Fault:
    """Answers with a status."""

    def fault(handler: Handler, message: dict[str, Any]) -> bool:
        handler.status(code, *headers)
        return True

    return fault


def lose_session(handler: Handler, message: dict[str, Any]) -> bool:
    """Forgets every session, and says so."""
    handler.server_state.lose_sessions()
    handler.status(404)
    return True


def tell_first(handler: Handler, message: dict[str, Any]) -> bool:
    """Sends a notification before the answer."""
    params = {"level": "info", "data": "half done"}
    handler.begin_stream()
    handler.event({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    handler.event({"jsonrpc": "2.0", "id": message["id"], "result": text("done")})
    handler.end_stream()
    return True


def primed_cut(handler: Handler, message: dict[str, Any]) -> bool:
    """Begins a stream that can be resumed, and ends it without the answer."""
    handler.begin_stream()
    handler.event(None, id="evt-1")
    handler.end_stream()
    return True


INITIALIZED = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "faulty", "version": "1"},
    "instructions": "be kind",
}
