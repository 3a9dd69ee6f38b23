"""A chat completion put together from the chunks it was streamed in. Knows the shape of chunks, and no SDK.

The SDK's own way to do it takes strict tools alone, and raises where a completion was cut short.
"""

from __future__ import annotations

from typing import Any

from callgate.errors import MalformedResponse
from callgate.frameworks.conversation import Body, bodies, plain
from callgate.model.shapes import as_mapping


class Assembly:
    """One completion under way; add each chunk, then take `completion()`."""

    def __init__(self) -> None:
        self._message: Body = {"role": "assistant", "content": None}
        self._calls: dict[Any, Body] = {}
        self._ending: str | None = None
        self._usage: Body = {}

    def add(self, chunk: Any) -> None:
        """Take in one chunk.

        Raises:
            MalformedResponse: It belongs to a second choice.
        """
        body: Body = plain(chunk)
        self._usage = body.get("usage") or self._usage
        for choice in bodies(body.get("choices")):
            if choice.get("index", 0) != 0:
                raise MalformedResponse("the stream has several choices; ask for one")
            self._ending = choice.get("finish_reason") or self._ending
            self._add_delta(dict(as_mapping(choice.get("delta")) or {}))

    def _add_delta(self, delta: Body) -> None:
        for call in bodies(delta.pop("tool_calls", None)):
            self._add_call(call)
        delta.pop("role", None)
        for name, part in delta.items():
            if part is not None:
                self._message[name] = _joined(self._message.get(name), part)

    def _add_call(self, part: Body) -> None:
        # Who streams no index streams whole calls.
        call = self._calls.setdefault(part.pop("index", len(self._calls)), {"type": "function", "function": {}})
        for name, piece in dict(as_mapping(part.pop("function", None)) or {}).items():
            if piece is not None:
                call["function"][name] = _joined(call["function"].get(name), piece)
        call |= {name: value for name, value in part.items() if value is not None}

    def completion(self) -> Body:
        """The whole.

        Raises:
            MalformedResponse: It did not come to its end.
        """
        if self._ending is None:
            raise MalformedResponse("the stream ended before the response did; nothing of it was run")
        message = self._message | ({"tool_calls": list(self._calls.values())} if self._calls else {})
        return {
            "choices": [{"index": 0, "finish_reason": self._ending, "message": message}],
            "usage": self._usage,
        }


def _joined(before: Any, part: Any) -> Any:
    return before + part if isinstance(before, str) and isinstance(part, str) else part
