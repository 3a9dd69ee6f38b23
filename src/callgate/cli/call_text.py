"""Calls and their counts as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from callgate.cli.ids import shortener
from callgate.cli.screen import Cell, Column, Screen
from callgate.model.canonical import dumps

_STYLES = {"succeeded": "green", "failed": "red", "refused": "red", "unknown": "yellow", "pending": "yellow"}
_PERSON = {
    "pending": "is asked",
    "approved": "{by} said yes, not run yet",
    "used": "{by} said yes",
    "rejected": "{by} said no",
    "answered": "{by} answered instead",
    "expired": "nobody in time",
    "withdrawn": "no longer asked",
}
_ENDS = ("succeeded", "failed", "timed_out", "unknown", "refused", "pending", "deduped", "previewed")

_INVOCATION = ("role", "caller_type", "chain_id", "chain_index", "args", "result", "error", "elapsed_ms")


def show_calls(screen: Screen, calls: Iterable[Mapping[str, Any]]) -> None:
    """One line each: how the call stands, and beside it what the person said who was asked."""
    heads = [
        Column("TIME", whole=True),
        Column("TOOL"),
        Column("STATUS"),
        Column("PERSON"),
        Column("BY"),
        Column("CALL", whole=True),
    ]
    listed = list(calls)
    short = shortener(screen, (str(call.get("call", "")) for call in listed))
    screen.table(
        heads,
        [[screen.moment(call.get("asked_at")), *_row(call), short(str(call.get("call", "")))] for call in listed],
    )


_STANDS = {
    "unknown": "has an unknown end",
    "pending": "waits for a person",
    "resumed": "went on in a later call",
}


def show_invocation(screen: Screen, invocation: Mapping[str, Any]) -> None:
    """One call in few lines: what was asked of which tool, for whom, and how it ended."""
    success, status = invocation["success"], invocation["status"]
    ended = {True: "succeeded", False: "did not succeed", None: _STANDS.get(status, "has not ended")}[success]
    screen.say(
        f"{invocation['tool'] or '(erased)'} {ended}", style={True: "green", False: "red", None: "yellow"}[success]
    )
    screen.facts([fact for name in _INVOCATION for fact in _fact(name, invocation[name])], indent=2)


def _fact(name: str, value: Any) -> list[tuple[str, str]]:
    if value is None:
        return []
    return [(name, value if isinstance(value, str) else dumps(value).decode())]


def show_usage(screen: Screen, days: Iterable[Mapping[str, Any]]) -> None:
    """One line per day and tool; how calls ended that did not all succeed."""
    heads = [
        Column("DAY", whole=True),
        Column("TOOL"),
        Column("CALLS"),
        Column("ENDED"),
        Column("AVERAGE"),
        Column("SLOWEST"),
    ]
    screen.table(heads, [_usage(day) for day in days if _total(day)])


def _row(call: Mapping[str, Any]) -> list[str | Cell]:
    status = str(call.get("status", ""))
    code = f" ({call['error_code']})" if call.get("error_code") else ""
    later = " in a later call" if status == "resumed" else ""
    who = str(call.get("principal") or "") + (f" for {call['user']}" if call.get("user") else "")
    shown = Cell(status + later + code, _STYLES.get(status, ""))
    return [str(call.get("tool") or "(erased)"), shown, _person(call), who]


def _person(call: Mapping[str, Any]) -> str:
    """What the person said who was asked; empty where nobody was."""
    words = _PERSON.get(str(call.get("question", "")), "")
    return words.format(by=call.get("decided_by") or "nobody")


def _usage(day: Mapping[str, Any]) -> list[str | Cell]:
    ends = [f"{day[end]} {end.replace('_', ' ')}" for end in _ENDS if day.get(end)]
    measured = day.get("measured", 0)
    average = f"{day['duration_ms'] / measured:.0f} ms" if measured else ""
    slowest = f"{day['slowest_ms']:.0f} ms" if measured else ""
    return [str(day["day"]), str(day["tool"]), str(_total(day)), ", ".join(ends), average, slowest]


def _total(day: Mapping[str, Any]) -> int:
    """How many calls; none where all that asked on a day were let through on another."""
    return sum(day.get(end, 0) for end in _ENDS)
