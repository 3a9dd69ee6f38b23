"""Chain: what became of a chain: how each call ended, in which waves, and the record of the whole. A value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from callgate.flows.chain.faults import Diagnostic
from callgate.flows.waves import Waves
from callgate.model.counted import counted
from callgate.model.levels import Caller
from callgate.model.outcome import Outcome, Pending, Succeeded

DEP, SEQ = "dep", "seq"
"""The modes of a chain: in waves, or in sequence."""
WORST_FIRST = ("unknown", "failed", "refused", "previewed", "pending", "waiting")
"""How a chain ended whose last wave ended in several ways: the first of these that one of its calls has."""


@dataclass(slots=True, kw_only=True)
class Step:
    """One call of a chain."""

    index: int
    tool: str
    line: int
    column: int
    key: str
    """Derived from the chain's key and the index."""
    outcome: Outcome | None = None
    """None: it was not made."""

    @property
    def status(self) -> str:
        """How it ended; `waiting` for one that was not made."""
        return "waiting" if self.outcome is None else self.outcome.status


@dataclass(slots=True, kw_only=True)
class Chain:
    """What became of a chain: made by `gate.chain`."""

    chain_id: str
    key: str
    """Call the same chain again under this key, and it goes on where it stopped."""
    mode_requested: str
    mode_used: str
    parallel_mutations_enabled: bool
    waves: Waves = ()
    """The places of the calls, wave by wave, as they were made or would have been."""
    steps: list[Step] = field(default_factory=list[Step])
    fallback_to_seq: bool = False
    fallback_reason: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    """Why the whole was refused, each with line and column; then nothing was made."""
    error: str | None = None
    """Why it was refused, or what stopped it."""
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    """What each name stood for at the end, as far as the chain came."""
    elapsed_ms: float = 0.0

    @property
    def status(self) -> str:
        """succeeded, or how the call ended that stopped it: unknown, failed, refused, previewed, pending."""
        if self.diagnostics:
            return "refused"
        ended = {step.status for step in self.steps}
        return next((status for status in WORST_FIRST if status in ended), "succeeded")

    @property
    def ok(self) -> bool:
        """Whether every call succeeded."""
        return self.status == "succeeded"

    @property
    def outcomes(self) -> list[Outcome | None]:
        """How each call ended, in order; None for those that were not made."""
        return [step.outcome for step in self.steps]

    @property
    def value(self) -> Any:
        """What the last call returned; None unless all succeeded."""
        last = self.steps[-1].outcome if self.ok and self.steps else None
        return last.output if isinstance(last, Succeeded) else None

    @property
    def pending(self) -> list[str]:
        """The approvals that its calls wait for."""
        waiting = [step.outcome for step in self.steps if isinstance(step.outcome, Pending)]
        return list(dict.fromkeys(outcome.approval_id for outcome in waiting))

    @property
    def waiting(self) -> list[int]:
        """The calls that were not made because the chain stopped before them."""
        return [step.index for step in self.steps if step.outcome is None]

    @property
    def record(self) -> dict[str, Any]:
        """The chain in one piece, for logs and responses."""
        return {
            "chain_id": self.chain_id,
            "key": self.key,
            "caller_type": Caller.CHAIN.value,
            "tools": [step.tool for step in self.steps],
            "success": self.ok,
            "status": self.status,
            "mode_requested": self.mode_requested,
            "mode_used": self.mode_used,
            "fallback_to_seq": self.fallback_to_seq,
            "fallback_reason": self.fallback_reason,
            "parallel_mutations_enabled": self.parallel_mutations_enabled,
            "waves": len(self.waves),
            "steps": len(self.steps),
            "wave_timeline": [list(wave) for wave in self.waves],
            "waiting": self.waiting,
            "elapsed_ms": round(self.elapsed_ms, 3),
        }

    def to_human(self) -> str:
        """The chain for a person or a model: how it ended, and each call."""
        size = f": {counted(len(self.steps), 'call')} in {counted(len(self.waves), 'wave')}" if self.steps else ""
        lines = [f"chain {self.status}{size}"]
        if self.error is not None:
            lines.append(self.error)
        lines += [str(diagnostic) for diagnostic in self.diagnostics]
        lines += [self._line(step) for step in self.steps]
        return "\n".join(lines)

    def _line(self, step: Step) -> str:
        told = "not made" if step.outcome is None else f"{step.status}: {step.outcome.to_human()}"
        return f"{step.index + 1}. {step.tool} (line {step.line}) {told}"
