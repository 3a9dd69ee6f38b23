"""Libraries: a built-in tool imports what is installed, and nothing from where tools may write.

Libraries are imported when a tool first needs them. A program that was started in its project has that directory first
among the places to import from, and it is mostly the working directory: what a tool wrote there a moment ago must not
be taken for a library. Directories of installed packages count as installed wherever they are.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from callgate.model.grounds import Grounds
from callgate.model.tool import Handler

_OWN = str(Path(__file__).parents[2])
_INSTALLED = ("site-packages", "dist-packages")
_grounds: ContextVar[Callable[[], Grounds] | None] = ContextVar("callgate_grounds_of_builtin", default=None)


def places() -> list[str]:
    """Where to import from inside a built-in tool: as everywhere, without where tools may write."""
    asked = _grounds.get()
    roots = ("/",) if asked is None else asked().roots
    kept = _of_python()
    return [place for place in sys.path if os.path.isabs(place) and _is_kept(place, roots, kept=kept)]  # noqa: PTH117


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


@functools.cache
def _of_python() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({*(os.path.realpath(sysconfig.get_path(name)) for name in names), os.path.realpath(_OWN)})


def _is_kept(place: str, roots: Sequence[str], *, kept: Sequence[str]) -> bool:
    real = os.path.realpath(place)
    if real.endswith(_INSTALLED) or any(_inside(real, each) for each in kept):
        return True
    return not any(_inside(real, root) for root in roots)


def _inside(place: str, root: str) -> bool:
    return place == root or place.startswith(root.rstrip(os.sep) + os.sep)
