"""Telling: what a model reads of an outcome, short and in words it can act on. Knows no provider."""

from __future__ import annotations

from typing import Any

from callgate.model.canonical import dumps
from callgate.model.levels import Happened
from callgate.model.outcome import Failed, Outcome, Pending, Previewed, Refused, Succeeded, Unknown
from callgate.model.shapes import as_sequence
from callgate.pipeline.recorded import json_form
from callgate.pipeline.shown_reasons import reasons_shown

_LEFT = {
    Happened.NONE: "Nothing was changed.",
    Happened.POSSIBLE: "It may have taken effect all the same: do not repeat it before that is known.",
    Happened.DONE: "It took effect: do not repeat it.",
}


def told(outcome: Outcome) -> str:
    """The text of a result."""
    if isinstance(outcome, Pending):
        return _pending(outcome)
    if isinstance(outcome, Previewed):
        return _previewed(outcome)
    parts = [_headline(outcome), *_edit(outcome)]
    return "\n".join(part for part in parts if part)


def is_error(outcome: Outcome) -> bool:
    """Whether the result is marked as an error. Waiting for a person is none: nothing went wrong."""
    return not isinstance(outcome, Succeeded | Pending)


def reasons(outcome: Pending) -> list[str]:
    """Why a person is asked; of a turn that was kept, as it was told then."""
    if outcome.decision is not None:
        return list(reasons_shown(outcome.decision))
    return [str(reason) for reason in as_sequence(outcome.metadata.get("why")) or ()]


def output_text(value: Any) -> str:
    """An output as text: as it is, or as JSON."""
    if isinstance(value, str):
        return value
    return "Done; it returned nothing." if value is None else dumps(json_form(value)).decode()


def _headline(outcome: Outcome) -> str:
    if isinstance(outcome, Succeeded):
        return output_text(outcome.value)
    if isinstance(outcome, Refused):
        return _trouble("Not run", outcome)
    if isinstance(outcome, Failed):
        left = "" if "read_only" in outcome.side_effects else _LEFT[outcome.happened]
        return _trouble("Failed", outcome, left)
    text = _trouble("Unknown", outcome, "Whether it took effect is not known: do not repeat it.")
    returned = outcome.output if isinstance(outcome, Unknown) else None
    return text if returned is None else f"{text}\nIt returned: {output_text(returned)}"


def _trouble(what: str, outcome: Outcome, left: str = "") -> str:
    error = outcome.error
    if error is None:
        return f"{what}. {left}".strip()
    faults = "; ".join(fault for fault in error.faults if fault not in error.message)
    sentences = (f"{what} ({error.code}): {error.message}", faults, left, error.suggestion or "")
    return " ".join(_sentence(each) for each in sentences if each)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _pending(outcome: Pending) -> str:
    why = "; ".join(reasons(outcome))
    return (
        f"Not run yet: a person has to decide about {outcome.tool} first{f' ({why})' if why else ''}. "
        "Nothing has happened so far. "
        f"Do not call it again; the question is approval {outcome.approval_id}."
    )


def _previewed(outcome: Previewed) -> str:
    if outcome.preview is None:
        return f"Shown only, not run: {outcome.tool} cannot say what it would do. Nothing has changed."
    return f"Shown only, not run; nothing has changed. It would do this:\n{outcome.preview.text}"


def _edit(outcome: Outcome) -> list[str]:
    """The model is told what a person changed."""
    if not outcome.metadata.get("edited"):
        return []
    return [f"A person changed the call before it ran; it ran with {dumps(outcome.metadata['arguments']).decode()}"]
