"""Batch: several calls at once; answers in order, one failure never another's.

They are made wave by wave: what may overlap does, what may not waits its turn. Knows only how to make one call.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from callgate.flows.waves import NOTHING, Footprint, Waves, in_waves
from callgate.model.call import Call
from callgate.model.outcome import Outcome
from callgate.model.shapes import as_mapping

T = TypeVar("T")
MakeCall = Callable[[Call], Awaitable[Outcome]]
Refuse = Callable[[Any, str], Awaitable[Outcome]]
"""Refuses an element that is no call, saying why."""


class Malformed(ValueError):
    """An element of a batch is no call."""


class Unreadable(NamedTuple):
    """An element that is known to be no call: it gets its own refusal, in its place among the others."""

    tool: str
    fault: str
    id: str | None = None


class Readable(NamedTuple):
    """The elements of a batch, read: a call, or why it is none, each in its place."""

    items: Sequence[Any]
    calls: list[Call | Malformed]

    def footprints(self, find: Callable[[str], Footprint]) -> Iterable[Footprint]:
        """What each call may meet; an element that is no call meets nothing."""
        return (NOTHING if isinstance(call, Malformed) else find(call.tool) for call in self.calls)

    async def make(self, place: int, make: MakeCall, refuse: Refuse) -> Outcome:  # noqa: PLR0917 - which, and how
        """Make one of them, or refuse it as what it is."""
        call = self.calls[place]
        return await refuse(self.items[place], str(call)) if isinstance(call, Malformed) else await make(call)


def read(items: Sequence[Any]) -> Readable:
    """The elements of a batch as calls."""
    return Readable(items, [_read(item) for item in items])


def _read(item: Any) -> Call | Malformed:
    try:
        return as_call(item)
    except Malformed as error:
        return error


async def run_batch(
    calls: Sequence[Any], *, make: MakeCall, malformed: Refuse, find: Callable[[str], Footprint], at_once: int
) -> list[tuple[str, Outcome]]:
    """Make every call; (id, outcome) pairs in the order of the calls."""
    batch = read(calls)
    waves = in_waves(batch.footprints(find))
    outcomes = await run_waves(waves, lambda place: batch.make(place, make, malformed), at_once=at_once)
    return list(zip(call_ids(calls), outcomes, strict=True))


async def run_waves(waves: Waves, make: Callable[[int], Awaitable[T]], *, at_once: int) -> list[T]:
    """What `make` gives for every place, in the order of the places, at most `at_once` at a time."""
    found: dict[int, T | BaseException] = {}
    for wave in waves:
        found |= await run_wave(wave, make, at_once=at_once)
    return [_given(found[place]) for place in range(len(found))]


async def run_wave(
    wave: Sequence[int], make: Callable[[int], Awaitable[T]], *, at_once: int
) -> dict[int, T | BaseException]:
    """What `make` gives for each place of one wave, or raises: nothing keeps the others from their end."""
    found: dict[int, T | BaseException] = {}
    waiting = iter(wave)

    async def work() -> None:
        for place in waiting:
            try:
                found[place] = await make(place)
            except Exception as error:  # noqa: BLE001 - raised again once the others have ended
                found[place] = error

    workers = min(at_once, len(wave))
    if workers == 1:
        await work()
    else:
        for ended in await asyncio.gather(*(work() for _ in range(workers)), return_exceptions=True):
            _given(ended)
    return found


def _given(found: T | BaseException) -> T:
    if isinstance(found, BaseException):
        raise found
    return found


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
    given = [given_id(item) for item in calls]
    taken = {each for each in given if each is not None}
    seen: set[str] = set()
    ids: list[str] = []
    for index, own in enumerate(given):
        base = own if own is not None else _free(f"batch_{index}", taken)
        name = base if base not in seen else _free(base, seen | taken)
        seen.add(name)
        ids.append(name)
    return ids


def given_id(item: Any) -> str | None:
    """The id that an element brings, be it a call or not; None if it has none."""
    body = as_mapping(item)
    own: Any = getattr(item, "id", None) if body is None else body.get("id")
    return own if isinstance(own, str) and own else None


def _free(name: str, taken: set[str]) -> str:
    copies = (f"{name}#{copy}" for copy in itertools.count(2))
    return name if name not in taken else next(copy for copy in copies if copy not in taken)
