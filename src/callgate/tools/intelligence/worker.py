"""Worker: the process apart in which sources are parsed; no environment, bounded memory, no way out but its output.

One request and one answer at a time, each a length and JSON; a request may be followed by the bytes of a file. It ends
with its input, so also when whoever started it is killed.
"""

from __future__ import annotations

import os
import resource
import struct
import sys
from typing import Any

import orjson

from callgate.tools.answers import only_answers
from callgate.tools.intelligence.extract import extract
from callgate.tools.process_limits import lower

HEAD = struct.Struct("<II")
"""How many bytes of JSON follow, and how many of content."""
_MOST_MEMORY = 2 * 1024**3


def main() -> None:  # pragma: no cover - in the child, where nobody measures
    """Answer until the input ends."""
    _bound()
    source, sink = sys.stdin.buffer, only_answers()
    while head := source.read(HEAD.size):
        told, content = HEAD.unpack(head)
        request = orjson.loads(source.read(told))
        answer = orjson.dumps(_answer(request, source.read(content)))
        sink.write(HEAD.pack(len(answer), 0) + answer)
        sink.flush()


def _answer(request: dict[str, Any], content: bytes) -> Any:  # pragma: no cover - as above
    if request["do"] == "resolve":
        from callgate.tools.intelligence.resolve import resolve  # noqa: PLC0415 - jedi is large, and seldom needed

        return resolve(request)
    return extract(content, request["language"])


def _bound() -> None:  # pragma: no cover - as above
    os.nice(5)  # whoever waits for an answer of the gate goes first
    lower({resource.RLIMIT_AS: _MOST_MEMORY, resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0})
