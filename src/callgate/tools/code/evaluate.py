"""python_eval: Python in Monty, an interpreter that has no files, no sockets, no environment and no packages."""

from __future__ import annotations

import math
import time
from typing import Annotated, Any, cast

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

MOST_SOURCE = 100_000
_SECONDS = 10.0
_MEMORY = 128 * 1024**2
_RECURSION = 200
_PRINTED = 100_000
_DEEPEST = 50
_MOST_ITEMS = 100_000
_MOST_TEXT = 1_000_000
_LARGEST = 2**63
_OUT_OF_BOUNDS = ("TimeoutError: feed time", "MemoryError", "RecursionError", "RuntimeError: suspension")

_Source = Annotated[str, Field(min_length=1, max_length=MOST_SOURCE, json_schema_extra={"format": "python"})]


@tool(
    effects="read_only",
    scopes=["compute:run"],
    deterministic=False,
    idempotent=True,
    concurrency_safe=True,
    timeout=30,
    output_schema={},
    examples=[{"expression": "sum(range(100))"}, {"expression": "a * b", "variables": {"a": 6, "b": 7}}],
)
def python_eval(expression: _Source, *, ctx: ToolContext, variables: dict[str, Any] | None = None) -> Any:
    """Evaluate Python, an expression or several lines, and give the value of its last line (or what it printed).

    It runs in an interpreter of its own: no files, no network, no packages beside a few of the standard library.

    Args:
        expression: The Python code.
        ctx: The call.
        variables: Values it can use, by name.
    """
    import pydantic_monty as monty  # noqa: PLC0415 - an extra

    names = variables or {}
    _refuse_names(names)
    left = ctx.remaining(time.monotonic())
    printed = monty.CollectString(max_bytes=_PRINTED)
    seconds = _SECONDS if left is None else max(0.1, min(_SECONDS, left - 2))
    try:
        # An interpreter of its own per call: nothing of one call can be met by another.
        with monty.Monty(min_processes=1, max_processes=1) as pool, _session(pool, seconds) as session:
            value = session.feed_run(expression, inputs=names, print_callback=printed)
    except monty.MontyError as error:
        raise _told(error) from None
    if value is None and printed.output:
        return printed.output
    return _plain(value)


def _session(pool: Any, seconds: float) -> Any:
    return pool.checkout(
        script_name="expression.py",
        limits={"max_feed_duration_secs": seconds, "max_memory": _MEMORY, "max_recursion_depth": _RECURSION},
        os_policy={"sleep": "zero"},
    )


def _refuse_names(variables: dict[str, Any]) -> None:
    for name in variables:
        if not name.isidentifier() or name.startswith("__"):
            raise ValueError(f"variables: {name[:50]!r} is no name that Python code can use; rename it")


def _told(error: Any) -> Exception:
    display = getattr(error, "display", None)
    said = str(error)
    if display is not None:
        try:
            said = display("type-msg")
        except TypeError:
            said = display()
    if any(said.startswith(bound) for bound in _OUT_OF_BOUNDS) or type(error).__name__ == "MontyCrashedError":
        return ValueError(f"expression used more time, memory or depth than it may: {said[:300]}")
    return ValueError(f"expression failed: {said[:1000]}")


class _Room:
    def __init__(self) -> None:
        self.items = _MOST_ITEMS
        self.text = _MOST_TEXT


def _plain(value: Any, *, depth: int = 0, room: _Room | None = None) -> Any:
    """A value as JSON has it.

    Raises:
        ValueError: JSON has none of its kind, or it is too large.
    """
    room = room or _Room()
    room.items -= 1
    room.text -= len(value) if isinstance(value, str) else 0
    if depth > _DEEPEST or room.items < 0 or room.text < 0:
        raise ValueError("expression gives a value that is too large; give a part of it, or a summary")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {_key(key): _plain(item, depth=depth + 1, room=room) for key, item in pairs}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, depth=depth + 1, room=room) for item in cast("list[Any]", value)]
    raise ValueError(f"expression gives a {type(value).__name__}, which JSON has not; give str(…) or list(…) of it")


def _number(value: float) -> Any:
    if isinstance(value, int):
        # Larger ones are no numbers for most who read JSON; as a text they stay exact.
        return value if -_LARGEST <= value < _LARGEST else str(value)
    return value if math.isfinite(value) else str(value)


def _key(key: Any) -> str:
    if isinstance(key, (str, int, float)) or key is None:
        return key if isinstance(key, str) else str(key)
    raise ValueError(f"expression gives a mapping with a {type(key).__name__} as a key; turn its keys into texts")
