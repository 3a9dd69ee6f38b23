"""Rows of the ledger for a person, and as JSON. Never the sealed arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callgate.cli.ids import shortener
from callgate.cli.moments import moment
from callgate.cli.opening import settings_of
from callgate.cli.outcome_text import value_text
from callgate.cli.place import Place
from callgate.cli.proposal import Proposals, proposed
from callgate.cli.screen import Cell, Column, Screen
from callgate.model.attempt import Attempt, AttemptState
from callgate.model.canonical import NotCanonical, loads
from callgate.model.levels import Happened
from callgate.model.shapes import as_mapping

_PRIVATE = frozenset({"fingerprint", "final_fingerprint", "sealed_id", "key"})
_STYLES = {"succeeded": "green", "failed": "red", "unknown": "yellow", "started": "cyan"}
_LEFT = {
    Happened.NONE: "without effect",
    Happened.POSSIBLE: "may have taken effect",
    Happened.DONE: "after its effect",
}
_FAILED = {
    Happened.NONE: "it failed without effect, and the key is free",
    Happened.POSSIBLE: "it failed, and may have taken effect",
    Happened.DONE: "it took effect, and failed after that",
}


def attempt_document(attempt: Attempt) -> dict[str, Any]:
    """Everything a person may see of it, as JSON."""
    body = {name: value for name, value in attempt._asdict().items() if name not in _PRIVATE}
    words = {"state": attempt.state.value, "happened": attempt.happened.value if attempt.happened else None}
    return attempt.key._asdict() | body | words | {"outcome": _recorded(attempt)}


def show_attempts(screen: Screen, attempts: Iterable[Attempt]) -> None:
    """One line each."""
    heads = [Column("KEY", whole=True), Column("TOOL"), Column("STATE"), Column("WHY"), Column("SINCE")]
    listed = list(attempts)
    short = shortener(screen, (each.key.key for each in listed))
    rows = [
        [short(each.key.key), each.tool, _state(each), _why(each), screen.moment(each.started_at)] for each in listed
    ]
    screen.table(heads, rows)


def show_attempt(screen: Screen, attempt: Attempt, *, place: Place) -> None:
    """One row in full, and what can be done about it."""
    screen.facts(
        [
            ("key", attempt.key.key),
            ("tool", attempt.tool),
            ("state", _state(attempt)),
            ("why", _why(attempt)),
            ("asked by", f"{attempt.key.principal} in session {attempt.key.session}"),
            ("started", moment(attempt.started_at)),
            ("ended", moment(attempt.ended_at)),
            ("tries", str(attempt.tries)),
            ("approval", attempt.approval_id or ""),
            ("resolved by", attempt.resolved_by or ""),
            ("call", attempt.call_id),
            ("output", _output(attempt)),
        ]
    )
    if attempt.open_question:
        screen.say()
        screen.facts(_ways(attempt, place))


def known_end(attempt: Attempt) -> str:
    """How a row stands that is no open question, in words."""
    if attempt.state is AttemptState.FAILED:
        return _FAILED[attempt.happened or Happened.NONE]
    return "it is still running" if attempt.state is AttemptState.STARTED else f"it {attempt.state.value}"


def _ways(attempt: Attempt, place: Place) -> Proposals:
    key = attempt.key.key
    which = ("--call", attempt.call_id) if attempt.tries > 1 else ()
    # Its module is known here only where somebody named it; `verify` needs the tool.
    module = () if place.modules or settings_of(place).modules else ("--module", "NAME")
    ask = proposed(place, "outcomes", "verify", key, *module, tools=True) if attempt.has_verify else ""
    return [
        ("ask the tool", ask),
        ("it happened", proposed(place, "outcomes", "resolve", key, "--happened", *which)),
        ("it did not", proposed(place, "outcomes", "resolve", key, "--absent", *which)),
        ("its story", proposed(place, "audit", "show", attempt.call_id)),
    ]


def _state(attempt: Attempt) -> Cell:
    return Cell(attempt.state.value, _STYLES[attempt.state.value])


def _why(attempt: Attempt) -> str:
    if attempt.cause:
        return attempt.told_cause
    if attempt.state is not AttemptState.FAILED or attempt.happened is None:
        return ""
    return _LEFT[attempt.happened]


def _output(attempt: Attempt) -> str:
    body = _recorded(attempt) or {}
    if "error" in body:
        return str(body["error"].get("message", ""))
    return value_text(body["output"]) if "output" in body else ""


def _recorded(attempt: Attempt) -> dict[str, Any] | None:
    """What the row keeps of its outcome; a row that somebody edited may hold anything."""
    if attempt.outcome is None:
        return None
    try:
        body = as_mapping(loads(attempt.outcome))
    except NotCanonical:
        body = None
    return {"error": {"message": "cannot be read; see `callgate audit verify`"}} if body is None else dict(body)
