"""Code: a plugin's modules, run from a snapshot under names nobody else has. Two loadings never meet.

Nothing is put on `sys.path`, no cache of bytecode is read or written, and what runs is exactly what was read. The names
are given back when nothing uses the code any more, so that a call in flight finishes on what it began with.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import TypeVar

from callgate.adapters.plugins.snapshot import Snapshot
from callgate.errors import ConfigurationError
from callgate.model.visible import cut

T = TypeVar("T")
IMPORT_SECONDS = 10.0
"""How long the modules of one tool may take to be imported."""
_PREFIX = "_callgate_plugin_"
_numbers = itertools.count(1)


class Code:
    """The code of one loading of a plugin. Keep it for as long as one of its functions may run."""

    def __init__(self, name: str, snapshot: Snapshot) -> None:
        self.package = f"{_PREFIX}{name}_{next(_numbers)}"
        """The private name its modules live under."""
        self.snapshot = snapshot
        self._faults: dict[str, str] = {}
        """What went wrong, by module: a module that hangs or raises does so once, and not for every tool."""
        _live[self.package] = self
        weakref.finalize(self, _forget, self.package)
        if _finder not in sys.meta_path:
            sys.meta_path.append(_finder)

    def module(self, name: str, *, seconds: float = IMPORT_SECONDS) -> ModuleType:
        """A module of the plugin, imported now if it was not yet.

        Raises:
            ConfigurationError: There is none, it raises, or it takes too long; says which file.
        """
        name = self._inner(name)
        place = self._place(name)
        if place is None:
            message = f"there is no {name.replace('.', '/')}.py in the plugin's folder; code outside of it is not run"
            raise ConfigurationError(message)
        if name in self._faults:
            raise ConfigurationError(self._faults[name])
        try:
            return self._import(self.package if name == "__init__" else f"{self.package}.{name}", seconds=seconds)
        except ConfigurationError as error:
            self._faults[name] = f"{place} {error}"
            raise ConfigurationError(self._faults[name]) from None

    def _import(self, whole: str, *, seconds: float) -> ModuleType:
        module, raised = _bounded(lambda: importlib.import_module(whole), seconds=seconds)
        if isinstance(raised, ModuleNotFoundError):
            raise ConfigurationError(f"cannot be imported: {self._advice(raised)}")
        if raised is not None:
            raise ConfigurationError(f"cannot be imported: {_told(raised)}")
        if module is None:
            raise ConfigurationError(f"did not finish importing within {seconds:g} s")
        return module

    def find(self, name: str) -> tuple[str, bool] | None:
        """The file of a module of the package, and whether it is a package itself; None for no such module."""
        inner = name.removeprefix(self.package).removeprefix(".").replace(".", "/")
        package = f"{inner}/__init__.py".removeprefix("/")
        if package in self.snapshot.code:
            return package, True
        if inner and f"{inner}.py" in self.snapshot.code:
            return f"{inner}.py", False
        # A folder of code without a file of its own, as Python has it.
        is_folder = not inner or any(place.startswith(f"{inner}/") for place in self.snapshot.code)
        return ("", True) if is_folder else None

    def _inner(self, name: str) -> str:
        """The name inside the folder: whoever counts from further outside means the folder itself by its own path."""
        parts, folder = name.split("."), self.snapshot.path.parts
        if self._place(name) is None:
            for length in range(len(parts), 0, -1):
                if folder[-length:] == tuple(parts[:length]):
                    return ".".join(parts[length:]) or "__init__"
        return name

    def _place(self, name: str) -> str | None:
        found = self.find(self.package if name == "__init__" else f"{self.package}.{name}")
        return None if found is None or not found[0] else found[0]

    def _advice(self, error: ModuleNotFoundError) -> str:
        name = str(error.name or "").partition(".")[0]
        if self.find(f"{self.package}.{name}") is not None:
            return f"a plugin's own modules are imported relatively: from . import {name}"
        return _told(error)


class _Finder(MetaPathFinder):
    """Finds the modules of plugins that are alive, and nothing else."""

    def find_spec(  # noqa: PLR0917 - Python's own signature
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        code = _live.get(fullname.partition(".")[0]) if fullname.startswith(_PREFIX) else None
        found = None if code is None else code.find(fullname)
        if code is None or found is None:
            return None
        place, is_package = found
        origin = str(code.snapshot.path / place)
        # The loader knows its own bytes alone: through it, a module must not keep the whole code alive.
        loader = _Loader(code.snapshot.code.get(place, b""), origin, is_package=is_package)
        spec = ModuleSpec(fullname, loader, origin=origin, is_package=is_package)
        spec.has_location = bool(place)
        return spec


class _Loader(InspectLoader):
    """Runs one module from bytes."""

    def __init__(self, content: bytes, origin: str, *, is_package: bool) -> None:
        self._content = content
        self._origin = origin
        self._is_package = is_package

    def is_package(self, fullname: str) -> bool:
        del fullname
        return self._is_package

    def get_source(self, fullname: str) -> str:
        del fullname
        return importlib.util.decode_source(self._content)

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return compile(self._content, self._origin, "exec", dont_inherit=True)


def _bounded(work: Callable[[], T], *, seconds: float) -> tuple[T | None, BaseException | None]:
    """Run work on a thread that the end of the process does not wait for: its result, or what it raised.

    Neither, if it is not done in time; it may go on then, and nobody looks at it any more.
    """
    done: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - whatever a module does when it is imported, SystemExit included
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True, name="callgate-plugin-import")
    thread.start()
    thread.join(seconds)
    return (done[0] if done else None), (raised[0] if raised else None)


def _forget(package: str) -> None:
    for name in [name for name in list(sys.modules) if name == package or name.startswith(f"{package}.")]:
        sys.modules.pop(name, None)


def _told(error: BaseException) -> str:
    line = cut((str(error).splitlines() or [""])[0], 300)
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


_live: weakref.WeakValueDictionary[str, Code] = weakref.WeakValueDictionary()
_finder = _Finder()
