"""What counts as an answer: its kind, and what that kind needs. Does not know whose it is, nor what it is about."""

from __future__ import annotations

from collections.abc import Mapping

from callgate.ports import Answer

_KINDS = ("approve", "reject", "respond", "edit", "wait")


def fault_of(given: object) -> str | None:
    """Why something is no answer; None where it is one. Another word, taken as it is, would read as a no."""
    if not isinstance(given, Answer):
        return f'{given!r} is no callgate.ports.Answer, as Answer("approve", by="ann") is'
    if given.kind not in _KINDS:
        return f"Answer({given.kind!r}) is of no kind; there are {', '.join(_KINDS)}"
    if not (isinstance(given.text, str) and isinstance(given.by, str)):  # pyright: ignore[reportUnnecessaryIsInstance] - programs write anything
        return "the text and the name in an Answer are texts"
    return _lacking(given)


def _lacking(answer: Answer) -> str | None:
    if answer.arguments is not None and not isinstance(answer.arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - as above
        return f"the arguments in an Answer are a mapping of all of them, not {answer.arguments!r}"
    if answer.kind == "edit" and answer.arguments is None:
        return 'an edit needs its arguments: Answer("edit", arguments={...})'
    if answer.kind == "respond" and not answer.text.strip():
        return 'an answer for the model needs words: Answer("respond", text="...")'
    return None
