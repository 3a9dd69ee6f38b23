"""Events of health: what the end of a call says about the system behind the tool, and the event when that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.errors import StoreError
from callgate.model.event import Draft
from callgate.model.levels import HealthStatus, Severity
from callgate.model.outcome import Outcome, Succeeded
from callgate.pipeline.trouble import resets_at, status_of
from callgate.registry.health import ANY_HOST, connector_of, speaks_of_connector

if TYPE_CHECKING:
    from callgate.model.health import Health
    from callgate.model.levels import Category
    from callgate.pipeline.executed import Executed
    from callgate.pipeline.parts import Parts


def note_health(parts: Parts, executed: Executed, outcome: Outcome) -> None:
    """Tell the board how the call went. A success of a healthy connector costs two look-ups."""
    tool, now, board = executed.permit.tool, parts.clock.now(), parts.health
    connector = tool.connector or tool.name  # as `connector_of`, without the call
    if isinstance(outcome, Succeeded) and board.went_well(connector, now):
        return
    error = outcome.error
    if executed.cancelled or (error is None and not isinstance(outcome, Succeeded)):
        return
    before = board.of(connector)
    if error is None:
        board.succeeded(connector, now)
    else:
        resets, counts = _said_of_connector(executed, error.category)
        board.failed(connector, error.message, now, resets_at=resets, counts=counts)
    after = board.of(connector)
    if before.status is not after.status:
        _tell(parts, executed, before.status, after)


def _said_of_connector(executed: Executed, category: Category) -> tuple[float | None, bool]:
    """When the rate limit of all behind the tool ends, and whether the trouble counts against it."""
    raised = executed.error
    if ANY_HOST in executed.permit.tool.capabilities:
        # Whoever asks for a page that is down must not take the tool from everybody else.
        return None, False
    if raised is None:
        return None, speaks_of_connector(category)
    return resets_at(raised), speaks_of_connector(category, status=status_of(raised))


def _tell(parts: Parts, executed: Executed, before: HealthStatus, after: Health) -> None:
    payload = {
        "connector": connector_of(executed.permit.tool),
        "status": after.status.value,
        "was": before.value,
        "last_error": after.last_error,
        "consecutive_errors": after.consecutive_errors,
    }
    draft = Draft(
        type="health.changed",
        time=parts.clock.now(),
        trace=executed.permit.context.trace_id,
        call=executed.permit.asked.call_id,
        severity=Severity.WARNING if after.status is not HealthStatus.HEALTHY else Severity.INFO,
        payload=payload,
    )
    try:
        parts.store.behind(draft)
    except StoreError:
        return
