"""A stand-in for OpenAI's Responses API on this machine: it answers what it was told to, so that no key is needed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Items = list[dict[str, Any]]


def says(text: str) -> Items:
    """The model answers in words."""
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}]


def calls(*wanted: tuple[str, str, str]) -> Items:
    """The model calls tools: (id, name, arguments as JSON text) of each."""
    return [
        {
            "type": "function_call",
            "id": f"fc_{own}",
            "call_id": own,
            "name": name,
            "arguments": text,
            "status": "completed",
        }
        for own, name, text in wanted
    ]


class ScriptedOpenAI:
    """What the model will answer, and what it was asked."""

    def __init__(self, answers: Iterable[Items]) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        """The bodies of the requests, as they came."""
        self.url = ""

    def results(self) -> dict[str, str]:
        """What the model read of each call, by its id."""
        items = [item for body in self.requests for item in body["input"] if not isinstance(body["input"], str)]
        return {item["call_id"]: item["output"] for item in items if item.get("type") == "function_call_output"}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The next answer of the script, as the API gives it."""
        with self._lock:
            self.requests.append(body)
            output = self._answers.pop(0) if self._answers else says("The script is over.")
        return {
            "id": f"resp_{len(self.requests)}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": body.get("model", "scripted"),
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }


@contextmanager
def scripted_openai(*answers: Items) -> Iterator[ScriptedOpenAI]:
    """Serve these answers, one after the other, on a port of this machine."""
    script = ScriptedOpenAI(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = script.answer(body)
            if body.get("stream"):
                event = {"type": "response.completed", "sequence_number": 0, "response": response}
                self._send("text/event-stream", f"event: response.completed\ndata: {json.dumps(event)}\n\n")
            else:
                self._send("application/json", json.dumps(response))

        def _send(self, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
