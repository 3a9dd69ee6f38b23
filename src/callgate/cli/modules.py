"""Importing the modules that hold tools: by name, or by file. What goes wrong in them is told in one line."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from callgate.cli.trouble import wrong
from callgate.errors import ConfigurationError

_SUFFIX = ".py"


def load_modules(names: Iterable[str]) -> list[ModuleType]:
    """Import each module once.

    Raises:
        ConfigurationError: One of them cannot be imported.
    """
    _see(Path.cwd())
    found: dict[int, ModuleType] = {}
    for name in names:
        module = _load(name)
        found.setdefault(id(module), module)
    return list(found.values())


def _see(folder: Path) -> None:
    """Find modules in a folder, behind everything installed: no file in it takes the place of a library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _load(name: str) -> ModuleType:
    try:
        return _load_file(Path(name)) if name.endswith(_SUFFIX) else importlib.import_module(name)
    except ConfigurationError:
        raise
    except ModuleNotFoundError as error:
        if error.name == name:
            wrong(f"there is no module {name} here or installed; --module takes a module's name or a {_SUFFIX} file")
        _failed(name, error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module does when it is imported
        _failed(name, error)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        wrong(f"there is no file {path} to take tools from")
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if known.__file__ and Path(known.__file__).resolve() == path.resolve():
            return known
        wrong(f"{path} cannot be imported as {name}: a module of that name is loaded already; rename the file")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        wrong(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Known by its name, as if it had been imported: what it defines is found again from another process.
    sys.modules[name] = module
    _see(path.resolve().parent)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _failed(name: str, error: BaseException) -> NoReturn:
    wrong(f"the module {name} cannot be imported: {type(error).__name__}: {error}")
