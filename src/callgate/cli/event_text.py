"""Events for a person: one line each, or the whole story of a call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callgate.cli.moments import moment
from callgate.cli.outcome_text import value_text
from callgate.cli.screen import Cell, Column, Screen
from callgate.model.event import Event
from callgate.model.shapes import as_mapping

_STYLES = {"warning": "yellow", "error": "red", "debug": "dim"}
_TELLING = ("tool", "tool_name", "approval_id", "reason", "message", "cause", "by", "connector", "store_id")


def event_document(event: Event) -> dict[str, Any]:
    """The whole event as JSON."""
    return event.to_json() | {"position": event.position}


def show_events(screen: Screen, events: Iterable[Event]) -> None:
    """One line each."""
    heads = [Column("TIME", whole=True), Column("TYPE"), Column("ABOUT"), Column("CALL", whole=True)]
    rows = [[moment(event.time), _type(event), about(event), event.call or ""] for event in events]
    screen.table(heads, rows)


def tell_event(screen: Screen, event: Event) -> None:
    """An event as it comes, on a line of its own."""
    screen.say(f"{moment(event.time)}  {event.type}  {about(event)}  {event.call or ''}".rstrip())


def show_story(screen: Screen, events: Iterable[Event]) -> None:
    """Each event with everything it says."""
    for event in events:
        screen.say(f"{moment(event.time)}  {event.type}", style=_STYLES.get(event.severity, "bold"))
        if event.payload is None:
            screen.say("its content was erased", indent=2, style="dim")
        else:
            screen.facts([(name, value_text(value)) for name, value in event.payload.items()], indent=2)
        screen.say(f"event {event.sequence} of stream {event.stream}, {event.hash[:16]}", indent=2, style="dim")


def about(event: Event) -> str:
    """What an event is about, in few words of its own."""
    payload: dict[str, Any] = event.payload or {}
    error = as_mapping(payload.get("error")) or {}
    words = [str(payload[name]) for name in _TELLING if isinstance(payload.get(name), str)]
    words += [str(error["error"])] if isinstance(error.get("error"), str) else []
    return "(erased)" if event.payload is None else ", ".join(words)


def _type(event: Event) -> Cell:
    return Cell(event.type, _STYLES.get(event.severity, ""))
