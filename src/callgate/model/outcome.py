"""Outcome: how a call ended. Six kinds; only Succeeded is ok."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from callgate import errors
from callgate.model.decision import Decision
from callgate.model.levels import Category, Happened
from callgate.model.tool import Preview

PROTOCOL_VERSION = 1


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInfo:
    """What went wrong, for a model and for a person. Redacted."""

    code: str
    message: str
    category: Category = Category.RUNTIME
    tool: str = ""
    retryable: bool = False
    suggestion: str | None = None
    """Something a model can act on."""
    faults: tuple[str, ...] = ()
    """Every fault of invalid arguments."""
    details: dict[str, Any] = field(default_factory=_nothing)

    def to_json(self) -> dict[str, Any]:
        """The seeds' error shape: error, category, tool, suggestion, and more."""
        body: dict[str, Any] = {
            "error": self.message,
            "code": self.code,
            "category": self.category.value,
            "tool": self.tool,
            "retryable": self.retryable,
        }
        if self.suggestion:
            body["suggestion"] = self.suggestion
        if self.faults:
            body["faults"] = list(self.faults)
        return body | self.details | body  # a tool that names its details replaces nothing of this


@dataclass(slots=True, kw_only=True)
class Outcome:
    """How a call ended. Use the six kinds.

    Not frozen, only because making a frozen one costs a read more than its handler does; nothing reads it back.
    """

    status: ClassVar[str] = ""
    tool: str
    call_id: str
    trace_id: str = ""
    key: str | None = None
    """The idempotency key it ran under, given or made."""
    error: ErrorInfo | None = None
    decision: Decision | None = None
    duration_ms: float = 0.0
    deduped: bool = False
    """Answered from the ledger."""
    side_effects: tuple[str, ...] = ()
    """Declared by the tool."""
    metadata: dict[str, Any] = field(default_factory=_nothing)
    cause: BaseException | None = field(default=None, repr=False, compare=False)
    """The handler's own exception, in the process that ran it."""

    @property
    def ok(self) -> bool:
        """True only for Succeeded."""
        return False

    @property
    def output(self) -> Any:
        """What the tool returned, where it did."""
        return None

    def unwrap(self) -> Any:
        """The output.

        Raises:
            ToolError: The typed error of anything but Succeeded; the handler's own exception is its `__cause__`.
        """
        raise self._raised() from self.cause

    def _raised(self) -> errors.ToolError:
        code = self.error.code if self.error else "failed"
        kind = _ERRORS.get(code, errors.ToolExecutionError)
        return kind(self.error.message if self.error else self.status, info=self.error)

    def to_human(self) -> str:
        """One text for a person."""
        return f"[ERROR] {self.error.message if self.error else self.status}"

    def __str__(self) -> str:
        return f"{self.tool} {self.status}: {self.to_human()}"

    def to_machine(self) -> dict[str, Any]:
        """The envelope of protocol version 1, seven keys and no others."""
        return {
            "protocol_version": PROTOCOL_VERSION,
            "ok": self.ok,
            "status": "success" if self.ok else "error",
            "output": self.output if self.ok else (self.error.message if self.error else None),
            "side_effects_declared": list(self.side_effects),
            "requires_approval": False,
            "metadata": self._facts() | self.metadata,
        }

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"outcome": self.status, "tool": self.tool, "call_id": self.call_id}
        if self.key is not None:
            facts["key"] = self.key
        if self.error is not None:
            facts["error"] = self.error.to_json()
        if self.deduped:
            facts["deduped"] = True
        return facts


@dataclass(slots=True, kw_only=True)
class Succeeded(Outcome):
    """The handler ended well."""

    status: ClassVar[str] = "succeeded"
    value: Any = None

    @property
    def ok(self) -> bool:
        """True: this is the one kind that is."""
        return True

    @property
    def output(self) -> Any:
        """What the tool returned, secrets struck."""
        return self.value

    def unwrap(self) -> Any:
        """The output."""
        return self.value

    def to_human(self) -> str:
        """The output as text."""
        return self.value if isinstance(self.value, str) else str(self.value)


@dataclass(slots=True, kw_only=True)
class Failed(Outcome):
    """The handler failed; `happened` says what it may have left behind."""

    status: ClassVar[str] = "failed"
    happened: Happened = Happened.NONE


@dataclass(slots=True, kw_only=True)
class Unknown(Outcome):
    """Whether the effect happened cannot be known from here."""

    status: ClassVar[str] = "unknown"
    value: Any = None
    """What the handler returned, when only the record of it failed."""

    def _raised(self) -> errors.ToolError:
        return errors.ToolOutcomeUnknown(self.error.message if self.error else "outcome unknown", info=self.error)

    @property
    def output(self) -> Any:
        """What the handler returned, when only the record of it failed."""
        return self.value


@dataclass(slots=True, kw_only=True)
class Refused(Outcome):
    """Nothing happened, and why."""

    status: ClassVar[str] = "refused"


@dataclass(slots=True, kw_only=True)
class Pending(Outcome):
    """A person has to decide first."""

    status: ClassVar[str] = "pending"
    approval_id: str = ""
    expires_at: float = 0.0
    lasting: bool = field(default=True, compare=False)
    """Whether its store outlives the process; else nobody outside of it can decide."""

    def _raised(self) -> errors.ToolError:
        return errors.ApprovalRequired(
            f"{self.tool} waits for a person: approval {self.approval_id}",
            approval_id=self.approval_id,
            expires_at=self.expires_at,
            info=self.error,
        )

    def to_human(self) -> str:
        """The seeds' line for a call that waits, and nothing else; `str(outcome)` says what waits, and why."""
        return f"[PENDING APPROVAL] Side effects: {', '.join(self.side_effects) or 'none'}"

    def __str__(self) -> str:
        why = "" if self.decision is None else f" ({'; '.join(self.decision.asks)})"
        return f"{self.tool} {self.status}: approval {self.approval_id} waits for a person{why}; {self._next()}"

    def _next(self) -> str:
        if self.lasting:
            return f"to look at it: callgate approvals show {self.approval_id}"
        decide = f"await gate.approve({self.approval_id!r}, by='NAME')"
        return f"its store is in memory, so only this program can decide it: {decide}"

    def to_machine(self) -> dict[str, Any]:
        """Pending counts as ok in the envelope: nothing went wrong."""
        return {
            "protocol_version": PROTOCOL_VERSION,
            "ok": True,
            "status": "pending_approval",
            "output": None,
            "side_effects_declared": list(self.side_effects),
            "requires_approval": True,
            "metadata": self._facts() | {"approval_id": self.approval_id} | self.metadata,
        }


@dataclass(slots=True, kw_only=True)
class Previewed(Outcome):
    """Shown, not run."""

    status: ClassVar[str] = "previewed"
    preview: Preview | None = None
    supported: bool = False
    """Whether the tool could say what it would do."""

    def _raised(self) -> errors.ToolError:
        return errors.PreviewRequired(
            self._told(),
            preview=self.preview,
            supported=self.supported,
            info=self.error,
        )

    def to_human(self) -> str:
        """What would happen."""
        if self.preview is None:
            return f"[PREVIEW] {self.tool} cannot say what it would do; nothing was run"
        return f"[PREVIEW] {self.preview.text}"

    def to_machine(self) -> dict[str, Any]:
        """A preview is no success: its text says that nothing was run, its metadata what would be."""
        shown = {"supported": self.supported, "text": None if self.preview is None else self.preview.text}
        machine = Outcome.to_machine(self)
        return machine | {"output": self._told(), "metadata": machine["metadata"] | {"preview": shown}}

    def _told(self) -> str:
        return f"{self.tool} was previewed, not run; nothing has changed"


_ERRORS: dict[str, type[errors.ToolError]] = {
    kind.code: kind
    for kind in (
        errors.ToolNotFoundError,
        errors.ToolQuarantinedError,
        errors.ToolUnavailableError,
        errors.InvalidArguments,
        errors.PolicyDenied,
        errors.ScopeViolation,
        errors.IdempotencyConflict,
        errors.InFlight,
        errors.OutcomeUnknown,
        errors.GateDenied,
        errors.LimitExceeded,
        errors.ApprovalVoid,
        errors.ApprovalRejected,
        errors.ApprovalAnswered,
        errors.ApprovalExpired,
        errors.AssuranceTooLow,
        errors.StoreUnavailable,
        errors.ToolExecutionError,
        errors.ToolTimeoutError,
    )
}
