"""A model of the tests: a server that speaks the wire format of OpenAI's chat completions; a function answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from tests.tools.outbound.site import Site, page

Request = dict[str, Any]
Reply = dict[str, Any]
PATH = "/v1/chat/completions"


class Brain:
    """Answers requests, and remembers them.

    Args:
        think: A request in, a message of an assistant out: `says(...)` or `calls(...)`.
    """

    def __init__(self, think: Callable[[Request], Reply]) -> None:
        self.requests: list[Request] = []
        self._think = think
        self.tokens = 100
        """What each answer is said to have cost."""

    def serve(self, site: Site) -> None:
        """Answer at this site from now on."""

        async def answer(writer: asyncio.StreamWriter) -> None:
            request = orjson.loads(site.asked[-1].body)
            self.requests.append(request)
            message = self._think(request)
            writer.write(page(orjson.dumps(self._completion(request, message)), "application/json"))
            await writer.drain()

        site.answers[PATH] = answer

    def _completion(self, request: Request, message: Reply) -> dict[str, Any]:
        ended = "tool_calls" if message.get("tool_calls") else "stop"
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": request["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": ended}],
            "usage": {
                "prompt_tokens": self.tokens // 2,
                "completion_tokens": self.tokens - self.tokens // 2,
                "total_tokens": self.tokens,
            },
        }


def says(text: str) -> Reply:
    """An answer in words."""
    return {"content": text}


def calls(name: str, **arguments: Any) -> Reply:
    """An answer that calls a tool."""
    function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
    return {"content": None, "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}


def answers(**fields: Any) -> Reply:
    """An answer in the form that was asked for."""
    return calls("final_result", **fields)


def tools_of(request: Request) -> list[str]:
    """The tools that the model was shown."""
    return [entry["function"]["name"] for entry in request.get("tools", ())]


def told(request: Request) -> str:
    """Everything the model was told, in one text."""
    return "\n".join(str(message.get("content")) for message in request["messages"])


def results(request: Request) -> list[str]:
    """What the tools gave so far."""
    return [str(message["content"]) for message in request["messages"] if message["role"] == "tool"]
