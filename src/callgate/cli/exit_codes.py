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
    UNWRITTEN = 74
    """As programs call it that cannot write (EX_IOERR)."""
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143
    """As shells tell a program that ended by a signal: 128 and its number."""


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
    (errors.SignInFailed, ExitCode.FAILED),
    (errors.CallgateError, ExitCode.REFUSED),
)
"""The first kind that fits counts."""


def code_of_status(status: str, error_code: str = "") -> ExitCode:
    """The exit code for an outcome; a call that the store refused is the store's trouble."""
    return ExitCode.STORE if error_code == errors.StoreUnavailable.code else _STATUSES[status]


def code_of_error(error: errors.CallgateError) -> ExitCode:
    """The exit code for an error that Callgate raised on purpose."""
    return next(code for kind, code in _ERRORS if isinstance(error, kind))
