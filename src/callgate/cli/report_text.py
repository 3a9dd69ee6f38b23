"""What a verification found, for a person and as an exit code."""

from __future__ import annotations

from typing import Any

from callgate.cli.exit_codes import ExitCode
from callgate.cli.moments import moment
from callgate.cli.screen import Cell, Screen


def show_report(screen: Screen, report: Any, *, what: str) -> None:
    """The verdict first, then what is wrong, then how far it is proven."""
    size = f"{report.events} events in {len(report.streams)} streams"
    if report.ok:
        screen.say(f"verified: {what}, {size}", style="green")
    else:
        screen.say(f"broken: {what}, {size}", style="red")
        for problem in report.problems:
            screen.say(f"- {problem}", indent=2, style="red")
    screen.facts(_facts(report), indent=2)
    for note in report.notes:
        screen.say(f"note: {note}", indent=2)


def code_of_report(*, ok: bool) -> ExitCode:
    """The exit code."""
    return ExitCode.SUCCEEDED if ok else ExitCode.AUDIT_BROKEN


def _facts(report: Any) -> list[tuple[str, str | Cell]]:
    place = report.broken_at
    return [
        ("broken at", "" if place is None else Cell(str(place), "red")),
        ("signed until", moment(report.signed_until) or "never"),
        ("not signed yet", f"{report.unsigned} events" if report.unsigned else ""),
        ("anchored until", moment(report.anchored_until)),
        ("not anchored", f"since {moment(report.unanchored_since)}" if report.unanchored_since else ""),
        ("checked with", ", ".join(report.keys)),
    ]
