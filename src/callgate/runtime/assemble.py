"""Assembling: which store, keys, policy and secrets a gate is made of. All of it, or an error and nothing left open."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError, KeyMissing
from callgate.events.anchor import Lying
from callgate.events.bus import Bus
from callgate.events.vocabulary import STREAM_CLOSED, STREAM_OPENED
from callgate.model.context import Context
from callgate.pipeline.deadlines import Deadlines
from callgate.pipeline.parts import Parts
from callgate.pipeline.spool import Spool
from callgate.pipeline.threads import Threads
from callgate.policy.own_files import STORE_FOLDER
from callgate.policy.policy import Policy
from callgate.runtime.accepting import Acceptance, accepted_file, written_in
from callgate.runtime.attached import Attached, missing
from callgate.runtime.auditing import Auditor
from callgate.runtime.configured_sources import mcp_files
from callgate.runtime.configuring import read_configuration
from callgate.runtime.opened import Around, Opened
from callgate.runtime.pinning import Pinning
from callgate.runtime.plugin_source import plugin_paths
from callgate.runtime.progress import Progress
from callgate.runtime.watching import note_sources
from callgate.secrets.handout import SecretsDoor
from callgate.secrets.keys import KeyRing, config_folder, open_keys, throwaway_keys
from callgate.secrets.private_files import writing_folder
from callgate.secrets.root_keys import ANCHORS, KEYS, PROGRAMS
from callgate.secrets.sources import open_secrets
from callgate.secrets.strike import process_striker
from callgate.settings.load import DEFAULT_FILE
from callgate.settings.values import Settings
from callgate.stores.open import checkpoints_at, file_of, is_at, open_store

if TYPE_CHECKING:
    from callgate.ports import Asker, Clock, Reader, Store
    from callgate.registry.health import HealthBoard
    from callgate.registry.registry import Registry

DEFAULT_STORE = f"sqlite:///{STORE_FOLDER}/callgate.db"
_KEY_ID = "key_id"
_SOME = 1000
_CHOSEN: Mapping[str, tuple[tuple[type, ...], str]] = {
    "store": ((str, NoneType), 'a text such as "sqlite:///calls.db"'),
    "config": ((str, Path, Settings, NoneType), "a file, or a callgate.settings.values.Settings"),
    "context": ((Context,), "a callgate.Context"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the developer chose when opening the gate."""

    store: str | None
    config: str | Path | Settings | None
    ask: Asker | None
    around: tuple[Around, ...]
    context: Context
    working_directory: str
    clock: Clock
    builtin_tools: tuple[str, ...] = ()
    looking: bool = False

    def __post_init__(self) -> None:
        """Refuse what is nothing of the kind, where it was written and not where it is used.

        Raises:
            ConfigurationError: Names what it must be.
        """
        for name, (kinds, wanted) in _CHOSEN.items():
            given = getattr(self, name)
            if not isinstance(given, kinds):
                raise ConfigurationError(f"{name} must be {wanted}, not {type(given).__name__}")


async def assemble(choices: Choices, registry: Registry, health: HealthBoard) -> Opened:
    """Put a gate together.

    Raises:
        ConfigurationError: The configuration is wrong, or the key of the store is missing.
        StoreError: The store cannot be opened.
    """
    settings = _settings(choices)
    url = choices.store or settings.store or DEFAULT_STORE
    store = open_store(url, clock=choices.clock, looking=choices.looking)
    key = None if url.startswith("memory:") else _Key(looking=choices.looking)
    await store.open(key)
    try:
        keys = throwaway_keys() if key is None else await key.kept(store)
        made = _Made(settings, store, keys, url, registry, health)
        return _opened(choices, made)
    except BaseException:
        await store.close()
        raise


@dataclass(slots=True)
class _Made:
    """What was made on the way."""

    settings: Settings
    store: Store
    keys: KeyRing
    url: str
    registry: Registry
    health: HealthBoard


def _settings(choices: Choices) -> Settings:
    if isinstance(choices.config, Settings):
        return choices.config
    if choices.config is None:
        return read_configuration(Path(choices.working_directory) / DEFAULT_FILE, required=False)
    return read_configuration(choices.config, required=True)


class _Key:
    """The keys a store was made with, found before anything is written into it; a new store remembers what it gets.

    Args:
        looking: Whether somebody only looks: then no key is made, and none remembered.
    """

    def __init__(self, *, looking: bool) -> None:
        self._looking = looking
        self._ring: KeyRing | None = None
        self._new = False

    def __call__(self, reader: Reader) -> None:
        expected = _expected_keys(reader)
        self._new = expected is None and not self._looking
        self._ring = open_keys(expected, create=self._new)

    async def kept(self, store: Store) -> KeyRing:
        keys = self._ring
        assert keys is not None  # noqa: S101 - looked for while the store was opened
        if self._new:
            await store.write(lambda tx: tx.put_meta(_KEY_ID, keys.store_key_id))
        return keys


def _expected_keys(reader: Reader) -> tuple[str, ...] | None:
    """The keys a store needs, its own first; None for a new one.

    Raises:
        KeyMissing: The store has a past, and which key it was made with was removed from it.
    """
    named = reader.meta(_KEY_ID)
    if named is not None:
        return (named,)
    signed = reader.checkpoints()
    if signed:
        # A store is signed from its start on, so that its first signature names the key it was made with.
        return tuple(dict.fromkeys((signed[0].key_id, signed[-1].key_id)))
    # A process that died on its way to a key leaves an opened stream, and nothing that any key has to prove.
    started = any(event.type not in {STREAM_OPENED, STREAM_CLOSED} for event in reader.events(limit=_SOME))
    if started or reader.attempts(limit=1) or reader.approvals(limit=1):
        advice = "restore the store from a backup; a new key could neither read nor prove what is stored"
        raise KeyMissing(f"this store no longer says which root key it was made with; {advice}")
    return None


def _lasting(keys: KeyRing, settings: Settings) -> KeyRing:
    """The keys for a file of secrets: a throwaway one would seal a file that nobody opens again."""
    if keys.anchor_folder is not None or settings.secrets.backend != "file":
        return keys
    return open_keys(None, create=True)


def _opened(choices: Choices, made: _Made) -> Opened:
    auditor = Auditor(
        made.store, made.keys, choices.clock, lying=_lying(made.url, made.store.store_id), looking=choices.looking
    )
    parts = _parts(choices, made)
    parts.progress = progress = Progress(made.store, parts.striker, choices.clock)
    sources: dict[str, Attached] = {}
    parts.missing = lambda name: missing(sources, name)
    return Opened(
        parts=parts,
        bus=Bus(made.store),
        auditor=auditor,
        pinning=Pinning(parts, trace=choices.context.trace_id),
        acceptance=Acceptance(accepted_file(made.settings, Path(choices.working_directory))),
        default_context=choices.context,
        progress=progress,
        lasting=parts.lasting,
        around=choices.around,
        sources=sources,
    )


def _lying(url: str, store_id: str) -> Lying | None:
    database = file_of(url)
    if database is None:
        return None
    return Lying(Path(os.path.realpath(database)), lambda place: is_at(place, store_id), checkpoints_at)


def _parts(choices: Choices, made: _Made) -> Parts:
    settings, striker = made.settings, process_striker()
    secrets = open_secrets(settings.secrets, _lasting(made.keys, settings), default_path=secrets_file())
    policy = Policy(
        settings, working_directory=choices.working_directory, own_paths=own_paths(settings, made.url, choices)
    )
    return Parts(
        settings=settings,
        registry=made.registry,
        policy=policy,
        store=made.store,
        keys=made.keys,
        clock=choices.clock,
        striker=striker,
        secrets=SecretsDoor(secrets, striker),
        health=made.health,
        threads=Threads(settings.threads_per_connector),
        deadlines=Deadlines(),
        spool=Spool(made.store),
        background=lambda work: work.close(),
        asker=choices.ask,
        working_directory=choices.working_directory,
        lasting=not made.url.startswith("memory:"),
        watches=(note_sources,),
        quarantined=made.registry.quarantined.get,
    )


def secrets_file() -> Path:
    """Where secrets are kept when the configuration names no other file."""
    return config_folder() / "secrets.sealed"


def own_paths(settings: Settings, url: str, choices: Choices) -> tuple[Path, ...]:
    """Callgate's own files, out of reach of every tool, also where they do not exist yet."""
    folder = Path(choices.working_directory)
    kept = config_folder()
    paths = [
        kept,
        *(kept / name for name in (KEYS, ANCHORS, PROGRAMS)),
        secrets_file(),
        folder / DEFAULT_FILE,
        folder / STORE_FOLDER,
    ]
    accepted = accepted_file(settings, folder)
    paths += [accepted, written_in(accepted)]
    if settings.file is not None:
        paths.append(Path(settings.file))
    if settings.secrets.path is not None:
        secrets = Path(settings.secrets.path).expanduser()
        paths += [secrets, writing_folder(secrets)]
    paths += [*plugin_paths(settings, folder), *mcp_files(settings, folder)]
    database = file_of(url)
    if database is not None:
        # What belongs to a store lies beside the file itself, by whatever link it was named.
        for name in (database, os.path.realpath(database)):
            paths += [Path(f"{name}{suffix}") for suffix in ("", "-wal", "-shm", "-journal", ".owners")]
    return tuple(Path(os.path.abspath(path)) for path in paths)  # noqa: PTH100 - must not follow links yet
