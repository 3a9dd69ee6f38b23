"""Libraries: a built-in tool imports what is installed, and nothing from where tools may write.

Libraries are imported when a tool first needs them. A program that was started in its project has that directory first
among the places to import from, and it is mostly the working directory: what a tool wrote there a moment ago must not
be taken for a library. What Callgate runs from is read-only to tools, and counts as installed wherever it is.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from callgate.model.grounds import Grounds
from callgate.model.tool import Handler
from callgate.policy.own_code import own_code
from callgate.policy.ways import is_inside

_OWN = os.path.realpath(Path(__file__).parents[2])
_grounds: ContextVar[Callable[[], Grounds] | None] = ContextVar("callgate_grounds_of_builtin", default=None)


def places() -> list[str]:
    """Where to import from inside a built-in tool: as everywhere, without where tools may write, and over no links."""
    return out_of_reach(sys.path)


def out_of_reach(named: Iterable[str]) -> list[str]:
    """Those of these places where no tool may write, without the links on the way to them."""
    asked = _grounds.get()
    grounds = None if asked is None else asked()
    writable = (os.sep,) if grounds is None else (*grounds.roots, *grounds.others)
    kept = (*(own_code() if grounds is None else grounds.code), _OWN)
    real = dict.fromkeys(os.path.realpath(place) for place in named if os.path.isabs(place))  # noqa: PTH117
    return [place for place in real if _is_kept(place, writable, kept=kept)]


def find_library(module: str) -> ModuleSpec | None:
    """A library as an import here would find it, without importing it; None where it is not installed.

    Inside a built-in tool Python's own question never ends in None: what is not installed is an error of the import.
    """
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def from_installed_only(handler: Handler, *, is_async: bool) -> Handler:
    """The handler, with whatever it imports taken from what is installed."""
    _watch_imports()
    if is_async:

        @functools.wraps(handler)
        async def waited(arguments: Any, context: Any) -> Any:
            token = _grounds.set(context.grounds)
            try:
                return await handler(arguments, context)
            finally:
                _grounds.reset(token)

        return waited

    @functools.wraps(handler)
    def run(arguments: Any, context: Any) -> Any:
        token = _grounds.set(context.grounds)
        try:
            return handler(arguments, context)
        finally:
            _grounds.reset(token)

    return run


class _InstalledOnly(MetaPathFinder):
    """Finds modules for whoever is inside a built-in tool; everybody else goes on as without it."""

    def find_spec(  # noqa: PLR0917 - as its port has it
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Where a module of its own lies; parts of packages come from their package."""
        if _grounds.get() is None or path is not None:
            return None
        spec = PathFinder.find_spec(fullname, places(), target)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {fullname!r} is installed", name=fullname)
        return spec


_FINDER = _InstalledOnly()


def _watch_imports() -> None:
    """Stand right before whoever looks through the places of `sys.path`."""
    if _FINDER not in sys.meta_path:
        at = next((place for place, finder in enumerate(sys.meta_path) if finder is PathFinder), len(sys.meta_path))
        sys.meta_path.insert(at, _FINDER)


def _is_kept(place: str, writable: Sequence[str], *, kept: Sequence[str]) -> bool:
    if any(is_inside(place, each) for each in kept):
        return True
    return not any(is_inside(place, root) for root in writable)
