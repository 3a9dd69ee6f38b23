"""Attached: a source in use, with its desk and how it stands. Knows no gate."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.model.source import SourceReport
    from callgate.ports import Source
    from callgate.runtime.desk import GateDesk

_log = logging.getLogger("callgate")


@dataclass(slots=True, eq=False)
class Attached:
    """A source in use."""

    source: Source
    desk: GateDesk
    report: SourceReport
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Loading the same source twice at once would let the older answer win."""

    async def close(self) -> None:
        """Let the source go, whatever it does."""
        self.desk.close()
        try:
            await self.source.close()
        except Exception as error:  # noqa: BLE001 - others still have to be closed
            _log.warning("source %s did not close: %s", self.source.name, type(error).__name__)
