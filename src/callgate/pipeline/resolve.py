"""Step 1, resolve: is the tool known, trusted and available?"""

from __future__ import annotations

from dataclasses import dataclass

from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.pipeline.parts import Asked, Parts
from callgate.pipeline.stopped import Stopped, refused
from callgate.registry.snapshot import not_found

_HOST = Origin.HOST  # looking a member up takes longer than the rest of this step


@dataclass(slots=True)
class Resolved:
    """A call of a tool that is there."""

    asked: Asked
    tool: Tool


def resolve(parts: Parts, asked: Asked) -> Resolved:
    """The tool that is asked for. Where its connector is being probed, the claim takes the turn: few get that far.

    Raises:
        Stopped: tool_not_found, tool_quarantined, tool_unavailable.
    """
    tool = _trusted(parts, asked)
    down = parts.health.look(tool)
    if down is not None:
        raise refused(asked, "tool_unavailable", f"{tool.name} is unavailable: {down}", tool=tool)
    return Resolved(asked, tool)


def resolve_again(parts: Parts, asked: Asked) -> Resolved:
    """The tool as it is by now, for a call that waited; whether its connector can be called is asked in the claim.

    Raises:
        Stopped: tool_not_found, tool_quarantined, tool_unavailable.
    """
    return Resolved(asked, _trusted(parts, asked))


def _trusted(parts: Parts, asked: Asked) -> Tool:
    name = asked.call.tool
    tool = parts.unlisted.get(name) or parts.registry.snapshot.find(name)
    if tool is None:
        raise _not_there(parts, asked)
    changed = parts.quarantined(tool.name)
    if changed is not None:
        raise refused(asked, "tool_quarantined", f"{tool.name} is quarantined: {changed}", tool=tool)
    if (tool.handler is None or tool.source is _HOST) and not asked.judged and tool.unavailable is None:
        text = f"{tool.name} is unavailable here: its host runs it; judge it instead of calling it"
        raise refused(asked, "tool_unavailable", text, tool=tool)
    return tool


def _not_there(parts: Parts, asked: Asked) -> Stopped:
    name = asked.call.tool
    away = parts.missing(name)
    if away is not None:
        return refused(asked, "tool_unavailable", f"{name} is unavailable: {away}")
    return refused(asked, "tool_not_found", str(not_found(name, ())))
