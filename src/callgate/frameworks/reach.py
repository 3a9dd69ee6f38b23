"""Reaching a gate from a framework: from whatever loop that runs on, and in the conversation that it knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from callgate.model.context import Context

if TYPE_CHECKING:
    from callgate.runtime.anywhere import Anywhere
    from callgate.runtime.blocking import BlockingCallgate
    from callgate.runtime.gate import Callgate

AnyGate: TypeAlias = "Callgate | BlockingCallgate"
_DEFAULT_SESSION = Context().session


def way_to(gate: AnyGate) -> Anywhere[Callgate]:
    """The way to a gate, open by now.

    Raises:
        ConfigurationError: It is not open.
    """
    return cast("Anywhere[Callgate]", gate.anywhere())


def asker(gate: AnyGate, own: Context | None, *, conversation: str | None) -> Context:
    """Who asks: as was said, else the gate's own; the session that is everybody's becomes the conversation.

    Raises:
        ConfigurationError: The gate is not open.
    """
    context = own or cast("Context", gate.context)
    if conversation is None or context.session != _DEFAULT_SESSION:
        return context
    return replace(context, session=conversation)
