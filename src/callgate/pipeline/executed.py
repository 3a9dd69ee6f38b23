"""Executed: how a handler ended. Only `execute` makes one, and what runs a handler takes nothing else."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate.model.tool_context import ToolContext
    from callgate.pipeline.permit import Permit


@dataclass(slots=True, eq=False)
class Executed:
    """How the handler ended, before anybody judged what that means."""

    permit: Permit
    context: ToolContext
    started: float
    task: asyncio.Task[Any]
    """Who waits for it."""
    cancelled_before: int = 0
    """How often that was cancelled, and went on, before the handler was entered."""
    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False
    cancelled: bool = False
    """Somebody outside cancelled the call."""
    entered: bool = False
    came_through: bool = False
    """It returned although it was being stopped: its value counts."""
    tries: int = 1
    lost: tuple[BaseException, ...] = ()
    """How tries before this one ended that may have taken effect: no later one takes that back."""
    ended: float = 0.0
    still_running: asyncio.Future[Any] | None = field(default=None)
    """A handler that outlived its limit; its late result is settled when it comes."""

    def stop(self) -> None:
        """Cancel whoever waits for it, from any thread; where its loop has ended, nobody does."""
        with suppress(RuntimeError):
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    @property
    def past_return(self) -> bool:
        """Whether an effect may have started: its point of no return was passed, also inside, or it marks none."""
        tool, context = self.permit.tool, self.context
        if tool.read_only:
            return self.entered and context.effect_inside
        return self.entered and (context.entered_effect or not tool.marks_effect)

    @property
    def duration_ms(self) -> float:
        """How long it took, to the microsecond."""
        return round((self.ended - self.started) * 1_000_000) / 1000  # rounding to digits takes thrice as long
