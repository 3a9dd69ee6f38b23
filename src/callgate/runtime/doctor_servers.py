"""The MCP servers of a configuration, for the doctor: which can be reached, and how their tools stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.model.counted import counted
from callgate.model.levels import Origin
from callgate.runtime.doctor import NOTE, OK, WRONG, Fact

if TYPE_CHECKING:
    from callgate.model.source import SourceReport
    from callgate.runtime.gate import Callgate
    from callgate.settings.values import Settings


async def look_at_servers(gate: Callgate, settings: Settings) -> list[Fact]:
    """How every configured server stands in an open gate that has just connected to them."""
    return [_server(gate, settings, report) for report in gate.sources() if report.origin is Origin.MCP]


def _server(gate: Callgate, settings: Settings, report: SourceReport) -> Fact:
    title = f"mcp {report.source}"
    if report.missing is not None:
        advice = "until it is there, its tools cannot be called; when it asks for a sign-in, the reason has the command"
        return Fact(title, WRONG, report.missing, advice)
    described = settings.mcp_servers.get(report.source)
    signed_in = ", signed in" if described is not None and described.auth is not None else ""
    undeclared = sum(not gate.tool(name).declared for name in report.tools)
    held = len(report.quarantined)
    text = (
        f"reachable{signed_in}; {counted(len(report.tools), 'tool')}: {len(report.tools) - held} as pinned, "
        f"{held} quarantined, {undeclared} undeclared"
    )
    if held:
        return Fact(title, NOTE, text, f"see: callgate tools diff {report.quarantined[0][0]}")
    if undeclared:
        return Fact(
            title, NOTE, text, f"nobody may call what is undeclared; see: callgate tools review {report.source}"
        )
    return Fact(title, OK, text)
