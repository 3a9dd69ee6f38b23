"""ToolOutput: the structured envelope of a result, protocol version 1, made from an outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome

_PENDING = "pending_approval"
_ERROR = "error"


@dataclass(slots=True)
class ToolOutput:
    """A result for people (`to_human`) and for programs (`to_machine`)."""

    protocol_version: int = 1
    ok: bool = True
    status: str = "success"
    """success, error or pending_approval."""
    output: Any = None
    side_effects_declared: list[str] = field(default_factory=list[str])
    requires_approval: bool = False
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def from_outcome(cls, outcome: Outcome) -> Self:
        """The envelope of an outcome. Never raises: an error, a refusal and a question are values here."""
        return cls(**outcome.to_machine())

    def to_human(self) -> str:
        """One text for a person."""
        if self.status == _PENDING:
            return f"[PENDING APPROVAL] Side effects: {', '.join(self.side_effects_declared) or 'none'}"
        if self.status == _ERROR:
            return f"[ERROR] {self.output}"
        return self.output if isinstance(self.output, str) else str(self.output)

    def to_machine(self) -> dict[str, Any]:
        """The seven keys of the envelope and no others."""
        return {
            "protocol_version": self.protocol_version,
            "ok": self.ok,
            "status": self.status,
            "output": self.output,
            "side_effects_declared": list(self.side_effects_declared),
            "requires_approval": self.requires_approval,
            "metadata": dict(self.metadata),
        }
