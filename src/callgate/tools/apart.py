"""Apart: work on what strangers wrote, in a process of its own.

Some libraries are large, and some pages and formulas keep them busy for minutes or take all memory. So they run where
they can be stopped, with bounded memory and time, and without the environment. Knows nothing of what is worked on:
that is a function of a module of ours, from a text to something that JSON can say.
"""

from __future__ import annotations

import importlib
import resource
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from callgate.tools.answers import only_answers
from callgate.tools.interpreter import ask
from callgate.tools.process_limits import lower

T = TypeVar("T")


class NotRead(Exception):
    """The work gave nothing; `why` is what it said, or None where it did not come to an end within its bounds."""

    def __init__(self, why: str | None) -> None:
        super().__init__(why or "it did not come to an end")
        self.why = why


MOST_SECONDS = 10
"""Of computing, for one text; most take a tenth of one."""
_MOST_MEMORY = 2 * 1024**3


async def work_apart(work: Callable[[str], T], text: str, *, seconds: int = MOST_SECONDS) -> T:
    """What a function makes of a text. Stopped with the task that waits for it.

    Args:
        work: A function of a module; what it returns must be JSON.
        text: What it works on.
        seconds: Of computing that it may take.

    Raises:
        NotRead: It says why not (ValueError, OSError), or did not come to an end.
    """
    words = (str(seconds), work.__module__, work.__name__)
    answer = await ask(__name__, *words, text=text.encode("utf-8", "replace"))
    return _understood(answer.said)


def _understood(written: bytes) -> Any:
    try:
        told = orjson.loads(written)
    except orjson.JSONDecodeError:
        raise NotRead(None) from None
    if "unfit" in told:
        raise NotRead(told["unfit"])
    return told["read"]


def main() -> None:  # pragma: no cover - in the child, where nobody measures
    """The child: reads one text from its input, and writes what was made of it."""
    _, seconds, module, name = sys.argv
    answers = only_answers()
    reader = getattr(importlib.import_module(module), name)
    lower({resource.RLIMIT_AS: _MOST_MEMORY, resource.RLIMIT_CPU: int(seconds), resource.RLIMIT_CORE: 0})
    try:
        told = {"read": reader(sys.stdin.buffer.read().decode("utf-8", "replace"))}
    except (ValueError, OSError) as error:
        told = {"unfit": str(error)}
    with answers:
        answers.write(orjson.dumps(told))
