"""Exporting: tools of an open gate in another framework's hands, where its texts and keys are those of every model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from callgate.adapters.langchain.choices import Choices, Options, Reply
from callgate.adapters.langchain.export import export
from callgate.model.canonical import dumps
from callgate.runtime.call_key import call_key
from callgate.runtime.telling import is_error, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool
    from callgate.runtime.anywhere import Anywhere


class GateDoor:
    """What an exported tool has of the gate."""

    def __init__(self, anywhere: Anywhere[Any]) -> None:
        self.call = anywhere.call
        self.call_blocking = anywhere.call_blocking

    def reply(self, outcome: Outcome) -> Reply:
        """What a model reads of an outcome."""
        return Reply(told(outcome), is_error=is_error(outcome))

    def key(self, call_id: str, context: Context, *, thread: str | None) -> str:
        """The key of a tool call: of the session, or of a thread that outlives it in whoever keeps the thread."""
        if thread is None:
            return call_key(call_id, context)
        return f"call:sha256:{hashlib.sha256(dumps(['thread', thread, call_id])).hexdigest()}"


def export_tools(
    anywhere: Callable[[], Anywhere[Any]],
    tools: Iterable[Tool],
    *,
    wires: Mapping[str, str],
    context: Context,
    options: Options,
) -> list[Any]:
    """These tools as LangChain's.

    Raises:
        ConfigurationError: LangChain is not installed, or the gate is not open.
    """
    chosen: dict[str, Any] = {"context": context, **options}
    choices = Choices(**chosen)
    return export(tools, wires=wires, door=GateDoor(anywhere()), choices=choices)
