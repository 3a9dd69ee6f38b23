"""Waves: which calls may run together and which wait, by what their tools declare. Pure; makes no call.

Calls of one wave may overlap; a wave begins when the one before has ended. Two calls keep their order unless it is
known that it does not matter: what is not declared is assumed worst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from callgate.model.levels import Effect
from callgate.model.tool import Tool

Waves = tuple[tuple[int, ...], ...]
"""Places of calls, wave by wave; inside a wave in the order of the calls."""

_REMOTE = frozenset({Effect.READ_ONLY, Effect.NETWORK_ACCESS, Effect.CALLS_LLM})


class Footprint(NamedTuple):
    """What a call may meet of other calls, as its tool declares it."""

    writes: bool = True
    safe: bool = False
    """Whether it may overlap with others at all."""
    connector: str | None = None
    """The one outside system it touches; None: it may be anything."""


NOTHING = Footprint(writes=False, safe=True, connector="")
"""Of a call that cannot run: no tool has its name, or it is no call."""


def footprint(tool: Tool | None) -> Footprint:
    """What a call of this tool may meet; None is a tool that nobody knows, and which therefore touches nothing."""
    if tool is None:
        return NOTHING
    # A tool without a connector has its own name for one, which says nothing about where its effects go.
    named = tool.connector if tool.connector != tool.name else ""
    beyond = bool(named) and bool(tool.effects) and tool.effects <= _REMOTE
    return Footprint(not tool.read_only, tool.concurrency_safe, named if beyond else None)


def in_waves(
    calls: Iterable[Footprint], *, needs: Sequence[Iterable[int]] | None = None, parallel_mutations: bool = True
) -> Waves:
    """The calls in waves: each as early as the calls before it let it.

    Args:
        calls: What each call may meet, in their order.
        needs: For each call the places of earlier calls whose results it takes.
        parallel_mutations: Whether calls that change something may share a wave where their tools allow it.
    """
    latest: dict[Footprint, int] = {}
    waves: list[list[int]] = []
    placed: list[int] = []
    for place, call in enumerate(calls):
        wave = max(
            (
                after + 1
                for other, after in latest.items()
                if in_order(other, call, parallel_mutations=parallel_mutations)
            ),
            default=0,
        )
        if needs is not None:
            wave = max(wave, *(placed[need] + 1 for need in needs[place]), 0)
        if wave == len(waves):
            waves.append([])
        waves[wave].append(place)
        placed.append(wave)
        latest[call] = max(wave, latest.get(call, 0))
    return tuple(map(tuple, waves))


def in_order(first: Footprint, second: Footprint, *, parallel_mutations: bool = True) -> bool:
    """Whether the second has to wait for the first."""
    if NOTHING in (first, second):
        return False
    if not (first.safe or second.safe):
        return True
    if not (first.writes or second.writes):
        return False
    if first.writes and second.writes and not parallel_mutations:
        return True
    both_say_so = first.writes and second.writes and first.safe and second.safe
    return not both_say_so and _may_meet(first, second)


def _may_meet(first: Footprint, second: Footprint) -> bool:
    """Whether both may be about the same thing: only two systems that are both known keep them apart."""
    return first.connector is None or second.connector is None or first.connector == second.connector


def one_by_one(waves: Iterable[Iterable[int]]) -> Waves:
    """The same order with nothing overlapping."""
    return tuple((place,) for wave in waves for place in wave)


def wave_of(waves: Waves) -> dict[int, int]:
    """The number of the wave that each place is in, from 0."""
    return {place: number for number, wave in enumerate(waves) for place in wave}


def must_follow(waves: Waves) -> Callable[[int], list[int]]:
    """For a place, the earlier calls that have to be made before it: those before it in the list, in earlier waves."""
    number = wave_of(waves)
    return lambda place: [other for other in range(place) if number[other] < number[place]]
