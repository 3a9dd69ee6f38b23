"""What may be chosen for exported tools, and what they need of a gate. Loads nothing of LangChain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict

from callgate.model.context import Context

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome, Pending

ContextOf = Callable[[Mapping[str, Any]], Context]
"""From LangChain's configuration of one run to who asks in it."""


class Reply(NamedTuple):
    """What a model reads of an outcome."""

    text: str
    is_error: bool


class Door(Protocol):
    """What an exported tool needs of a gate: calls from any thread and any loop, its words and its keys."""

    def reply(self, outcome: Outcome) -> Reply:
        """What a model reads of an outcome."""
        ...

    def key(self, call_id: str, context: Context, *, thread: str | None) -> str:
        """The key of a tool call with that id, in that thread of a graph."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, context: Context | None = None, wait: float | None = None
    ) -> Outcome:
        """Call a tool, from any loop."""
        ...

    def call_blocking(
        self, tool: str, arguments: Mapping[str, Any], *, context: Context | None = None, wait: float | None = None
    ) -> Outcome:
        """Call a tool, from any thread but that of the gate's own loop."""
        ...


class SharedOptions(TypedDict, total=False):
    """What may be chosen for exported tools, whoever asks."""

    wait: float | None
    """Seconds to wait for a person where one has to decide; Pending at once when left out."""
    on_pending: Callable[[Pending], Any] | None
    """Called when a person has to decide, where the call is made: LangGraph's `interrupt`, say. If it returns, the call
    is made once more, and what comes then is told."""
    handle_tool_error: Any
    """As LangChain has it: True tells the model, False raises."""
    keys: bool
    """Whether the id of a tool call is the key of its effect, so that a replayed graph does nothing twice."""


class Options(SharedOptions, total=False):
    """What may be chosen for the tools of a pool."""

    context: ContextOf
    """Who asks, said for each call; the asker of the pool when left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The options, and who asks."""

    context: Context | ContextOf
    wait: float | None = None
    on_pending: Callable[[Pending], Any] | None = None
    handle_tool_error: Any = True
    keys: bool = True
