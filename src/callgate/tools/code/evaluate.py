"""python_eval: Python in Monty, an interpreter that has no files, no sockets, no environment and no packages."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import unicodedata
from collections.abc import Generator
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.border import HAND_OVER, RESERVED, UNREAD, Kept, keeping
from callgate.adapters.function import tool
from callgate.adapters.passing import UNSURE, passing
from callgate.adapters.tether import Tether
from callgate.model.grounds import Grounds
from callgate.model.tool_context import ToolContext
from callgate.tools.code.shaping import INPUTS, PRELUDE, shaped
from callgate.tools.programs import find_program

MOST_SOURCE = 100_000
_SECONDS = 10.0
_MEMORY = 128 * 1024**2
_RECURSION = 200
_PRINTED = 100_000
MODULES = (
    *("asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal"),
    *("functools", "hashlib", "itertools", "json", "math", "os", "pathlib", "posixpath", "random", "re", "sys", "time"),
    *("tomllib", "typing", "unicodedata"),
)
"""What the interpreter has of the standard library, each at least in part."""
_ADVICE = {
    "ModuleNotFoundError": f"there are {', '.join(MODULES)}",
    "PermissionError": "there are no files here, and no environment; use a tool for them, and hand in as variables what"
    " it gives",
}
_SAID = {
    "object to bytes": "bytes are made of numbers by bytes.fromhex(''.join(f'{n:02x}' for n in …))",
    "list_iterator": "map, filter, zip, enumerate, reversed and generators can be taken once only; where a list will"
    " do, write list(…) around it",
    "'list' object is not an iterator": "write next(iter(…))",
}
"""What to write instead, by what is said; where two fit, the first."""
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

    It runs in an interpreter of its own: no files, no network, no packages, and of the standard library math, re, json,
    datetime, decimal, itertools, functools, collections, random, csv, hashlib, base64 and a few more.

    Args:
        expression: The Python code.
        ctx: The call.
        variables: Values it can use, by name.
    """
    import pydantic_monty as monty  # noqa: PLC0415 - an extra

    names = variables or {}
    _refuse_names(names)
    once = passing(expression)
    kept = keeping(once.text)
    left = ctx.remaining(time.monotonic())
    program = _monty(ctx.grounds())
    printed = monty.CollectString(max_bytes=_PRINTED)
    seconds = _SECONDS if left is None else max(0.1, min(_SECONDS, left - 2))
    try:
        # An interpreter of its own per call: nothing of one call can be met by another.
        with (
            Tether() as tether,
            _pool(program, tether) as pool,
            _session(pool, seconds) as session,
            _ended_with(ctx, session.worker_pid),
        ):
            tether.tie(session.worker_pid)
            session.feed_start(PRELUDE, inputs=INPUTS)
            _to_end(session.feed_start(kept.text, inputs=names, print_callback=printed))
            if not once.is_sure:
                raise ValueError(f"expression: {UNSURE}")
            value = _value(session, kept)
    except monty.MontyError as error:
        raise _told(error) from None
    return printed.output if value is None and printed.output else value


@contextlib.contextmanager
def _ended_with(ctx: ToolContext, pid: int) -> Generator[None]:
    """End the interpreter when its call is over: nobody waits any more, and it computes on up to its own limit."""

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    ctx.nested.add(end)
    try:
        if ctx.closed:  # it may have been before there was anything to end
            end()
        yield
    finally:
        ctx.nested.discard(end)


def _to_end(at: Any) -> None:
    """Let it go on to its end. It has nothing of the machine and no functions of ours, whatever it calls them with."""
    import pydantic_monty as monty  # noqa: PLC0415 - an extra

    while not isinstance(at, monty.MontyComplete):
        if isinstance(at, monty.NameLookupSnapshot):
            at = at.resume()
        elif at.is_os_function:
            at = at.resume_not_handled()
        else:
            at = at.resume({"exc_type": "NameError", "message": f"name '{at.function_name}' is not defined"})


def _value(session: Any, kept: Kept) -> Any:
    if not kept.is_read:
        raise ValueError(f"expression: {UNREAD}")
    return shaped(session.feed_start(HAND_OVER)) if kept.has_value else None


def _monty(grounds: Grounds) -> str:
    found = find_program("monty", grounds)
    if found is None:
        missing = "monty is not installed beside this Python or on the search path, or only where tools may write"
        raise FileNotFoundError(f"{missing}; install with: pip install 'callgate[code]'")
    return found


def _pool(program: str, tether: Tether) -> Any:
    import pydantic_monty as monty  # noqa: PLC0415 - an extra

    tether.be_inherited()
    return monty.Monty(binary_path=program, min_processes=1, max_processes=1)


def _session(pool: Any, seconds: float) -> Any:
    return pool.checkout(
        script_name="expression.py",
        limits={"max_feed_duration_secs": seconds, "max_memory": _MEMORY, "max_recursion_depth": _RECURSION},
        os_policy={"sleep": "zero"},
    )


def _refuse_names(variables: dict[str, Any]) -> None:
    for name in variables:
        if not name.isidentifier() or unicodedata.normalize("NFKC", name).startswith(("__", RESERVED)):
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
    advice = next((_SAID[part] for part in _SAID if part in said), _ADVICE.get(said.partition(":")[0]))
    return ValueError(f"expression failed: {said[:1000]}{f'; {advice}' if advice else ''}")
