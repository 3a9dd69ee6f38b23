"""A web site of our own, for what reads pages: it counts who came for what."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGE = b"<html><body><p>Hello from a page of our own.</p></body></html>"
ROBOTS = b"User-agent: *\nDisallow: /private\n"


class Site:
    """Where it is, and what was asked of it."""

    def __init__(self, port: int) -> None:
        self.asked: list[str] = []
        self._port = port

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"


@contextmanager
def site() -> Generator[Site]:
    """The site, while it is served."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            robots = self.path == "/robots.txt"
            body = ROBOTS if robots else PAGE
            self.send_response(200)
            self.send_header("content-type", "text/plain" if robots else "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called there
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    served = Site(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
