"""Step 1, resolve: is the tool known, trusted and available?"""

from __future__ import annotations

from callgate.errors import ToolNotFoundError
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.pipeline.parts import Asked, Parts
from callgate.pipeline.stopped import refused


def resolve(parts: Parts, asked: Asked, *, looking: bool = False) -> Tool:
    """The tool that is asked for; `looking` takes no turn at a connector that is being probed.

    Raises:
        Stopped: tool_not_found, tool_quarantined, tool_unavailable.
    """
    snapshot = parts.registry.snapshot
    tool = snapshot.find(asked.call.tool)
    if tool is None:
        raise _not_found(parts, asked)
    changed = parts.quarantined(tool.name)
    if changed is not None:
        raise refused(asked, "tool_quarantined", f"{tool.name} is quarantined: {changed}", tool=tool)
    if tool.unavailable is not None or (not asked.judged and (tool.handler is None or tool.source is Origin.HOST)):
        why = tool.unavailable or "it is run by its host; judge it instead of calling it"
        raise refused(asked, "tool_unavailable", f"{tool.name} is unavailable: {why}", tool=tool)
    down = parts.health.look(tool) if looking else parts.health.available(tool)
    if down is not None:
        raise refused(asked, "tool_unavailable", f"{tool.name} is unavailable: {down}", tool=tool)
    return tool


def _not_found(parts: Parts, asked: Asked) -> Exception:
    try:
        parts.registry.snapshot.get(asked.call.tool)
    except ToolNotFoundError as error:
        return refused(asked, "tool_not_found", str(error))
    return refused(asked, "tool_not_found", f"Unknown tool: {asked.call.tool}")
