"""Auditor: when checkpoints are made: at the start, now and then, and at the end; and verifying them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.approvals.bind import intact
from callgate.errors import KeyMissing
from callgate.events.anchor import AnchorFile
from callgate.events.checkpointer import Checkpointer
from callgate.events.verify import verify_store

if TYPE_CHECKING:
    from callgate.events.report import Report
    from callgate.ports import Clock, Store
    from callgate.secrets.keys import KeyRing

_EVERY_SECONDS = 60.0


class Auditor:
    """Signs what was recorded, and says whether it still holds."""

    def __init__(self, store: Store, keys: KeyRing, clock: Clock) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        folder = keys.anchor_folder
        self._anchors = None if folder is None else AnchorFile(folder, store.store_id)
        self._checkpointer = Checkpointer(store, keys, clock=clock, anchors=self._anchors)
        self._signed_at = clock.monotonic()

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
        """Sign and anchor what is left."""
        await self._store.flush()
        await self._checkpointer.close()

    async def verify(self) -> Report:
        """Whether the audit log is as it was written."""
        anchored = None if self._anchors is None else self._anchors.look()
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
        made = await self._store.read(lambda reader: reader.checkpoints())
        found = {self._keys.key_id: self._keys.public_key}
        for key_id in sorted({checkpoint.key_id for checkpoint in made} - set(found)):
            try:
                found[key_id] = self._keys.public_key_of(key_id)
            except KeyMissing:
                continue
        return found
