"""Handed: the `ToolContext` of a running handler. What few handlers ask for is worked out when one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.model.tool_context import ToolContext, no_record
from callgate.pipeline.past_calls import RECORD, recorded_calls
from callgate.pipeline.preview import fingerprint_of_state

if TYPE_CHECKING:
    from callgate.model.grounds import Grounds
    from callgate.model.recorded_calls import RecordedCalls
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit


class Handed(ToolContext):
    """Sets by itself what every call needs, and answers from the parts what few handlers ask for."""

    __slots__ = ("_parts", "_permit")

    def __init__(self, parts: Parts, permit: Permit, deadline: float) -> None:
        asked = permit.asked
        context = asked.context
        self._parts = parts
        self._permit = permit
        self.context = context
        self.tool = permit.tool.name
        self.call_id = asked.call_id
        self.key = permit.key
        self.working_directory = (
            context.working_directory or parts.working_directory
        )  # `directory_of`, without the call
        self.deadline = deadline
        self.only_reads = False
        self.reaches = None
        self.on_mark = None
        self.entered_effect = False
        self.effect_inside = False
        self.ends_at = None
        self.closed = False
        self.nested = set()
        self.runs_in = None

    def secret_source(self, connector: str, key: str, /) -> str:
        """A secret, struck from everything from now on."""
        return self._parts.secrets.source(connector, key)

    def progress_sink(self, context: ToolContext, fraction: float | None, note: str, /) -> None:
        """Record how far the handler is."""
        self._parts.progress(context, fraction, note)

    def grounds(self) -> Grounds:
        """Where this call may go."""
        return self._parts.policy.grounds(self._permit.tool, self.context)

    async def recorded(self) -> RecordedCalls:
        """What was recorded of this trace so far, for tools that declare that they want it.

        Raises:
            LookupError: The tool did not.
        """
        if RECORD not in self._permit.tool.capabilities:
            return await no_record()
        return await recorded_calls(self._parts, self.context)

    def is_as_shown(self, state: Any, /) -> bool:
        """Whether this is the `state` of the preview that a person approved."""
        shown = self._permit.shown_state
        return shown is None or fingerprint_of_state(self._parts, state) == shown

    def strike_from_now(self, value: str, *, connector: str, key: str) -> None:
        """Strike a secret that a tool's own store gave it."""
        self._parts.striker.remember(value, connector=connector, key=key)
