"""Auditor: when checkpoints are made: at the start, now and then, and at the end; and verifying them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.approvals.bind import intact
from callgate.errors import AuditBroken, ConfigurationError, KeyMissing, RowUnreadable
from callgate.events.anchor import Anchored, AnchorFile
from callgate.events.checkpoint import digest_of, number_of
from callgate.events.checkpointer import Checkpointer
from callgate.events.verify import verify_store
from callgate.events.vocabulary import KINDS, RESTORED
from callgate.model.event import Draft

if TYPE_CHECKING:
    from callgate.events.anchor import Lying
    from callgate.events.report import Report
    from callgate.ports import Clock, Store
    from callgate.secrets.keys import KeyRing

_EVERY_SECONDS = 60.0


class Auditor:
    """Signs what was recorded, and says whether it still holds."""

    def __init__(
        self, store: Store, keys: KeyRing, clock: Clock, *, lying: Lying | None = None, looking: bool = False
    ) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        folder = keys.anchor_folder
        self._anchors = None if folder is None else AnchorFile(folder, store.store_id, lying=lying)
        self._checkpointer = Checkpointer(store, keys, clock=clock, anchors=self._anchors)
        self._signed_at = clock.monotonic()
        self._looking = looking

    @property
    def problem(self) -> str | None:
        """Why the last checkpoint or anchor could not be made; None once one was."""
        return self._checkpointer.problem

    async def start(self) -> None:
        """Sign what is there."""
        await self._checkpointer.sign()

    async def now_and_then(self) -> None:
        """Sign what is new, when the last time is long enough ago."""
        if self._clock.monotonic() - self._signed_at >= _EVERY_SECONDS:
            self._signed_at = self._clock.monotonic()
            await self._store.flush()
            await self._checkpointer.sign()

    async def close(self) -> None:
        """Sign and anchor what is left. Who only looked, and recorded nothing, leaves no trace of it."""
        await self._store.flush()
        if not self._looking or await self._has_recorded():
            await self._checkpointer.close()

    async def _has_recorded(self) -> bool:
        try:
            return self._store.owner in await self._store.read(lambda reader: reader.heads())
        except RowUnreadable:
            return False  # nothing can be signed then, and verifying finds why

    @property
    def is_copy(self) -> bool:
        """Whether the store is a copy of one that is still there."""
        return self._anchors is not None and self._anchors.copy_of is not None

    async def accept_restore(self, *, by: str, why: str) -> None:
        """Take the store as it is for the one that was anchored, and record who said so, and why.

        Raises:
            ConfigurationError: Nobody is named, or no reason; or what is anchored and the store agree.
            AuditBroken: What is anchored cannot be read.
            StoreError: It could not be recorded or anchored.
        """
        if not by.strip() or not why.strip():
            raise ConfigurationError("accepting a restored store needs the name of who does it, and why")
        anchored = Anchored() if self._anchors is None else self._anchors.look()
        if anchored.problem is not None:
            raise AuditBroken(anchored.problem)
        made = await self._store.read(lambda reader: reader.checkpoints())
        known = {(number_of(checkpoint), digest_of(checkpoint)) for checkpoint in made}
        if anchored.copy_of is None and all((each.number, each.digest) in known for each in anchored.entries):
            raise ConfigurationError("there is nothing to accept: the store is the one that was anchored")
        last = anchored.last
        before = None if last is None else {"number": last.number, "digest": last.digest, "time": last.time}
        payload = {"by": by, "why": why, "anchored": before, "copy_of": anchored.copy_of}
        draft = Draft(
            type=RESTORED,
            time=self._clock.now(),
            trace=self._store.owner,
            severity=KINDS[RESTORED].severity,
            payload=payload,
        )
        await self._checkpointer.accept(draft, by=by, why=why)

    async def verify(self) -> Report:
        """Whether the audit log is as it was written."""
        anchored = None if self._anchors is None else self._anchors.look_at_both()
        known = await self.public_keys()
        return await verify_store(
            self._store,
            public_keys=known,
            anchored=anchored,
            keys=self._keys,
            intact=lambda answer: intact(answer, self._keys),
        )

    async def public_keys(self) -> dict[str, bytes]:
        """Every key that signed a checkpoint of this store, as far as it is still here."""
        try:
            made = await self._store.read(lambda reader: reader.checkpoints())
        except RowUnreadable:
            made = []  # which verifying finds
        found = {self._keys.key_id: self._keys.public_key}
        for key_id in sorted({checkpoint.key_id for checkpoint in made} - set(found)):
            try:
                found[key_id] = self._keys.public_key_of(key_id)
            except KeyMissing:
                continue
        return found
