"""Importing the modules that hold tools: by name, or by file. What goes wrong in them is told in one line.

A configuration names only what is installed or lies in its own folder, for a program as for the command line.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from callgate.adapters.convert import offers_tools
from callgate.errors import ConfigurationError
from callgate.skills.finding import part_skills

if TYPE_CHECKING:
    from callgate.settings.values import Settings

_SUFFIX = ".py"


def load_modules(names: Iterable[str], *, folder: Path) -> list[ModuleType]:
    """Import modules; files are in the folder, and names are looked for there last.

    Raises:
        ConfigurationError: One of them cannot be imported.
    """
    return [_load(name, folder) for name in names]


def load_configured(settings: Settings, *, working_directory: Path) -> list[ModuleType]:
    """Import the modules that a configuration names, from beside its file; without a file, from the working directory.

    Raises:
        ConfigurationError: One of them cannot be imported, or leads out of that folder; with file, line and key.
    """
    folder = settings.folder(working_directory)
    found: list[ModuleType] = []
    for at, name in enumerate(settings.modules):
        with placed(settings, f"modules[{at}]"):
            if name.endswith(_SUFFIX) and not (folder / name).resolve().is_relative_to(folder.resolve()):
                _wrong(f"{name} leads out of {folder}; name a file in the folder of the configuration")
            found.append(_load(name, folder))
    return found


@contextmanager
def placed(settings: Settings, key: str) -> Generator[None]:
    """Tell what is wrong inside with its place in the configuration.

    Raises:
        ConfigurationError: What was wrong, with file, line and key.
    """
    try:
        yield
    except ConfigurationError as error:
        line = settings.lines.get(key)
        raise ConfigurationError(error.message, file=settings.file, line=line, key=key) from error


def _see(folder: Path) -> None:
    """Find modules in a folder, behind everything installed: no file in it takes the place of a library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _load(name: str, folder: Path) -> ModuleType:
    try:
        if name.endswith(_SUFFIX):
            return _load_file(folder / name, shown=name)
        _see(folder.resolve())
        known = name in sys.modules
        module = importlib.import_module(name)
        _refuse_library(module, folder / f"{name}{_SUFFIX}", known=known)
    except ConfigurationError:
        raise
    except ModuleNotFoundError as error:
        if error.name == name:
            _wrong(f"there is no module {name} in {folder} or installed; write a module's name or a {_SUFFIX} file")
        _failed(name, error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a module does when it is imported
        _failed(name, error)
    return module


def _refuse_library(module: ModuleType, file: Path, *, known: bool) -> None:
    """Where a library is called as a file of one's own, the file was meant if the library has nothing to offer."""
    skills, others = part_skills((module,))
    if skills or any(map(offers_tools, others)) or not file.is_file():
        return
    where = getattr(module, "__file__", None)
    if where is None or Path(where).resolve() != file.resolve():
        message = f"the module {module.__name__} is a library ({where or 'built in'}), and has no @tool function"
        # What is loaded already keeps its name.
        _wrong(f"{message}; {f'rename {file.name}' if known else f'for the file that lies here write {file.name}'}")


def _load_file(path: Path, *, shown: str) -> ModuleType:
    if not path.is_file():
        _wrong(f"there is no file {shown} to take tools from")
    name = path.stem
    known = sys.modules.get(name)
    if known is not None:
        if known.__file__ and Path(known.__file__).resolve() == path.resolve():
            return known
        _wrong(f"{shown} cannot be imported as {name}: a module of that name is loaded already; rename the file")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        _wrong(f"{shown} is not a Python file")
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


def _wrong(message: str) -> NoReturn:
    raise ConfigurationError(message)


def _failed(name: str, error: BaseException) -> NoReturn:
    _wrong(f"the module {name} cannot be imported: {type(error).__name__}: {error}")
