"""Resolve: where a name in Python leads, by jedi. Runs in a process apart.

Jedi reads sources and runs none, but it would load compiled modules, keep pickles in a home directory, and start
interpreters it finds. None of that is done here: a hook of Python's own refuses to run or open anything that is neither
installed nor a source of the project.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import CodeType
from typing import Any

_REFUSED = (
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.system",
    "os.spawn",
    "socket.",
    "ctypes.",
    "pty.",
)
_walls: list[_Walls] = []


def resolve(request: dict[str, Any]) -> list[dict[str, Any]]:  # pragma: no cover - in the child, where nobody measures
    """Where the name at a place of a source is defined.

    Args:
        request: `root` of the project and what in it is `closed`; `path` of a source in it or the `code` itself; `line`
            and `column` of the name.
    """
    _enclose(request["root"], request["closed"])
    jedi: Any = importlib.import_module("jedi")  # an extra, and without types
    environment: Any = importlib.import_module("jedi.api.environment")
    _without_pickles()
    project = jedi.Project(request["root"], sys_path=[request["root"]], smart_sys_path=False)
    path = request.get("path")
    script = jedi.Script(
        code=request.get("code"),
        path=None if path is None else os.path.join(request["root"], path),  # noqa: PTH118 - a text all along
        project=project,
        environment=environment.InterpreterEnvironment(),  # this process: no other is started
    )
    try:
        found: list[Any] = script.goto(request["line"], request["column"], follow_imports=True)
    except Exception:  # noqa: BLE001 - what a library of guesses stumbles over is no answer
        return []
    return [_told(each, request["root"]) for each in found if each.module_path is not None and each.line is not None]


def _told(name: Any, root: str) -> dict[str, Any]:  # pragma: no cover - as above
    path = os.path.relpath(os.path.realpath(name.module_path), root)
    return {"path": path, "line": name.line, "name": name.name, "kind": name.type}


def _without_pickles() -> None:  # pragma: no cover - as above
    """Nothing is read from, or left in, a directory for caches."""
    from parso import cache  # noqa: PLC0415 - comes with jedi

    def nothing(*_: Any, **__: Any) -> None:
        """Neither read nor kept."""

    for name in ("_load_from_file_system", "_save_to_file_system", "_remove_cache_and_update_lock"):
        setattr(cache, name, nothing)


class _Walls:  # pragma: no cover - as above
    """What this process may open and run from now on."""

    def __init__(self, root: str, closed: list[str]) -> None:
        self.root = os.path.join(root, "")  # noqa: PTH118 - a text all along
        self.closed = tuple(closed)
        places = {*sys.path, sys.prefix, sys.base_prefix}
        self.installed = tuple(os.path.realpath(place).rstrip("/") + "/" for place in places)

    def hold(self, event: str, details: tuple[Any, ...]) -> None:
        if event.startswith(_REFUSED):
            raise PermissionError(f"{event} is not for a process that reads sources")
        if event == "open":
            self._may_open(details[0])
        elif event == "exec" and isinstance(details[0], CodeType):
            self._may_run(details[0].co_filename)
        elif event == "import" and details[1]:
            self._may_run(details[1])

    def _may_open(self, path: Any) -> None:
        if isinstance(path, int):
            return
        real = os.path.realpath(os.fsdecode(path))
        inside = real.startswith(self.root) and not any(_is_at(real, each) for each in self.closed)
        if not inside and not real.startswith(self.installed):
            raise PermissionError(f"{real} is neither installed nor a source of the project")

    def _may_run(self, path: Any) -> None:
        real = os.path.realpath(os.fsdecode(path))
        if real.startswith(self.root) and not real.startswith(
            tuple(each for each in self.installed if each.startswith(self.root))
        ):
            raise PermissionError(f"{real} is a source of the project, and is not run")


def _is_at(place: str, closed: str) -> bool:  # pragma: no cover - as above
    return place == closed or place.startswith(closed.rstrip("/") + "/")


def _enclose(root: str, closed: list[str]) -> None:  # pragma: no cover - as above
    """Put up the walls, once: one process answers for one project."""
    if not _walls:
        _walls.append(_Walls(root, closed))
        sys.addaudithook(_walls[0].hold)
