"""A model that is none: a server on loopback that answers by rule, so that examples run without a key and a network.

It asks for the balance and a payment, waits for both results, and says what it read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
CALLS = {"balance": {"account": "rent"}, "bank__pay": {"amount": 600, "to": "bob"}}


@contextmanager
def serve(answer: Callable[[Body], Body]) -> Generator[str]:
    """The address of a server that gives this answer to each request, for as long as it is needed."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text = json.dumps(answer(request)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def anthropic_answer(request: Body) -> Body:
    """What Anthropic Messages would answer."""
    last = request["messages"][-1]["content"]
    content: list[Body]
    if isinstance(last, str):
        calls = enumerate(CALLS.items())
        content = [
            {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": given} for at, (name, given) in calls
        ]
    else:
        content = [{"type": "text", "text": "I read: " + "; ".join(block["content"] for block in last)}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if isinstance(last, str) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def openai_answer(request: Body) -> Body:
    """What OpenAI Responses would answer."""
    results = [item["output"] for item in request["input"] if item.get("type") == "function_call_output"]
    if results:
        part: Body = {"type": "output_text", "text": "I read: " + "; ".join(results), "annotations": []}
        output: list[Body] = [
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        ]
    else:
        output = [
            {"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", "name": name, "status": "completed"}
            | {"arguments": json.dumps(given)}
            for at, (name, given) in enumerate(CALLS.items())
        ]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": request["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }
