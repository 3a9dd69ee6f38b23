"""Exit codes: what a script learns about how a command ended. One table for outcomes, one for errors."""

from __future__ import annotations

import enum

from callgate import errors


class ExitCode(enum.IntEnum):
    """How a command ended."""

    SUCCEEDED = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    PENDING = 4
    UNKNOWN = 5
    STORE = 6
    AUDIT_BROKEN = 7
    FAULT = 70
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.SUCCEEDED: "it succeeded, was previewed, or what was asked for was shown",
    ExitCode.FAILED: "the tool failed, or a check found something wrong",
    ExitCode.USAGE: "what was typed or configured is wrong, or names something that does not exist",
    ExitCode.REFUSED: "refused; nothing happened",
    ExitCode.PENDING: "a person has to decide first",
    ExitCode.UNKNOWN: "whether it happened is not known",
    ExitCode.STORE: "the store cannot be used",
    ExitCode.AUDIT_BROKEN: "the audit log or the evidence does not verify",
    ExitCode.FAULT: "a fault in callgate itself",
    ExitCode.INTERRUPTED: "interrupted",
}

_STATUSES = {
    "succeeded": ExitCode.SUCCEEDED,
    "previewed": ExitCode.SUCCEEDED,
    "failed": ExitCode.FAILED,
    "refused": ExitCode.REFUSED,
    "pending": ExitCode.PENDING,
    "unknown": ExitCode.UNKNOWN,
}

_ERRORS: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (errors.AuditBroken, ExitCode.AUDIT_BROKEN),
    (errors.StoreError, ExitCode.STORE),
    (errors.ConfigurationError, ExitCode.USAGE),
    (errors.ToolNotFoundError, ExitCode.USAGE),
    (errors.NotFound, ExitCode.USAGE),
    (errors.SecretNotFound, ExitCode.USAGE),
    (errors.ToolOutcomeUnknown, ExitCode.UNKNOWN),
    (errors.ExecutionError, ExitCode.FAILED),
    (errors.CallgateError, ExitCode.REFUSED),
)
"""The first kind that fits counts."""


def code_of_status(status: str, error_code: str = "") -> ExitCode:
    """The exit code for an outcome; a call that the store refused is the store's trouble."""
    return ExitCode.STORE if error_code == errors.StoreUnavailable.code else _STATUSES[status]


def code_of_error(error: errors.CallgateError) -> ExitCode:
    """The exit code for an error that Callgate raised on purpose."""
    return next(code for kind, code in _ERRORS if isinstance(error, kind))
