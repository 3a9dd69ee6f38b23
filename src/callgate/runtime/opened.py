"""Opened: what an open gate is made of, shared by the faces of `Callgate`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from callgate.events.bus import Bus
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.pipeline.parts import Parts
    from callgate.runtime.auditing import Auditor

Proceed = Callable[["Call", "Context"], Awaitable["Outcome"]]
Around = Callable[["Call", "Context", Proceed], Awaitable["Outcome"]]
"""Middleware around a whole call: it may change what is asked and what is answered, never the steps between."""

_log = logging.getLogger("callgate")


@dataclass(slots=True, kw_only=True)
class Opened:
    """The parts of an open gate, and what has to be closed with it."""

    parts: Parts
    bus: Bus
    auditor: Auditor
    default_context: Context
    around: tuple[Around, ...] = ()
    tasks: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])

    async def close(self) -> None:
        """Write what waits, sign it, and let go of everything, whatever fails on the way."""
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        try:
            if not await self.parts.spool.close():
                _log.error("%d outcomes could not be recorded; they will read unknown", len(self.parts.spool))
            await self.auditor.close()
        except StoreError as error:
            _log.error("the gate closed without its last checkpoint: %s", error)
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        try:
            await self.bus.close()
        finally:
            self.parts.deadlines.close()
            self.parts.threads.close()
            await self.parts.store.close()


class Face:
    """What the faces of a gate have in common: they work only while it is open."""

    _opened: Opened | None = None

    def _open(self) -> Opened:
        opened = self._opened
        if opened is None:
            raise ConfigurationError("the gate is not open: use `async with Callgate.open(...) as gate:`")
        return opened
