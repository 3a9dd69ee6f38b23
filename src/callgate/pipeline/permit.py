"""Permit: proof that a call passed the gate. Only the claim makes one, only `execute` takes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt
    from callgate.model.context import Context
    from callgate.model.decision import Decision
    from callgate.model.tool import Arguments, Tool
    from callgate.pipeline.parts import Asked
    from callgate.pipeline.threads import Lane


@dataclass(slots=True, eq=False)
class Permit:
    """What may run, once. `used` is set when the handler is entered."""

    asked: Asked
    tool: Tool
    arguments: Arguments
    decision: Decision
    limit: float
    """Seconds the handler may take."""
    key: str | None = None
    row: Attempt | None = None
    """The claimed ledger row; None for reads without a key."""
    durable: bool = False
    """Whether the intent was written before, and the closing event is to be."""
    lane: Lane | None = None
    """The thread place that was taken for it."""
    edited: bool = False
    shown_state: str | None = None
    """What the approval binds of the state that its preview was worked out from."""
    used: bool = field(default=False, init=False)

    def use(self) -> None:
        """The handler is entered now, this once.

        Raises:
            RuntimeError: It was entered before.
        """
        if self.used:
            message = f"the permit of {self.tool.name} was used already"
            raise RuntimeError(message)
        self.used = True

    @property
    def context(self) -> Context:
        """Who asked."""
        return self.asked.context
