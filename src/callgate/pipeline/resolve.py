"""Step 1, resolve: is the tool known, trusted and available?"""

from __future__ import annotations

from dataclasses import dataclass

from callgate.errors import ToolNotFoundError
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.pipeline.parts import Asked, Parts
from callgate.pipeline.stopped import refused


@dataclass(slots=True)
class Resolved:
    """A call of a tool that is there."""

    asked: Asked
    tool: Tool


def resolve(parts: Parts, asked: Asked, *, looking: bool = False) -> Resolved:
    """The tool that is asked for; `looking` takes no turn at a connector that is being probed.

    Raises:
        Stopped: tool_not_found, tool_quarantined, tool_unavailable.
    """
    tool = _trusted(parts, asked)
    down = parts.health.look(tool) if looking else parts.health.available(tool)
    if down is not None:
        raise refused(asked, "tool_unavailable", f"{tool.name} is unavailable: {down}", tool=tool)
    return Resolved(asked, tool)


def resolve_again(parts: Parts, asked: Asked) -> Resolved:
    """The tool as it is by now, for a call that waited and had its turn at the connector already.

    Raises:
        Stopped: tool_not_found, tool_quarantined, tool_unavailable.
    """
    return Resolved(asked, _trusted(parts, asked))


def _trusted(parts: Parts, asked: Asked) -> Tool:
    try:
        tool = parts.unlisted.get(asked.call.tool) or parts.registry.snapshot.get(asked.call.tool)
    except ToolNotFoundError as error:
        away = parts.missing(asked.call.tool)
        if away is not None:
            raise refused(asked, "tool_unavailable", f"{asked.call.tool} is unavailable: {away}") from None
        raise refused(asked, "tool_not_found", str(error)) from None
    changed = parts.quarantined(tool.name)
    if changed is not None:
        raise refused(asked, "tool_quarantined", f"{tool.name} is quarantined: {changed}", tool=tool)
    if not asked.judged and (tool.handler is None or tool.source is Origin.HOST) and tool.unavailable is None:
        text = f"{tool.name} is unavailable here: its host runs it; judge it instead of calling it"
        raise refused(asked, "tool_unavailable", text, tool=tool)
    return tool
