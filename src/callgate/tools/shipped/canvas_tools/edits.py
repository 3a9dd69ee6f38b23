"""Edits: what a person changed in a canvas, in words an agent can work by. Pure."""

from __future__ import annotations

from typing import Any

from .canvas import Arrow, Canvas
from .drawing import MARK

_SHOWN = 300


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
    cut = [arrow for name, arrow in old.arrows.items() if name not in now.arrows]
    return {
        "constraints": [
            *(_constraint("added", card.text) for card in added if card.text.strip()),
            *(_constraint("rejected", card.text) for card in gone),
            *(_constraint("corrected", card.text) | {"before": _short(was.text)} for was, card in edited),
            *(_constraint("linked", _said(arrow, now)) for arrow in linked),
            *(_constraint("unlinked", _said(arrow, old)) for arrow in cut),
        ],
        "changes_summary": {
            "cards_added": len(added),
            "cards_removed": len(gone),
            "cards_edited": len(edited),
            "links_added": len(linked),
            "links_removed": len(cut),
            "compared_with": "the baseline" if before is not None else "the marks of what was exported",
        },
    }


def _drawn(now: Canvas) -> Canvas:
    cards = {name: card for name, card in now.cards.items() if name.startswith(MARK)}
    return Canvas(cards, {name: arrow for name, arrow in now.arrows.items() if name.startswith(MARK)})


def _constraint(kind: str, text: str) -> dict[str, Any]:
    return {"kind": kind, "text": _short(text)}


def _said(arrow: Arrow, canvas: Canvas) -> str:
    start, end = (
        _short(canvas.cards[name].text) if name in canvas.cards else name for name in (arrow.start, arrow.end)
    )
    return f"{start} → {arrow.label or 'leads to'} → {end}"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
