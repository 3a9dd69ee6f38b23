"""Doctor: looks at everything a gate rests on and says what to do about each. Repairs nothing."""

from __future__ import annotations

import importlib.util
import platform
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.errors import CallgateError, ConfigurationError
from callgate.model.counted import counted
from callgate.policy.policy import Policy
from callgate.runtime import disk
from callgate.runtime.doctor_extras import EXTRAS
from callgate.runtime.offline import store_file
from callgate.secrets.keys import open_keys
from callgate.secrets.root_keys import KEYS, VARIABLE, config_folder, keys_of_environment
from callgate.stores.sqlite.connection import OLDEST_SQLITE

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.settings.values import Settings

OK = "ok"
NOTE = "note"
WRONG = "wrong"
_NEEDED = ("click", "cryptography", "jsonschema-rs", "orjson", "pydantic", "PyYAML")
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was looked at."""

    name: str
    state: str
    """ok, note or wrong."""
    text: str
    advice: str = ""
    """What to do; empty where nothing needs to be done."""


def look_around(settings: Settings | ConfigurationError, url: str) -> Iterator[Fact]:
    """Everything that can be seen without opening the store, also beside a configuration that cannot be read."""
    yield from _versions()
    if isinstance(settings, ConfigurationError):
        yield Fact("configuration", WRONG, str(settings), "until it is right, nothing can be called")
    else:
        yield from (_configuration(settings), _secrets(settings))
    yield from _guarded("key", lambda: _key(url))
    yield from _guarded("store", lambda: _store(url))


async def look_inside(gate: Callgate) -> list[Fact]:
    """Everything that an open gate can say about itself."""
    report = await gate.verify_audit()
    broken = f"{counted(len(report.problems), 'problem')}: {report.problems[0]}" if report.problems else ""
    facts = [
        Fact("audit", WRONG, broken, "see: callgate audit verify")
        if broken
        else Fact("audit", OK, f"{report.events} events verify")
    ]
    if report.anchored_until is None:
        told = next((note for note in report.notes if "anchor" in note), "nothing outside the store speaks for it yet")
        facts.append(
            Fact("anchors", NOTE, told, "the next gate that closes here anchors it; if this stays, look at the folder")
        )
    else:
        facts.append(Fact("anchors", OK, "heads are anchored beside the root key"))
    return [*facts, await _unknowns(gate), await _approvals(gate)]


def _versions() -> Iterator[Fact]:
    found = ", ".join(f"{name} {metadata.version(name)}" for name in _NEEDED)
    python = (
        f"Callgate {metadata.version('callgate')}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    )
    yield Fact("versions", OK, python)
    yield Fact("packages", OK, found)
    library = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        yield Fact("sqlite", WRONG, f"{library} is too old", "use a Python with SQLite 3.40 or newer")
    else:
        yield Fact("sqlite", OK, library)
    yield from _extras()


def _extras() -> Iterator[Fact]:
    for name, extra in EXTRAS.items():
        missing, there = extra.missing, ", ".join(extra.installed)
        if not missing:
            yield Fact(f"extra {name}", OK, f"{extra.gives}: installed, {there}")
            continue
        lacking = f"lacks {', '.join(missing)}" if there else "not installed"
        advice = f'where you need it: pip install "callgate[{name}]"'
        yield Fact(f"extra {name}", NOTE, f"{extra.gives}: {lacking}", advice)


def _configuration(settings: Settings) -> Fact:
    where = settings.file or "none; the defaults hold"
    try:
        Policy(settings)
    except CallgateError as error:
        return Fact("configuration", WRONG, str(error), "see: callgate policy check")
    watched = ", ".join(mode.source for mode in settings.observe)
    if watched:
        return Fact("configuration", NOTE, f"{where}; observe mode for {watched}: decided, recorded and not enforced")
    return Fact("configuration", OK, where)


def _key(url: str) -> Iterator[Fact]:
    if keys_of_environment() is not None:
        keys = open_keys(None, create=False)
        yield Fact("key", OK, f"{keys.key_id}, from {VARIABLE}")
        return
    folder, file = config_folder() / KEYS, store_file(url)
    if not folder.exists() and file is not None and file.exists():
        advice = (
            f"bring it back from a backup, or set {VARIABLE}; a new key could neither read nor prove what is stored"
        )
        yield Fact("key", WRONG, f"there is none in {folder}, and there is a store, which was made with one", advice)
        return
    if not folder.exists():
        yield Fact("key", NOTE, f"there is none yet in {folder}", "the first call makes it; then keep a copy elsewhere")
        return
    keys = open_keys(None, create=False)
    yield Fact("key", OK, f"{keys.key_id}, in {folder}; without it the store cannot be read, so keep a copy elsewhere")


def _store(url: str) -> Iterator[Fact]:
    file = store_file(url)
    if file is None:
        yield Fact("store", NOTE, "in memory: everything is forgotten when the process ends", "use sqlite:///FILE")
        return
    if file.exists():
        yield Fact("store", OK, f"{file}, {file.stat().st_size / _MEGABYTE:.1f} MB")
    else:
        yield Fact("store", NOTE, f"{file} is not there yet", "the first call makes it")
    yield from _disk(disk.nearest_folder(file.parent))


def _disk(folder: Path) -> Iterator[Fact]:
    kind = disk.file_system(folder)
    trouble = disk.trouble_with(kind)
    if trouble:
        yield Fact("disk", WRONG, trouble, "put the store on a local disk")
    room = disk.free_bytes(folder)
    if disk.little_room(room):
        yield Fact(
            "room", WRONG, f"{room / _MEGABYTE:.0f} MB are left at {folder}", "make room; a full disk refuses calls"
        )
    else:
        yield Fact("room", OK, f"{room / _MEGABYTE / 1024:.1f} GB are left at {folder}")
    taken = disk.sync_seconds(folder)
    shown = f"{taken * 1000:.3f} ms for a durable write at {folder}"
    if disk.too_fast(taken):
        advice = (
            "nothing waits for a disk here, so what is acknowledged may be lost with the power; use a disk that syncs"
        )
        yield Fact("sync", WRONG, shown, advice)
    else:
        yield Fact("sync", OK, shown)


def _secrets(settings: Settings) -> Fact:
    backend = settings.secrets.backend
    if backend == "keyring" and importlib.util.find_spec("keyring") is None:
        return Fact(
            "secrets", WRONG, "the keyring backend is chosen and not installed", 'pip install "callgate[keyring]"'
        )
    return Fact("secrets", OK, f"from the {backend} backend")


def _guarded(name: str, look: Callable[[], Iterator[Fact]]) -> Iterator[Fact]:
    """What cannot even be looked at is wrong, and says so."""
    try:
        yield from look()
    except CallgateError as error:
        yield Fact(name, WRONG, str(error))
    except OSError as error:
        yield Fact(
            name, WRONG, f"cannot be looked at: {error.strerror or error}", "look at the permissions of the folder"
        )


async def _unknowns(gate: Callgate) -> Fact:
    waiting = await gate.unknown_outcomes()
    if waiting:
        return Fact(
            "outcomes", NOTE, counted(len(waiting), "call") + " without a known outcome", "see: callgate outcomes list"
        )
    return Fact("outcomes", OK, "every call has a known outcome")


async def _approvals(gate: Callgate) -> Fact:
    waiting = await gate.approvals()
    if waiting:
        return Fact(
            "approvals", NOTE, counted(len(waiting), "question") + " for a person", "see: callgate approvals list"
        )
    return Fact("approvals", OK, "nothing waits for a person")
