"""Batch: several calls at once; answers in order, one failure never another's.

Calls of tools that are not concurrency-safe do not overlap. Knows only how to make one call.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from callgate.model.call import Call
from callgate.model.outcome import Outcome
from callgate.model.shapes import as_mapping

MakeCall = Callable[[Call], Awaitable[Outcome]]
IsSafe = Callable[[str], bool]
_AT_ONCE = 64


class Malformed(ValueError):
    """An element of a batch is no call."""


class Unreadable(NamedTuple):
    """An element that is known to be no call: it gets its own refusal, in its place among the others."""

    tool: str
    fault: str
    id: str | None = None


async def run_batch(
    calls: Sequence[Any], *, make: MakeCall, malformed: Callable[[Any, str], Awaitable[Outcome]], is_safe: IsSafe
) -> list[tuple[str, Outcome]]:
    """Make every call; (id, outcome) pairs in the order of the calls."""
    ids = call_ids(calls)
    alone = asyncio.Lock()
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(item: Any) -> Outcome:
        try:
            call = as_call(item)
        except Malformed as error:
            return await malformed(item, str(error))
        if is_safe(call.tool):
            async with places:
                return await make(call)
        async with alone:
            return await make(call)

    outcomes = await asyncio.gather(*(one(item) for item in calls))
    return list(zip(ids, outcomes, strict=True))


def as_call(item: Any) -> Call:
    """A call from a Call or from the mapping a model wrote.

    Raises:
        Malformed: Saying what is missing or mistyped.
    """
    if isinstance(item, Unreadable):
        raise Malformed(item.fault)
    if isinstance(item, Call):
        body: Mapping[Any, Any] | None = {"name": item.tool, "arguments": item.arguments}
    else:
        body = as_mapping(item)
    if body is None:
        raise Malformed(f"a call must be a Call or an object with name and arguments, not {type(item).__name__}")
    name: Any = body.get("name", body.get("tool"))
    arguments: Any = body.get("arguments")
    if not isinstance(name, str) or not name:
        raise Malformed("the call has no tool name")
    if not isinstance(arguments, Mapping):
        raise Malformed(f"arguments of {name} must be an object, not {type(arguments).__name__}")
    if isinstance(item, Call):
        return item
    return Call(name, cast("Mapping[str, Any]", arguments), id=body.get("id"), key=body.get("key"))


def call_ids(calls: Sequence[Any]) -> list[str]:
    """One id per call: its own, else `batch_<index>`; a repeated one is told apart, never two results under one id."""
    given = [_given_id(item) for item in calls]
    taken = {each for each in given if each is not None}
    seen: set[str] = set()
    ids: list[str] = []
    for index, own in enumerate(given):
        base = own if own is not None else _free(f"batch_{index}", taken)
        name = base if base not in seen else _free(base, seen | taken)
        seen.add(name)
        ids.append(name)
    return ids


def _given_id(item: Any) -> str | None:
    body = as_mapping(item)
    own: Any = getattr(item, "id", None) if body is None else body.get("id")
    return own if isinstance(own, str) and own else None


def _free(name: str, taken: set[str]) -> str:
    copies = (f"{name}#{copy}" for copy in itertools.count(2))
    return name if name not in taken else next(copy for copy in copies if copy not in taken)
