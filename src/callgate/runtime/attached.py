"""Attached: a source in use, with its desk and how it stands. Knows no gate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
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


def missing(sources: Mapping[str, Attached], tool: str) -> str | None:
    """Why a tool of that name is not there, where the source that its prefix names has nothing to offer now."""
    prefix = tool.partition(".")[0]
    among = (each for each in sources.values() if getattr(each.source, "prefix", None) == prefix)
    return next((each.report.missing for each in among if each.report.missing is not None), None)
