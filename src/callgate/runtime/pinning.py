"""Pinning: the trusted definitions of tools, kept in the store, sealed, and shared by all who open it.

Knows nothing of sources or people. Several processes write the same pins: each merges what it changed into what it
finds, inside one unit of work, so that nobody's are lost.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from callgate.errors import StoreError
from callgate.events.vocabulary import STREAM_CLOSED, STREAM_OPENED, TOOL_QUARANTINED
from callgate.registry.pins import Pins, is_foreign, lost_pins, merge_pins
from callgate.runtime.tool_events import trust_draft

if TYPE_CHECKING:
    from callgate.model.event import Draft
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction

_PINS = "pins"
_SEAL = "pins_seal"
_OPENINGS = frozenset({STREAM_OPENED, STREAM_CLOSED})
_SOME = 1000
_CHANGED = "the trusted definitions of tools were changed without the key; restore the store from a backup"
_log = logging.getLogger("callgate")


class Pinning:
    """The pins of one store, and the registry that is judged by them.

    Args:
        parts: The gate's parts.
        trace: Under which it is recorded that a tool is held because of what another process trusts.
    """

    def __init__(self, parts: Parts, *, trace: str) -> None:
        self._parts = parts
        self._trace = trace
        self._kept = Pins()
        """As they were last read or written."""
        self._seal: str | None = None
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        """Where they are kept; None until they were read."""
        self._soon = False
        self._listeners: dict[object, Callable[[], None]] = {}

    def on_adopted(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when other tools wait for somebody than before, as others decided; what is returned ends it.

        What is decided here is recorded here, and heard of by that.
        """
        which = object()
        self._listeners[which] = listener

        def end() -> None:
            self._listeners.pop(which, None)

        return end

    async def open(self) -> None:
        """Read what was trusted before, and judge by it whatever is registered already.

        Raises:
            StoreError: The pins cannot be read, or were changed without the key. They must not count as none.
        """
        quarantine = self._parts.registry.quarantine
        store = self._parts.store
        is_there = await store.read(lambda reader: reader.meta(_PINS) or reader.meta(_SEAL))
        pins, self._seal = await (store.read(self._read) if is_there else store.write(self._first))
        quarantine.adopt(pins, since=quarantine.pins, tools=self._parts.registry.list_tools())
        self._kept, self._loop = pins, asyncio.get_running_loop()

    async def keep(self, *drafts: Draft, firmly: Container[str] = (), mine: Pins | None = None) -> None:
        """Write what changed, merged into what others wrote, together with these events.

        Args:
            drafts: What is recorded with it.
            firmly: Tools that a person trusted here; the others' word about these does not stand before ours.
            mine: What to write instead of the pins in force; they come into force when they are durable.

        Raises:
            StoreError: It could not be made durable; nothing changed.
        """
        async with self._turn:
            before, since = self._parts.registry.quarantine.pins, self._kept
            wanted = before if mine is None else mine
            if wanted is since and not drafts:
                return

            def unit(tx: Transaction) -> tuple[Pins, str]:
                merged = merge_pins(wanted, self._read(tx)[0], since=since, firmly=firmly)
                for draft in drafts:
                    tx.append(draft)
                return merged, self._write(tx, merged)

            self._kept, self._seal = await self._parts.store.write(unit)
            self._adopt(since=before)

    async def refresh(self) -> None:
        """Judge by what other processes trusted, or hold by hand, since this one last looked.

        Raises:
            StoreError: As `open`; what was trusted before goes on being so.
        """
        async with self._turn:
            if await self._parts.store.read(lambda reader: reader.meta(_SEAL)) == self._seal:
                return
            since = self._kept
            self._kept, self._seal = await self._parts.store.read(self._read)
            self._adopt(since=since)

    async def try_to_keep(self) -> None:
        """As `refresh` and `keep`, where nobody can be told: what could not be written is tried again later."""
        if self._loop is None:
            return
        try:
            await self.refresh()
            await self.keep()
        except StoreError as error:
            _log.warning("%s", error)

    def keep_soon(self) -> None:
        """Have `try_to_keep` done soon; may be called from any thread."""
        if self._loop is not None and not self._soon:
            self._soon = True
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._soon = False
        self._parts.background(self.try_to_keep())

    def _adopt(self, *, since: Pins) -> None:
        """Our own tools are left as they run: what another version of them trusts is judged when they are added."""
        registry, now = self._parts.registry, self._parts.clock.now()
        judged = [tool for tool in registry.snapshot if is_foreign(tool) or tool.name in registry.quarantined]
        before = frozenset(registry.quarantined)
        held = registry.quarantine.adopt(self._kept, since=since, tools=judged)
        if frozenset(registry.quarantined) != before:
            for listener in tuple(self._listeners.values()):
                listener()
        for tool in judged:
            if tool.name in held:
                facts = {"reason": held[tool.name]}
                self._parts.store.behind(trust_draft(TOOL_QUARANTINED, tool, now=now, trace=self._trace, **facts))

    def _first(self, tx: Transaction) -> tuple[Pins, str]:
        """Pins for a store without any: none in a new one. One with a past had some, and somebody took them away."""
        if tx.meta(_PINS) or tx.meta(_SEAL):
            return self._read(tx)
        has_past = any(event.type not in _OPENINGS for event in tx.events(limit=_SOME))
        pins = lost_pins() if has_past else Pins()
        return pins, self._write(tx, pins)

    def _read(self, reader: Reader) -> tuple[Pins, str]:
        text, seal = reader.meta(_PINS), reader.meta(_SEAL)
        if text is None or seal is None or not hmac.compare_digest(seal.encode(), self._sealed(text).encode()):
            raise StoreError(_CHANGED)
        return Pins.from_json(text), seal

    def _write(self, tx: Transaction, pins: Pins) -> str:
        text = pins.to_json()
        seal = self._sealed(text)
        tx.put_meta(_PINS, text)
        tx.put_meta(_SEAL, seal)
        return seal

    def _sealed(self, text: str) -> str:
        return self._parts.keys.mac(b"pins\0" + text.encode())
