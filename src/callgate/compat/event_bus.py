"""EventBus: an executor's own words for listening. Only the gate tells something; nobody else can."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from callgate.events.translation import Vocabulary

if TYPE_CHECKING:
    from callgate.events.subscription import Subscription


class EventBus:
    """Hears `tool.call.pending`, `.success`, `.failure` and `.timeout`, and `source.stale`, after they were recorded.

    Args:
        gate: An open gate, async or blocking.
    """

    def __init__(self, gate: Any) -> None:
        self._gate = gate

    def subscribe(self, event_type: str, handler: Callable[..., Any]) -> Subscription:
        """Call `handler` with every event of a type: exact, a glob such as `tool.call.*`, or `*`.

        It gets the `type`, `source`, `severity` and `payload`. One that raises harms nobody.
        """
        return self._gate.on(event_type, handler, vocabulary=Vocabulary.EXECUTOR)

    def unsubscribe(self, leaving: Subscription | Callable[..., Any]) -> bool:
        """Let a subscription go, or all of a handler's; whether there was any."""
        return self._gate.off(leaving)
