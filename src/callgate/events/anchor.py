"""Anchors: a store's last checkpoints, written beside the root key, so that an older copy of the store is found out.

One small file per store, replaced as a whole. A file that cannot be read is never replaced, and a new file says from
which checkpoint on it knows anything. It also says where the store lies: a copy elsewhere moves nothing here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shlex
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from callgate.errors import AuditBroken, StoreError
from callgate.events.checkpoint import CHAIN, digest_of, number_of, stream_heads
from callgate.events.report import moment
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.ports import Checkpoint, Head
from callgate.ports.unshared import close_unshared, open_unshared

_VERSION = 1
_KEPT_AT_MOST = 50
_HEADS_AT_MOST = 200
_BYTES_AT_MOST = 8 * 1024 * 1024
_LOCK_WITHIN = 5.0
_ACCEPTED_AT_MOST = 20
_SAFE_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")
_NEW = re.compile(r"\.[0-9a-f]{16}\.new")
"""What stands behind the name of the file while it is written."""
_MEANT = "if this copy shall be the store from now on, as after restoring a backup, say so:"


def meant(place: str | None) -> str:
    """What a person does who put a copy in the store's place on purpose: a command for this very file."""
    store = "" if place is None else f" --store {shlex.quote(place)}"
    return f"{_MEANT} callgate audit accept-restore --why REASON{store}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """One checkpoint as it was seen outside the store."""

    number: int
    digest: str
    time: float
    heads: dict[str, Head]
    """The heads that had moved; many are left to the digest, which stands for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Somebody said that a copy takes the place of what was anchored before."""

    number: int
    """Of the last checkpoint that was anchored before."""
    seen: float
    """When that was."""
    time: float
    by: str
    why: str

    def __str__(self) -> str:
        return (
            f"{self.by} accepted {moment(self.time)} that a copy is this store from then on ({self.why}): what was "
            f"anchored before, up to checkpoint number {self.number} of {moment(self.seen)}, speaks for it no more"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchored:
    """What is known outside the store."""

    entries: tuple[Anchor, ...] = ()
    """Oldest first."""
    problem: str | None = None
    """Why it cannot be relied on."""
    notes: tuple[str, ...] = ()
    """What it does not cover."""
    copy_of: str | None = None
    """Where the store lies that this one is a copy of; None for the store itself."""
    place: str | None = None
    """Where this one lies; None if nobody can tell."""
    there: Mapping[int, str] | None = None
    """The digests of all checkpoints of the store there, by number; None if they cannot be read, or nobody looked."""

    @property
    def last(self) -> Anchor | None:
        """The newest."""
        return self.entries[-1] if self.entries else None


@dataclass(frozen=True, slots=True)
class Lying:
    """Where a store lies, and how to tell whether it lies elsewhere, too."""

    place: Path
    holds: Callable[[Path], bool]
    """Whether there is a store of the same id at a place; True if that cannot be told."""
    checkpoints: Callable[[Path], Sequence[Checkpoint] | None]
    """Those of the store at a place; None if they cannot be read."""

    def is_copy_of(self, place: str | None) -> bool:
        """Whether the store itself still is at that place, and this is another file.

        Where it is not there any more it was moved, which is no copy.
        """
        if place is None or place == str(self.place):
            return False
        try:
            if os.path.samefile(place, self.place):  # noqa: PTH121 - as it was written
                return False
        except OSError:
            return False
        return self.holds(Path(place))


def _digests(checkpoints: Sequence[Checkpoint]) -> dict[int, str] | None:
    try:
        return {number_of(each): digest_of(each) for each in checkpoints}
    except Exception:  # noqa: BLE001 - a row was changed into what is no checkpoint
        return None


def _unknown(_: int) -> None:
    """Nobody can say."""


class AnchorFile:
    """The anchors of one store.

    Args:
        folder: Where the root key is kept; made if it is not there.
        store_id: Names the file.
        lying: Where the store lies; None if nobody can tell, and no copy is told from it.

    Raises:
        ValueError: No file can be named so.
    """

    def __init__(self, folder: Path, store_id: str, *, lying: Lying | None = None) -> None:
        if not _SAFE_NAME.fullmatch(store_id):
            raise ValueError(f"a store cannot be called {store_id!r}: letters, digits, - and _ only")
        self._folder = folder
        self._store_id = store_id
        self._lying = lying
        self.path = folder / f"{store_id}.anchor.json"

    def look(self) -> Anchored:
        """What is anchored, for verifying. Never raises: what is wrong with the file is part of the answer."""
        try:
            found = self._read()
        except (AuditBroken, OSError) as error:
            return Anchored(problem=f"the anchor file {self.path} cannot be relied on: {error}")
        if found is None:
            return Anchored(notes=(f"there is no anchor file {self.path}: nothing outside the store speaks for it",))
        first = found.entries[0]
        notes = [str(accepted) for accepted in found.accepted]
        if found.since and not notes:
            missing = f"it was missing before {moment(first.time)}"
            notes.append(f"the anchor file begins with checkpoint number {found.since}: {missing}")
        return Anchored(entries=found.entries, notes=tuple(notes), copy_of=self._copied(found), place=self._place)

    def look_at_both(self) -> Anchored:
        """As `look`, and beside a copy at the store itself: an older copy has no checkpoint that is still anchored.

        Never raises either: what cannot be read there says nothing.
        """
        anchored = self.look()
        if anchored.copy_of is None or self._lying is None:
            return anchored
        found = self._lying.checkpoints(Path(anchored.copy_of))
        return replace(anchored, there=None if found is None else _digests(found))

    @property
    def copy_of(self) -> str | None:
        """Where the store lies that this one is a copy of; None for the store itself, or where it cannot be told."""
        return self.look().copy_of

    def record(self, checkpoint: Checkpoint, *, digest_at: Callable[[int], str | None] = _unknown) -> None:
        """Anchor a checkpoint after the ones that are there; one that another process has overtaken needs none.

        Args:
            checkpoint: What to anchor; durable in the store.
            digest_at: The digest of the store's checkpoint with a number, None if it has none; asked only if the
                last anchored one is neither this one nor the one before it.

        Raises:
            AuditBroken: The file cannot be read, the checkpoint does not follow from what is anchored, or this store
                is a copy of the one that is; the file is left as it is.
            StoreError: The file cannot be written.
        """
        anchor, hint = _anchor(checkpoint), meant(self._place)
        with self._writing():
            found = self._read() or _File(anchor.number, ())
            copied = self._copied(found)
            if copied is not None:
                told = f"this store is a copy of the one at {copied}, and is not anchored while that is there"
                raise AuditBroken(f"{told}; {hint}")
            if found.entries and not _follows(checkpoint, found.entries[-1], digest_at=digest_at, otherwise=hint):
                return
            self._replace(replace(found, entries=(*found.entries, anchor)[-_KEPT_AT_MOST:], place=self._place))

    def accept(self, checkpoint: Checkpoint, *, by: str, why: str) -> None:
        """Begin again with a checkpoint, because somebody put a copy in the store's place; who and why stays there.

        Raises:
            AuditBroken: The file cannot be read; it is left as it is.
            StoreError: The file cannot be written.
        """
        anchor = _anchor(checkpoint)
        with self._writing():
            found = self._read() or _File(anchor.number, ())
            accepted = found.accepted
            if found.entries:
                last = found.entries[-1]
                said = Accepted(number=last.number, seen=last.time, time=checkpoint.time, by=by, why=why)
                accepted = (*accepted, said)[-_ACCEPTED_AT_MOST:]
            self._replace(_File(anchor.number, (anchor,), place=self._place, accepted=accepted))

    @property
    def _place(self) -> str | None:
        return None if self._lying is None else str(self._lying.place)

    def _copied(self, found: _File) -> str | None:
        return found.place if self._lying is not None and self._lying.is_copy_of(found.place) else None

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked():
                self._clear_leftovers()
                yield
        except OSError as error:
            raise StoreError(f"the anchor file {self.path} cannot be written: {error.strerror or error}") from error

    def _read(self) -> _File | None:
        try:
            with self.path.open("rb") as file:
                text = file.read(_BYTES_AT_MOST + 1)
        except FileNotFoundError:
            return None
        if len(text) > _BYTES_AT_MOST:
            raise AuditBroken("it is too large to be one of ours")
        return _parse(text, self._store_id)

    def _clear_leftovers(self) -> None:
        """Remove what a writer left that was killed; whoever holds the lock is the only one who writes."""
        for path in self._folder.iterdir():
            if path.name.startswith(self.path.name) and _NEW.fullmatch(path.name, len(self.path.name)):
                with contextlib.suppress(OSError):
                    path.unlink()

    def _replace(self, content: _File) -> None:
        body = content.to_json(self._store_id)
        text = dumps(body | {"digest": sha256(dumps(body)).hexdigest()})
        new = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}.new")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        _sync_folder(self._folder)

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        descriptor = open_unshared(self.path.with_name(f"{self.path.name}.lock"), os.O_RDWR | os.O_CREAT)
        try:
            until = time.monotonic() + _LOCK_WITHIN
            while not _try_lock(descriptor):
                if time.monotonic() > until:
                    raise StoreError(f"the anchor file {self.path} is held by another process")
                time.sleep(0.01)
            yield
        finally:
            close_unshared(descriptor)


@dataclass(frozen=True, slots=True)
class _File:
    since: int
    """The number of the first checkpoint that was ever in it."""
    entries: tuple[Anchor, ...]
    place: str | None = None
    """Where the store lay when it was last anchored; None in a file from before that was kept."""
    accepted: tuple[Accepted, ...] = ()

    def to_json(self, store_id: str) -> dict[str, Any]:
        entries = [
            {
                "number": anchor.number,
                "digest": anchor.digest,
                "time": anchor.time,
                "heads": {name: list(head) for name, head in anchor.heads.items()},
            }
            for anchor in self.entries
        ]
        body = {"version": _VERSION, "store": store_id, "since": self.since, "entries": entries}
        accepted = [asdict(each) for each in self.accepted]
        return body | {"place": self.place, "accepted": accepted}


def _anchor(checkpoint: Checkpoint) -> Anchor:
    heads = stream_heads(checkpoint)
    kept = dict(sorted(heads.items())[-_HEADS_AT_MOST:])
    return Anchor(number=number_of(checkpoint), digest=digest_of(checkpoint), time=checkpoint.time, heads=kept)


def _follows(checkpoint: Checkpoint, last: Anchor, *, digest_at: Callable[[int], str | None], otherwise: str) -> bool:
    """Whether there is something to add.

    Raises:
        AuditBroken: The checkpoint belongs to another history.
    """
    number = number_of(checkpoint)
    if number == last.number + 1:
        seen = checkpoint.heads[CHAIN].hash
    else:
        seen = digest_of(checkpoint) if number == last.number else digest_at(last.number)
    if seen is None:
        raise AuditBroken(
            f"the store has no checkpoint number {last.number}, which was seen {moment(last.time)}: "
            f"an older copy was put in its place; {otherwise}"
        )
    if seen != last.digest:
        told = f"the store's checkpoint number {last.number} is not the one seen {moment(last.time)}"
        raise AuditBroken(f"{told}: it was used in two places, or rewritten; {otherwise}")
    return number > last.number


def _parse(text: bytes, store_id: str) -> _File:
    try:
        body = loads(text)
        digest = body.pop("digest")
        entries = tuple(_entry(entry) for entry in body["entries"])
        accepted = tuple(Accepted(**each) for each in body.get("accepted", ()))
        found = _File(int(body["since"]), entries, body.get("place"), accepted)
    except (NotCanonical, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise AuditBroken(f"it cannot be read ({type(error).__name__})") from error
    if digest != sha256(dumps(body)).hexdigest():
        raise AuditBroken("it was changed: its digest does not fit")
    if body.get("version") != _VERSION or body.get("store") != store_id or not entries:
        raise AuditBroken("it is of another store or another version")
    return found


def _entry(body: dict[str, Any]) -> Anchor:
    heads = {str(name): Head(int(head[0]), str(head[1])) for name, head in body["heads"].items()}
    return Anchor(number=int(body["number"]), digest=str(body["digest"]), time=float(body["time"]), heads=heads)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
