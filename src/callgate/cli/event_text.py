"""Events for a person: one line each, or the whole story of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from callgate.cli.ids import shortener
from callgate.cli.moments import moment
from callgate.cli.screen import Cell, Column, Screen
from callgate.model.canonical import dumps
from callgate.model.event import Event
from callgate.model.shapes import as_mapping, as_sequence

_STYLES = {"warning": "yellow", "error": "red", "debug": "dim"}
TOLD = (
    "tool_call.*",
    "gate.*",
    "approval.*",
    "grant.*",
    "chain.*",
    "tool.changed",
    "tool.quarantined",
    "tool.trusted",
    "health.*",
    "source.*",
    "program.*",
    "agent.*",
    "credential.*",
    "person.*",
    "entry.*",
    "notification.*",
    "audit.erased",
    "audit.restored",
)
"""What people look for; the rest is the record's own: openings, checkpoints, registrations."""
_TELLING = ("tool", "tool_name", "reason", "message", "cause", "by", "connector", "store_id", "program_id", "name")


def event_document(event: Event) -> dict[str, Any]:
    """The whole event as JSON."""
    return event.to_json() | {"position": event.position}


def show_events(screen: Screen, events: Iterable[Event]) -> None:
    """One line each."""
    heads = [Column("TIME", whole=True), Column("TYPE", whole=True), Column("ABOUT"), Column("CALL", whole=True)]
    listed = list(events)
    short = shortener(screen, (event.call or "" for event in listed))
    rows = [[screen.moment(event.time), _type(event), about(event), short(event.call or "")] for event in listed]
    screen.table(heads, rows)


def tell_event(screen: Screen, event: Event) -> None:
    """An event as it comes, on a line of its own."""
    call = shortener(screen, [event.call or ""])(event.call or "")
    screen.say(f"{screen.moment(event.time)}  {event.type}  {about(event)}  {call}".rstrip())


def show_story(screen: Screen, events: Iterable[Event]) -> None:
    """Each event with everything it says."""
    for event in events:
        screen.say(f"{moment(event.time)}  {event.type}", style=_STYLES.get(event.severity, "bold"))
        if event.payload is None:
            screen.say("its content was erased", indent=2, style="dim")
        else:
            screen.facts([fact for item in event.payload.items() for fact in _facts(*item)], indent=2)
        screen.say(f"event {event.sequence} of stream {event.stream}, {event.hash[:16]}", indent=2, style="dim")


def _facts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """A value of a payload on as few lines as it needs; what is empty says nothing."""
    inner = as_mapping(value)
    if value in (None, "", [], {}):
        return
    if name == "decision" and inner is not None:
        yield name, f"{inner.get('verdict')}: {inner.get('risk')} risk at autonomy {inner.get('autonomy')}"
        for reason in as_sequence(inner.get("reasons")) or []:
            about = as_mapping(reason) or {}
            yield f"  {about.get('step')}", str(about.get("text"))
    elif name.endswith("_at") and isinstance(value, int | float):
        yield name, moment(value)
    else:
        yield name, value if isinstance(value, str) else dumps(value).decode()


def about(event: Event) -> str:
    """What an event is about, in few words of its own."""
    payload: dict[str, Any] = event.payload or {}
    error = as_mapping(payload.get("error")) or {}
    words = [str(payload[name]) for name in _TELLING if isinstance(payload.get(name), str)]
    words += [str(error["error"])] if isinstance(error.get("error"), str) else []
    return "(erased)" if event.payload is None else ", ".join(words)


def _type(event: Event) -> Cell:
    return Cell(event.type, _STYLES.get(event.severity, ""))
