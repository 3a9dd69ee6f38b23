"""A call's story: each recorded event in the words of a person, with its reasons and what it says besides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from callgate.model.decision import Decision
from callgate.model.event import Event
from callgate.model.shapes import as_mapping, as_sequence

_TOLD = {
    "tool_call.attempted": ("It passed the gate, and the tool was started", "plain"),
    "tool_call.succeeded": ("It ended well", "good"),
    "tool_call.failed": ("It failed", "bad"),
    "tool_call.timed_out": ("It took too long and was given up", "bad"),
    "tool_call.unknown": ("Nobody knows whether it happened", "warn"),
    "tool_call.refused": ("It was refused before anything happened", "bad"),
    "tool_call.deduped": ("It was answered from the ledger and not run again", "plain"),
    "tool_call.settled_late": ("The tool ended after it had been given up", "warn"),
    "tool_call.resolved": ("Somebody found out whether it happened", "good"),
    "tool_call.progress": ("It said how far it is", "plain"),
    "gate.previewed": ("It was shown and not run", "plain"),
    "gate.required": ("A person has to decide first", "warn"),
    "gate.denied": ("Risk and autonomy together refused it", "bad"),
    "approval.approved": ("A person said yes", "good"),
    "approval.rejected": ("A person said no", "bad"),
    "approval.answered": ("A person answered instead of letting it run", "plain"),
    "approval.expired": ("Nobody decided in time", "bad"),
    "approval.edited": ("A person changed the arguments and said yes", "good"),
    "approval.withdrawn": ("The question was taken back", "plain"),
    "approval.used": ("The approval was used up: one yes, one run", "plain"),
    "approval.goes_on": ("The run that it was used for stopped at a call inside, and goes on", "plain"),
    "health.changed": ("What is behind the tool became healthier or worse", "plain"),
    "approval.voted": ("One of several people said yes", "good"),
}
_FIRST = (
    "by",
    "reason",
    "why",
    "text",
    "note",
    "message",
    "what",
    "arguments",
    "output",
    "error",
    "effect",
    "cause",
    "duration_ms",
)
_QUIET = frozenset({*_FIRST, "decision", "tool", "source", "principal", "session", "user", "role", "state", "votes"})
"""Told at the top of the page, or on their own."""
_NOTHING: tuple[Any, ...] = (None, "", [], {}, ())


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a story."""

    title: str
    tone: str
    type: str
    at: float
    trace: str
    verdict: str
    risk: str
    autonomy: str
    reasons: tuple[dict[str, Any], ...]
    facts: tuple[tuple[str, Any], ...]
    more: tuple[tuple[str, Any], ...]
    """What only a machine asks for: keys, digests, ids."""
    erased: bool
    place: str
    """Where it stands in the record."""


def step_of(event: Event) -> Step:
    """An event as a step of the story of its call."""
    title, tone = _TOLD.get(event.type, (event.type.replace(".", ": ").replace("_", " "), "plain"))
    payload = event.payload or {}
    decision = as_mapping(payload.get("decision")) or {}
    return Step(
        title=title,
        tone=tone,
        type=event.type,
        at=event.time,
        trace=event.trace,
        verdict=str(decision.get("verdict", "")),
        risk=str(decision.get("risk", "")),
        autonomy=str(decision.get("autonomy", "")),
        reasons=tuple(told_reasons(decision)),
        facts=tuple(_facts(payload)),
        more=tuple(_more(payload)),
        erased=event.payload is None,
        place=f"event {event.sequence} of stream {event.stream}, {event.hash[:16]}",
    )


def told_decision(decision: Decision) -> dict[str, Any]:
    """A decision as its page tells it."""
    body = decision.to_json()
    return {"code": "", **body, "reasons": told_reasons(body)}


def told_reasons(decision: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every reason of a decision, each with a step, a text, and the verdict it asks for or none."""
    found = [as_mapping(reason) or {} for reason in as_sequence(decision.get("reasons")) or ()]
    return [{"step": "", "text": "", "verdict": "", **reason} for reason in found]


def _facts(payload: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What people look for first; of an error its own words, what it is called, and what to do."""
    for name in _FIRST:
        value = payload.get(name)
        error = as_mapping(value) if name == "error" else None
        if error is not None and isinstance(error.get("error"), str):
            told = (("error", error["error"]), ("code", error.get("code")), ("advice", error.get("suggestion")))
            yield from ((title, text) for title, text in told if text)
        elif value not in _NOTHING:
            yield name, value


def _more(payload: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in payload.items() if name not in _QUIET and value not in _NOTHING]
