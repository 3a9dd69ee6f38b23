"""Analysis: which calls of a chain wait for which: by the values they take, and by what their tools change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from callgate.errors import InvalidArguments
from callgate.flows.chain.faults import ChainRefused, Diagnostic
from callgate.flows.chain.script import Script, Written
from callgate.flows.chain.values import Value, look_up
from callgate.flows.waves import Waves, footprint, in_waves, one_by_one
from callgate.model.tool import Tool

MOST_ANALYSED = 200
"""Calls; a longer chain is made in sequence."""


class Link(NamedTuple):
    """One call of a chain, with its tool."""

    written: Written
    tool: Tool
    arguments: tuple[tuple[str, Value], ...]


class Analysis(NamedTuple):
    """A chain that can be made."""

    links: tuple[Link, ...]
    waves: Waves
    fallback: str | None = None
    """Why it is made in sequence although waves were asked for."""


def link(script: Script, find: Callable[[str], Tool | None]) -> tuple[Link, ...]:
    """The calls with their tools and the names of their arguments.

    Raises:
        ChainRefused: A tool is unknown, or arguments do not fit; every fault with its place.
    """
    links: list[Link] = []
    faults: list[Diagnostic] = []
    for call in script.calls:
        tool = find(call.tool)
        if tool is None:
            faults.append(_at(call, f"Unknown tool: {call.tool}"))
            continue
        try:
            links.append(Link(call, tool, tuple(_arguments(call, tool))))
            faults += _misfits(links[-1])
        except ChainRefused as refused:
            faults += refused.diagnostics
    if faults:
        raise ChainRefused(*faults)
    return tuple(links)


def in_sequence(links: Iterable[Link]) -> Analysis:
    """One call after the other, as they are written."""
    calls = tuple(links)
    return Analysis(calls, one_by_one([range(len(calls))]))


def analyse(links: Iterable[Link], *, parallel_mutations: bool) -> Analysis:
    """The calls in waves: a call waits for the results it takes, and for effects it must not overtake."""
    calls = tuple(links)
    if len(calls) > MOST_ANALYSED:
        why = f"a chain of {len(calls)} calls is too long to be analysed; {MOST_ANALYSED} is the most"
        return in_sequence(calls)._replace(fallback=why)
    waves = in_waves(
        (footprint(each.tool) for each in calls),
        needs=[each.written.needs for each in calls],
        parallel_mutations=parallel_mutations,
    )
    return Analysis(calls, waves)


def _arguments(call: Written, tool: Tool) -> Iterator[tuple[str, Value]]:
    """The arguments by name: those given by position have the names of the schema, in its order."""
    schema: dict[str, Value] = tool.input_schema.get("properties") or {}
    names = list(schema)
    if len(call.positional) > len(names):
        taken = f"at most {len(names)} arguments" if names else "no arguments"
        raise ChainRefused(_at(call, f"{call.tool} takes {taken}, and {len(call.positional)} are given by position"))
    placed: dict[str, Value] = dict(zip(names, call.positional, strict=False))
    for name, value in call.named:
        if name in placed:
            raise ChainRefused(_at(call, f"the argument {name} of {call.tool} is given twice"))
        placed[name] = value
    yield from placed.items()


def _misfits(made: Link) -> Iterator[Diagnostic]:
    """What does not fit the schema of arguments that are all written down: that is known before anything runs."""
    if made.written.needs:
        return
    try:
        made.tool.validator({name: look_up(value, {}) for name, value in made.arguments})
    except InvalidArguments as error:
        yield from (_at(made.written, fault) for fault in error.faults)
    except LookupError as error:
        yield _at(made.written, str(error))


def _at(call: Written, message: str) -> Diagnostic:
    return Diagnostic(call.line, call.column, message)
