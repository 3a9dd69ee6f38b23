"""Checkpointer: makes checkpoints and anchors them, and ends the stream. Knows no schedule; whoever owns it calls.

A checkpoint or an anchor that fails harms no call; what went wrong stays readable until it goes right again.
"""

from __future__ import annotations

import asyncio
import logging

from callgate.errors import CallgateError, StoreError
from callgate.events.anchor import AnchorFile
from callgate.events.checkpoint import digest_of, make_checkpoint, number_of
from callgate.events.vocabulary import KINDS, STREAM_CLOSED
from callgate.model.event import Draft
from callgate.ports import Checkpoint, Clock, Keys, Reader, Store, Transaction

_log = logging.getLogger(__name__)
_ANSWER_WITHIN = 10.0


class Checkpointer:
    """Signs a store's heads as it grows, and anchors them.

    Args:
        store: Whose heads; open.
        keys: Who signs.
        clock: Names the time.
        anchors: Where checkpoints are seen from outside; None keeps them in the store alone.
    """

    def __init__(
        self,
        store: Store,
        keys: Keys,
        *,
        clock: Clock,
        anchors: AnchorFile | None = None,
    ) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._anchors = anchors
        self._turn = asyncio.Lock()
        self._closed = False
        self.problem: str | None = None
        """Why the last checkpoint or anchor could not be made; None once one was."""

    async def sign(self, *, record: bool = True) -> Checkpoint | None:
        """Make a checkpoint now and anchor it; None if nothing was new, or it could not be made."""
        async with self._turn:
            checkpoint = None
            try:
                checkpoint = await self._store.write(
                    lambda tx: make_checkpoint(
                        tx, self._keys, stream=self._store.owner, now=self._clock.now(), record=record
                    )
                )
                if checkpoint is not None:
                    await self._anchor(checkpoint)
            except CallgateError as error:
                if self.problem is None:  # told once, until it goes right again
                    _log.warning("%s: %s", "no checkpoint" if checkpoint is None else "not anchored", error)
                self.problem = str(error)
                return None
            self.problem = None
            return checkpoint

    async def accept(self, draft: Draft, *, by: str, why: str) -> None:
        """Record that a copy takes the place of what was anchored, sign it, and anchor from there on.

        Raises:
            AuditBroken: What is anchored cannot be read.
            StoreError: It could not be recorded, or not anchored; then what was anchored still speaks.
        """

        def unit(tx: Transaction) -> Checkpoint | None:
            tx.append(draft)
            return make_checkpoint(tx, self._keys, stream=self._store.owner, now=self._clock.now())

        async with self._turn:
            checkpoint = await self._store.write(unit)
            if checkpoint is not None and self._anchors is not None:
                await asyncio.to_thread(self._anchors.accept, checkpoint, by=by, why=why)
            self.problem = None

    async def close(self) -> None:
        """End the stream, and sign and anchor what is left, as the last thing it records. Twice is once."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._store.write(lambda tx: tx.append(_closed(self._store.owner, self._clock.now())))
        except CallgateError as error:
            _log.warning("the end of the stream is not recorded: %s", error)
        await self.sign(record=False)

    async def _anchor(self, checkpoint: Checkpoint) -> None:
        if self._anchors is None:
            return
        loop = asyncio.get_running_loop()

        def digest_at(number: int) -> str | None:
            """Asked from the thread that holds the file, so that the answer is not older than what the file says."""
            asked = asyncio.run_coroutine_threadsafe(self._digest_at(number), loop)
            try:
                return asked.result(_ANSWER_WITHIN)
            except TimeoutError as error:
                raise StoreError("the store did not say which checkpoints it has") from error

        await asyncio.to_thread(self._anchors.record, checkpoint, digest_at=digest_at)

    async def _digest_at(self, number: int) -> str | None:
        return await self._store.read(lambda reader: _digest_at(reader, number))


def _closed(stream: str, now: float) -> Draft:
    return Draft(type=STREAM_CLOSED, time=now, trace=stream, severity=KINDS[STREAM_CLOSED].severity)


def _digest_at(reader: Reader, number: int) -> str | None:
    for checkpoint in reversed(reader.checkpoints()):
        if number_of(checkpoint) == number:
            return digest_of(checkpoint)
    return None
