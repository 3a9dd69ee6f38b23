"""An MCP server by hand, over HTTP and of the protocol 2025-11-25, honest or not; its witness is in a folder."""

import gzip
import json
import os
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FOLDER, PORT = Path(sys.argv[1]), int(sys.argv[2])
SESSION = uuid.uuid4().hex
NAMES = ("echo", "note", "note_then", "read_then", "die_after", "die_once", "huge", "bomb", "garbage", "header")
Message = dict[str, Any]


def witness(name: str, text: str = "") -> None:
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def text_of(text: str) -> Message:
    return {"content": [{"type": "text", "text": text}]}


def listed(name: str) -> Message:
    return {"name": name, "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = request.get("method")
        if method == "initialize":
            info = {"name": "by hand", "version": "1"}
            result: Message = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            self.answer(request, result)
        elif method == "server/discover":
            self.reply(400, b"")
        elif self.headers.get("mcp-session-id") != SESSION:
            self.reply(404, b"")
        elif "id" not in request:
            self.reply(202, b"")
        elif method == "ping":
            self.answer(request, {})
        elif method == "tools/list":
            self.answer(request, {"tools": [listed(name) for name in NAMES]})
        else:
            self.call(request)

    def do_GET(self) -> None:
        self.reply(405, b"")

    def do_DELETE(self) -> None:
        witness("goodbyes")
        self.reply(204, b"")

    def call(self, request: Message) -> None:
        name, text = request["params"]["name"], request["params"].get("arguments", {}).get("text", "")
        witness("calls", name)
        if name == "note":
            witness("notes", text)
        elif name in {"note_then", "read_then"}:
            witness("notes", text)
            return self.status_of(request, text)
        elif name == "die_after":
            witness("notes", text)
            os._exit(1)
        elif name == "die_once" and (FOLDER / "calls").read_text().split().count("die_once") == 1:
            os._exit(1)
        elif name in {"huge", "bomb", "garbage"}:
            return self.harm(name)
        elif name == "header":
            text = f"{self.headers.get('authorization')} {self.headers.get('x-plain')}"
            witness("headers", text)
        return self.answer(request, text_of(f"{name} {text}"))

    def harm(self, name: str) -> None:
        if name == "huge":
            self.reply(200, b'{"jsonrpc": "2.0", "x": "' + b"x" * (20 * 1024 * 1024))
        elif name == "bomb":
            self.reply(200, gzip.compress(b" " * (200 * 1024 * 1024), 1), encoding="gzip")
        else:
            self.reply(200, b"this is no JSON")

    def status_of(self, request: Message, text: str) -> None:
        """Answer with a status that means nothing was taken, though it was; with an error of our own after it."""
        status, _, words = text.partition(" ")
        error = {"code": -32000, "message": "written, but the index could not be updated"}
        body = {"jsonrpc": "2.0", "id": request["id"], "error": error}
        self.reply(int(status), json.dumps(body).encode() if words == "error" else b"", challenge=words)

    def answer(self, request: Message, result: Message) -> None:
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())

    def reply(self, status: int, body: bytes, *, encoding: str = "", challenge: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("mcp-session-id", SESSION)
        if challenge.startswith("Bearer"):
            self.send_header("www-authenticate", challenge)
        if encoding:
            self.send_header("content-encoding", encoding)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            witness("cut off")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        """Nobody reads it."""


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
