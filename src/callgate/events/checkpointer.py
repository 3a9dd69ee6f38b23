"""Checkpointer: when checkpoints are made: at the start, after so many events or so much time, and at the end.

A checkpoint or an anchor that fails harms no call; what went wrong stays readable until it goes right again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

from callgate.errors import CallgateError, StoreError
from callgate.events.anchor import AnchorFile
from callgate.events.checkpoint import digest_of, make_checkpoint, number_of
from callgate.events.vocabulary import CHECKPOINT, KINDS, STREAM_CLOSED
from callgate.model.event import Draft, Event
from callgate.ports import Checkpoint, Clock, Keys, Reader, Store

_log = logging.getLogger(__name__)
_ANSWER_WITHIN = 10.0


class Checkpointer:
    """Signs a store's heads as it grows, and anchors them.

    Args:
        store: Whose heads; open.
        keys: Who signs.
        clock: Names the time.
        anchors: Where checkpoints are seen from outside; None keeps them in the store alone.
        every_events: Sign after so many events.
        every_seconds: Sign at the latest so long after an event.
    """

    def __init__(
        self,
        store: Store,
        keys: Keys,
        *,
        clock: Clock,
        anchors: AnchorFile | None = None,
        every_events: int = 1000,
        every_seconds: float = 300.0,
    ) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._anchors = anchors
        self._every_events = every_events
        self._every_seconds = every_seconds
        self._unsigned = 0
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Checkpoint | None] | None = None
        self._turn = asyncio.Lock()
        self._closed = False
        self.problem: str | None = None
        """Why the last checkpoint or anchor could not be made; None once one was."""

    async def start(self, *, listen: bool = True) -> None:
        """Sign what is there; with `listen`, sign again as events arrive."""
        await self.sign()
        if listen:
            self._store.subscribe(self.noted)

    async def sign(self, *, record: bool = True) -> Checkpoint | None:
        """Make a checkpoint now and anchor it; None if nothing was new, or it could not be made."""
        async with self._turn:
            self._settle()
            try:
                checkpoint = await self._store.write(
                    lambda tx: make_checkpoint(
                        tx, self._keys, stream=self._store.owner, now=self._clock.now(), record=record
                    )
                )
                if checkpoint is not None:
                    await self._anchor(checkpoint)
            except CallgateError as error:
                self.problem = str(error)
                _log.warning("no checkpoint: %s", error)
                return None
            self.problem = None
            return checkpoint

    def noted(self, events: Sequence[Event]) -> None:
        """Count what was recorded; called by the store after each durable append."""
        if self._closed or (len(events) == 1 and events[0].type == CHECKPOINT):
            return
        self._unsigned += len(events)
        if self._unsigned >= self._every_events:
            self._due()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._every_seconds, self._due)

    async def close(self) -> None:
        """End the stream, and sign and anchor what is left, as the last thing it records. Twice is once."""
        if self._closed:
            return
        self._closed = True
        self._settle()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        try:
            await self._store.write(lambda tx: tx.append(_closed(self._store.owner, self._clock.now())))
        except CallgateError as error:
            _log.warning("the end of the stream is not recorded: %s", error)
        await self.sign(record=False)

    def _due(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self.sign())

    def _settle(self) -> None:
        self._unsigned = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

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
