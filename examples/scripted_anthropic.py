"""A stand-in for Anthropic's Messages API on this machine: it answers what it was told to, so that no key is needed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Blocks = list[dict[str, Any]]


def says(text: str) -> Blocks:
    """The model answers in words."""
    return [{"type": "text", "text": text}]


def uses(*wanted: tuple[str, str, dict[str, Any]]) -> Blocks:
    """The model uses tools: (id, name, input) of each."""
    return [{"type": "tool_use", "id": own, "name": name, "input": given} for own, name, given in wanted]


def environment(url: str, home: Path) -> dict[str, str]:
    """What Claude Code has to find in its environment to use the stand-in, a home of its own, and nothing else."""
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "ENABLE_TOOL_SEARCH": "false",
        # Whatever else it would call is refused by a port that nobody listens on.
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
    }


class ScriptedAnthropic:
    """What the model will answer, and what it was asked."""

    def __init__(self, answers: Iterable[Blocks]) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        """The bodies of the requests of the conversation, as they came."""
        self.url = ""

    def results(self) -> dict[str, str]:
        """What the model read of each tool use, by its id."""
        found: dict[str, str] = {}
        for body in self.requests:
            for message in body["messages"]:
                blocks = message["content"] if isinstance(message["content"], list) else []
                results = [block for block in blocks if block.get("type") == "tool_result"]
                found |= {block["tool_use_id"]: _text(block.get("content")) for block in results}
        return found

    def answer(self, body: dict[str, Any]) -> Blocks:
        """The next answer of the script. Questions beside the conversation, which offer no tools, get any answer."""
        if not body.get("tools"):
            return says("ok")
        with self._lock:
            self.requests.append(body)
            return self._answers.pop(0) if self._answers else says("The script is over.")


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content)
    return str(content)


def _events(content: Blocks, model: str) -> Iterator[dict[str, Any]]:
    """The answer as the API streams it."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
    }
    yield {"type": "message_start", "message": message | {"usage": {"input_tokens": 1, "output_tokens": 1}}}
    for index, block in enumerate(content):
        if block["type"] == "text":
            start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


@contextmanager
def scripted_anthropic(*answers: Blocks) -> Iterator[ScriptedAnthropic]:
    """Serve these answers, one after the other, on a port of this machine."""
    script = ScriptedAnthropic(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.startswith("/v1/messages") or "messages" not in body or "count_tokens" in self.path:
                self._send("application/json", json.dumps({"input_tokens": 1}))
                return
            events = list(_events(script.answer(body), str(body.get("model"))))
            if body.get("stream"):
                lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
                self._send("text/event-stream", "".join(lines))
            else:
                self._send("application/json", json.dumps(events[0]["message"] | {"content": says("ok")}))

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
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
