"""Health: whether a connector can be called, and what its last calls said."""

from __future__ import annotations

from dataclasses import dataclass

from callgate.model.levels import HealthStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The health of one connector."""

    status: HealthStatus = HealthStatus.HEALTHY
    last_success_at: float | None = None
    last_error: str | None = None
    """Redacted."""
    last_error_at: float | None = None
    consecutive_errors: int = 0
    rate_limit_resets_at: float | None = None
    opened_at: float | None = None
    """When the circuit opened; None while it is closed."""


HEALTHY = Health()
