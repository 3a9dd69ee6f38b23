"""Edits: what a person changed in a canvas, in words an agent can work by. Pure."""

from __future__ import annotations

from typing import Any

from .canvas import Arrow, Canvas
from .drawing import MARK

_SHOWN = 300
"""Characters that say which card is meant."""
_TOLD = 4000
"""Characters of what a person wrote."""
_AROUND = 60
"""Characters before and after what was corrected."""
_LINES = {(False, True): "→", (True, False): "←", (True, True): "↔", (False, False): "—"}
"""By where there is a head: at the start, at the end."""


def changes(now: Canvas, before: Canvas | None) -> dict[str, Any]:
    """Constraints, and a summary of what changed.

    Args:
        now: As the person left it.
        before: As it was exported; None: what was exported is told by its marks, and what is gone cannot be known.
    """
    old = before if before is not None else _drawn(now)
    added = [card for name, card in now.cards.items() if name not in old.cards]
    gone = [card for name, card in old.cards.items() if name not in now.cards]
    kept = [(old.cards[name], card) for name, card in now.cards.items() if name in old.cards]
    edited = [(was, card) for was, card in kept if was.text != card.text]
    linked = [arrow for name, arrow in now.arrows.items() if name not in old.arrows]
    led = [(old.arrows[name], arrow) for name, arrow in now.arrows.items() if old.arrows.get(name, arrow) != arrow]
    cut = [arrow for name, arrow in old.arrows.items() if name not in now.arrows]
    return {
        "constraints": [
            *(_constraint("added", _told(_plain(card.text))) for card in added if card.text.strip()),
            *(_constraint("rejected", _short(card.text)) for card in gone),
            *(_corrected(was.text, card.text) for was, card in edited),
            *(_constraint("linked", _said(arrow, now)) for arrow in linked),
            *(_constraint("relinked", _said(arrow, now)) | {"before": _said(was, old)} for was, arrow in led),
            *(_constraint("unlinked", _said(arrow, old)) for arrow in cut),
        ],
        "changes_summary": {
            "cards_added": len(added),
            "cards_removed": len(gone),
            "cards_edited": len(edited),
            "links_added": len(linked),
            "links_changed": len(led),
            "links_removed": len(cut),
            "compared_with": "the baseline" if before is not None else "the marks of what was exported",
        },
    }


def _drawn(now: Canvas) -> Canvas:
    cards = {name: card for name, card in now.cards.items() if name.startswith(MARK)}
    return Canvas(cards, {name: arrow for name, arrow in now.arrows.items() if name.startswith(MARK)})


def _constraint(kind: str, text: str) -> dict[str, Any]:
    return {"kind": kind, "text": text}


def _corrected(was: str, now: str) -> dict[str, Any]:
    """Both texts; of long ones the part where they differ, with a little of what is around it."""
    old, new = _plain(was), _plain(now)
    if max(len(old), len(new)) <= _SHOWN:
        return _constraint("corrected", new) | {"before": old}
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    return _constraint("corrected", _part(new, start=start, end=end)) | {"before": _part(old, start=start, end=end)}


def _alike(one: str, other: str) -> int:
    """How many characters they begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _part(text: str, *, start: int, end: int) -> str:
    """The text without what is the same at its start and its end, but for a little."""
    first, last = max(0, start - _AROUND), min(len(text), len(text) - end + _AROUND)
    return f"{'…' if first else ''}{_told(text[first:last])}{'…' if last < len(text) else ''}"


def _said(arrow: Arrow, canvas: Canvas) -> str:
    start, end = (
        _short(canvas.cards[name].text) if name in canvas.cards else name for name in (arrow.start, arrow.end)
    )
    line = _LINES[arrow.heads]
    return f"{start} {line} {_told(_plain(arrow.label)) or 'leads to'} {line} {end}"


def _told(text: str) -> str:
    """The whole text, or both its ends and how much there is between them."""
    left_out = len(text) - _TOLD
    if left_out <= 0:
        return text
    return f"{text[: _TOLD // 2]} … ({left_out} characters are not told) … {text[-_TOLD // 2 :]}"


def _short(text: str) -> str:
    plain = _plain(text)
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"


def _plain(text: str) -> str:
    return " ".join(text.split())
