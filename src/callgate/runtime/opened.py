"""Opened: what an open gate is made of, shared by the faces of `Callgate`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path
    from typing import Any

    from callgate.events.bus import Bus
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.pipeline.parts import Parts

Proceed = Callable[["Call", "Context"], Awaitable["Outcome"]]
Around = Callable[["Call", "Context", Proceed], Awaitable["Outcome"]]
"""Middleware around a whole call: it may change what is asked and what is answered, never the steps between."""


@dataclass(slots=True, kw_only=True)
class Opened:
    """The parts of an open gate, and what has to be closed with it."""

    parts: Parts
    bus: Bus
    default_context: Context
    anchor_folder: Path | None
    around: tuple[Around, ...] = ()
    tasks: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])
    warned: bool = False


class Face:
    """What the faces of a gate have in common: they work only while it is open."""

    _opened: Opened | None = None

    def _open(self) -> Opened:
        opened = self._opened
        if opened is None:
            raise ConfigurationError("the gate is not open: use `async with Callgate.open(...) as gate:`")
        return opened
