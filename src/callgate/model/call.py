"""Call: a request to run a tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

CallStatus = Literal[
    "started", "succeeded", "failed", "unknown", "refused", "deduped", "previewed", "pending", "resumed"
]
"""How a call in the record stands."""
CALL_STATUSES: tuple[CallStatus, ...] = get_args(CallStatus)


class Call(NamedTuple):
    """A request to run a tool: name, arguments, and optionally an id of the asker's and a key."""

    tool: str
    arguments: Mapping[str, Any]
    id: str | None = None
    """The asker's own id for this request (a provider's call id, say)."""
    key: str | None = None
    """The idempotency key of this call alone."""
    distinct: bool = False
    """A new effect on purpose, although an equal call has an unknown outcome."""
    timeout: float | None = None
