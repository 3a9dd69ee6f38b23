"""Every exception Callgate raises, told apart by what the caller may do next.

`Refusal`: nothing happened. `ExecutionError`: something may have. `ConfigurationError`: fix the file or the
declaration. `StoreError`: the store cannot be trusted right now. This module knows no other module of Callgate.
"""

from __future__ import annotations

from typing import Any, ClassVar


class CallgateError(Exception):
    """Anything Callgate raises on purpose."""


class ConfigurationError(CallgateError):
    """A declaration, a configuration file or an argument of the operator is wrong; nothing was started.

    Args:
        message: What is wrong and what to write instead.
        file: The file it was found in.
        line: The line, counted from 1.
        key: The dotted key, `roles.assistant.allow[0]`.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, key: str | None = None
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.key = key
        super().__init__(message)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (place, self.key, self.message) if part)


class ToolError(CallgateError):
    """Something about one tool or one call of it."""

    code: ClassVar[str] = "failed"

    def __init__(self, message: str, *, info: Any = None) -> None:
        self.message = message
        self.info = info
        """The `ErrorInfo` of the outcome this error was made from, where there is one."""
        super().__init__(message)

    def __str__(self) -> str:
        return self.message


class Refusal(ToolError):
    """The call was refused, and nothing happened."""

    code = "refused"


class ToolNotFoundError(Refusal, KeyError):
    """No tool of that name is registered."""

    code = "tool_not_found"


class ToolQuarantinedError(Refusal):
    """The tool changed since someone trusted it."""

    code = "tool_quarantined"


class ToolUnavailableError(Refusal):
    """The tool is known and cannot be called now."""

    code = "tool_unavailable"


class InvalidArguments(Refusal, ValueError):
    """The arguments do not fit the tool's schema; `faults` has every one of them."""

    code = "invalid_arguments"

    def __init__(self, message: str, *, faults: tuple[str, ...] = (), info: Any = None) -> None:
        self.faults = faults or (message,)
        super().__init__(message, info=info)


class ToolPermissionError(Refusal, PermissionError):
    """Policy, scopes or the tool's own check say no."""

    code = "policy_denied"


class PolicyDenied(ToolPermissionError):
    """A layer, a rule, a resource or the tool's own check refuses the call."""


class ScopeViolation(ToolPermissionError):
    """The context lacks a scope the tool requires."""

    code = "scope_violation"


class IdempotencyConflict(Refusal):
    """The key was used for another tool or other arguments."""

    code = "idempotency_conflict"


class InFlight(Refusal):
    """A call with this key is still running."""

    code = "in_flight"


class OutcomeUnknown(Refusal):
    """An earlier attempt ended without a known outcome; somebody must look before it runs again."""

    code = "outcome_unknown"


class GateDenied(Refusal):
    """Risk and autonomy together say no."""

    code = "gate_denied"


class LimitExceeded(Refusal):
    """A limit on calls, concurrency or amounts is used up."""

    code = "limit_exceeded"


class ApprovalVoid(Refusal):
    """What was approved is not what would run."""

    code = "approval_void"


class ApprovalRejected(Refusal):
    """A person said no."""

    code = "approval_rejected"


class ApprovalAnswered(Refusal):
    """A person answered instead of letting the call run."""

    code = "approval_answered"


class ApprovalExpired(Refusal):
    """Nobody decided in time."""

    code = "approval_expired"


class AssuranceTooLow(Refusal):
    """The decision needs a more certain identity than the one that gave it."""

    code = "assurance_too_low"


class ApprovalRequired(Refusal):
    """A person has to decide first; `approval_id` says about which question."""

    code = "approval_required"

    def __init__(self, message: str, *, approval_id: str = "", expires_at: float = 0.0, info: Any = None) -> None:
        self.approval_id = approval_id
        self.expires_at = expires_at
        super().__init__(message, info=info)


class PreviewRequired(Refusal):
    """The call was shown, not run; `preview` has what the tool would do, `supported` whether it could say."""

    code = "preview_required"

    def __init__(self, message: str, *, preview: Any = None, supported: bool = False, info: Any = None) -> None:
        self.preview = preview
        self.supported = supported
        super().__init__(message, info=info)


class StoreError(CallgateError):
    """The store failed: full, locked, read-only, gone, or not what it should be."""


class RowUnreadable(StoreError):
    """A row of the store is not what was written there: somebody edited it."""


class StoreUnavailable(Refusal, StoreError):
    """The store cannot take a record, so the call was refused before any effect."""

    code = "store_unavailable"


class ExecutionError(ToolError):
    """The handler was entered, so something may have happened."""

    code = "handler_failed"


class ToolExecutionError(ExecutionError):
    """The handler failed."""


class ToolTimeoutError(ExecutionError, TimeoutError):
    """The handler did not end within its time limit."""

    code = "timed_out"


class ToolOutcomeUnknown(ExecutionError):
    """Whether the effect happened cannot be known from here."""

    code = "outcome_unknown"


class NoEffect(CallgateError):
    """Raised by a handler to say: I failed, and nothing outside has changed. Frees the key of the call."""


class NothingThere(CallgateError, ValueError):
    """Raised by a handler: what its arguments name is not there. `details` are told with the error, struck."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class SkillNotFoundError(ToolError):
    """No skill of that name is registered."""

    code = "skill_not_found"


class NotFound(CallgateError, KeyError):
    """Nothing has that id or key."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "not found"


class ApprovalNotFound(NotFound):
    """No approval has that id."""


class GrantNotFound(NotFound):
    """No grant has that id."""


class OutcomeNotFound(NotFound):
    """The ledger has no such key, or no judged call that id."""


class CredentialNotFound(NotFound):
    """No credential has that id."""


class EntryRefused(CallgateError):
    """Somebody at a network door is not let in, or not to this. The message never says which part was right."""


class ProgramNotFound(NotFound):
    """No such program."""


class Conflict(CallgateError):
    """What is asked does not fit what is so."""


class ApprovalConflict(Conflict):
    """The approval is no longer pending, or this person may not decide it."""


class OutcomeConflict(Conflict):
    """The outcome is settled otherwise, may still change, or this person may not resolve it."""


class ProgramConflict(Conflict):
    """The program runs elsewhere, is another one, or what was kept of it cannot be trusted."""


class ProgramFailed(CallgateError):
    """The program has no value: it failed, or has not finished."""


class SecretNotFound(CallgateError, KeyError):
    """The secrets store has no value for that connector and key. The message names the pair, never a value."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else "Unknown secret"


class SecretsClosed(CallgateError):
    """Secrets can only be asked for inside a running handler."""


class SignInNeeded(CallgateError):
    """A server wants somebody to sign in before it takes anything; the message says how."""


class SignInFailed(CallgateError):
    """Nobody is signed in at a server after trying: it was refused, led elsewhere than it may, or took too long."""


class KeyMissing(ConfigurationError, StoreError):
    """The root key that a store, a record or a file was made with is not there. A new one is never made instead."""

    code: ClassVar[str] = "key_missing"


class MalformedResponse(CallgateError, ValueError):
    """A model's response, or a turn that was kept, cannot be read: no known shape, or calls without an id.

    Nothing was run.
    """


class LoopInterrupted(CallgateError):
    """A loop with a model ended in the middle: the provider failed, or a function of the caller's. The cause says how.

    Nothing of the response that failed was run. `state` is where to go on from: what was done before is in it.
    """

    def __init__(self, message: str, *, state: dict[str, Any]) -> None:
        self.state = state
        super().__init__(message)


class AuditBroken(StoreError):
    """The audit log does not verify."""
