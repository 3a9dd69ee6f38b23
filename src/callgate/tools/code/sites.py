"""Sites: where a program works, looked at when it is its turn, and only if that is still what it was called for.

While a call waits for its turn another program runs, and may put a link where a directory or a file was. What was found
before counts for nothing then: where the call may go, and where its paths lead, is found and judged again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from callgate.model.grounds import Grounds
from callgate.model.tool_context import ToolContext
from callgate.policy.ways import is_inside
from callgate.tools.code.alone import alone
from callgate.tools.code.enclosure import granted

_RESERVE_SECONDS = 3.0
"""Kept of a call's own time: who gets a turn has to be able to use it, and who gets none to say so."""
_LOOKS_SECONDS = 5.0
"""How long a preview waits: it has a few seconds, and is not told how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where one program works."""

    grounds: Grounds = field(compare=False)
    roots: tuple[str, ...]
    """The real directories that it may be handed."""
    directory: str
    """The real one it is started in."""
    place: str
    """The real path it is about."""


@contextlib.asynccontextmanager
async def in_turn(look: Callable[[], Site], ctx: ToolContext) -> AsyncGenerator[Site]:
    """Wait until no other program runs, and keep others waiting; what is to be touched is looked at then.

    Args:
        look: Finds and judges it; asked when the call comes, and again when it is its turn.
        ctx: The call, which waits for as long as it can still tell that it did.

    Raises:
        AnotherRuns: It has waited for so long; nothing was done.
        PermissionError: It is another place now.
    """
    called_for = look()
    async with alone(until=_until(ctx)):
        now = look()
        if now != called_for:
            what = f"the call was for {called_for.place}, and while it waited for another program to end that became"
            raise PermissionError(f"{what} {now.place} (granted: {', '.join(now.roots)}); look there, and call again")
        yield now


def _until(ctx: ToolContext) -> float | None:
    if ctx.only_reads:
        return time.monotonic() + _LOOKS_SECONDS
    return None if ctx.deadline is None else ctx.deadline - _RESERVE_SECONDS


def look_around(ctx: ToolContext, path: str | None, *, name: str) -> Site:
    """Where a program works that is about a directory.

    Args:
        ctx: The call.
        path: The directory, if the call names one.
        name: Of the argument that does.

    Raises:
        PermissionError: It is none that the program is given.
        ValueError: There is no such directory.
    """
    grounds = ctx.grounds()
    roots = granted(grounds)
    place = real_place(grounds, path or ".", roots=roots, name=name)
    if not os.path.isdir(place):  # noqa: PTH112 - a text all along
        raise ValueError(f"{name} {place} is no directory; name one that exists")
    if path is not None:
        refuse_unfit(grounds, place)
    return Site(grounds=grounds, roots=roots, directory=place, place=place)


def real_place(grounds: Grounds, path: str, *, roots: tuple[str, ...], name: str, base: str = "") -> str:
    """Where a path leads from a directory, else from the working directory, links followed.

    Raises:
        PermissionError: It leads out of what is granted.
    """
    place = os.path.realpath(os.path.join(base or grounds.directory, path))  # noqa: PTH118 - a text all along
    if not any(is_inside(place, root) for root in roots):
        raise PermissionError(f"{name} {place} is outside of what is granted: {', '.join(roots)}")
    return place


def refuse_unfit(grounds: Grounds, place: str) -> None:
    """Judge a real path that a call names by the rules that judged the call.

    Raises:
        PermissionError: The call may not touch it.
    """
    refused = grounds.path_refused(place, os.lstat(place))
    if refused is not None:
        raise PermissionError(refused)
