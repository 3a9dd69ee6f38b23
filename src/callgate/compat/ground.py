"""What a call brings with it, over the context of whoever makes calls for it: together they may do what both may."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from callgate.model.context import Context
from callgate.model.levels import Autonomy


def in_directory(ground: Context, directory: str | None) -> Context:
    """The same in this directory; what is granted in the ground's own bounds it as well."""
    if directory is None or directory == ground.working_directory:
        return ground
    # Granted paths may be relative: in another directory they lead to others.
    above = () if ground.working_directory is None else (ground.working_directory,)
    return replace(ground, working_directory=directory, outer_directories=(*ground.outer_directories, *above))


def with_scopes(ground: Context, granted: Iterable[str] | None) -> Context:
    """The same with those of these scopes that the ground has as well."""
    if granted is None:
        return ground
    scopes = frozenset(granted)
    return replace(ground, scopes=scopes if ground.scopes is None else scopes & ground.scopes)


def with_autonomy(ground: Context, level: Autonomy | None) -> Context:
    """The same at this level, or at the ground's own where that is less."""
    levels = [each for each in (level, ground.autonomy) if each is not None]
    return replace(ground, autonomy=min(levels, default=None))


def with_time_limit(ground: Context, seconds: float) -> Context:
    """The same with this cap, or the ground's own where that is less."""
    return replace(ground, timeout=seconds if ground.timeout is None else min(seconds, ground.timeout))
