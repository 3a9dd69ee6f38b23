"""Drawing: recorded calls as a canvas. A thought is a `thread_push`; what was called before it is its evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from .canvas import GREEN, MOST_BYTES, MOST_PARTS, ORANGE, PURPLE, RED, Arrow, Canvas, Card

Calls = Sequence[dict[str, Any]]
MARK = "callgate-"
"""Ids of what was drawn begin so: what a person adds has others."""

_THOUGHT = "thread_push"
_COLUMN, _ROW = 440, 220
_SHOWN = 600
_ROOM = 0.95
"""How full a canvas gets that could not hold all: calls are not all of one size."""
_BEFORE = 3
"""How many calls before a failure are drawn with it."""
_OLDER = f"{MARK}older"
_STANDS = {
    "started": "has not ended",
    "pending": "waits for a person",
    "resumed": "was let through by a person, in a later call",
    "unknown": "has an unknown end: whether it happened is not known",
    "refused": "was refused",
    "failed": "failed",
}
_WRONG = ("failed", "refused", "unknown")
_COLOURS = {"decision": GREEN, "insight": GREEN, "research": PURPLE, "thought": None}


def session_graph(calls: Calls, *, evidence: bool) -> Canvas:
    """The calls in their order; thoughts among them, or alone without evidence."""
    canvas, last = Canvas(), None
    for row, call in enumerate(call for call in calls if evidence or call["tool"] == _THOUGHT):
        card = _card(call, column=0, row=row)
        canvas.add(card)
        if last is not None:
            canvas.add(_arrow(last, card, label="then"))
        last = card
    return canvas


def hypothesis_graph(calls: Calls, *, evidence: bool) -> Canvas:
    """The thoughts of every thread, one after the other, and beside each the calls that came before it."""
    canvas = Canvas()
    threads: dict[str, Card] = {}
    columns: dict[str, int] = {}
    behind: list[dict[str, Any]] = []
    for row, call in enumerate(calls):
        if call["tool"] != _THOUGHT or call["status"] != "succeeded":
            behind.append(call)
            continue
        thread = str(_arguments(call).get("thread_id", ""))
        column = columns.setdefault(thread, len(columns) * 2)
        card = _card(call, column=column, row=row)
        canvas.add(card)
        if thread in threads:
            canvas.add(_arrow(threads[thread], card, label="leads to"))
        threads[thread] = card
        for place, one in enumerate(behind if evidence else ()):
            proof = _card(one, column=column + 1, row=row + place)
            canvas.add(proof, _arrow(proof, card, label="evidence"))
        behind.clear()
    return canvas


def failure_graph(calls: Calls, *, evidence: bool) -> Canvas:
    """What went wrong or has an unknown end, what came right before it, and the next try of the same tool."""
    canvas, tries = Canvas(), _next_tries(calls)
    for row, call in enumerate(calls):
        if call["status"] not in _WRONG:
            continue
        failed = _card(call, column=1, row=row)
        canvas.add(failed)
        if evidence:
            for place, one in enumerate(calls[max(0, row - _BEFORE) : row]):
                before = _card(one, column=0, row=max(0, row - _BEFORE) + place)
                canvas.add(*(() if before.id in canvas.cards else (before,)), _arrow(before, failed, label="before"))
        again = tries[row]
        if again is not None:
            retry = _card(calls[again], column=2, row=row)
            canvas.add(*(() if retry.id in canvas.cards else (retry,)), _arrow(failed, retry, label="tried again"))
    return canvas


def _next_tries(calls: Calls) -> list[int | None]:
    """For each call, where the next one of the same tool is."""
    seen: dict[Any, int] = {}
    found: list[int | None] = [None] * len(calls)
    for row in range(len(calls) - 1, -1, -1):
        found[row] = seen.get(calls[row]["tool"])
        seen[calls[row]["tool"]] = row
    return found


GRAPHS = {"hypothesis": hypothesis_graph, "failure": failure_graph, "session": session_graph}


class Drawing(NamedTuple):
    """A canvas that can be read back, and how many calls are not in it."""

    canvas: Canvas
    content: bytes
    left_out: int


def draw(graph: str, calls: Calls, *, evidence: bool, left_out: int = 0) -> Drawing:
    """The graph of as many of the newest calls as a canvas may hold; a card says how many older ones there are."""
    while True:
        canvas = GRAPHS[graph](calls, evidence=evidence)
        if left_out:
            canvas.add(_older(left_out))
        content = canvas.to_bytes()
        over = max(len(content) / MOST_BYTES, len(canvas.cards) / MOST_PARTS, len(canvas.arrows) / MOST_PARTS)
        if over <= 1:
            return Drawing(canvas, content, left_out)
        fewer = int(len(calls) / over * _ROOM)
        left_out += len(calls) - fewer
        calls = calls[len(calls) - fewer :]


def _older(left_out: int) -> Card:
    text = f"**{left_out} older calls are not drawn**\n\nOnly the newest ones are on this canvas."
    return Card(id=_OLDER, text=text, x=0, y=-_ROW, color=ORANGE)


def _card(call: dict[str, Any], *, column: int, row: int) -> Card:
    arguments = _arguments(call)
    thought = call["tool"] == _THOUGHT and call["status"] == "succeeded" and arguments
    text, colour = _thought(arguments) if thought else _called(call)
    return Card(id=f"{MARK}{call['call']}", text=text, x=column * _COLUMN, y=row * _ROW, color=colour)


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    """What it was called with; nothing where that was erased or cut."""
    found: Any = call["args"]
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _thought(arguments: dict[str, Any]) -> tuple[str, str | None]:
    kind = str(arguments.get("entry_type") or "thought")
    return f"**{kind}** ({arguments.get('thread_id')})\n\n{_short(arguments.get('content'))}", _COLOURS.get(kind)


def _called(call: dict[str, Any]) -> tuple[str, str | None]:
    name, asked = f"**{call['tool']}**", _short(call["args"])
    if call["status"] == "succeeded":
        return f"{name}\n\n{asked}\n\n→ {_short(call['result'])}", None
    why = "" if call["error"] is None else f"\n\n{_short(call['error'])}"
    colour = RED if call["success"] is False else ORANGE
    return f"{name} {_STANDS.get(call['status'], call['status'])}\n\n{asked}{why}", colour


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _arrow(start: Card, end: Card, *, label: str) -> Arrow:
    name = f"{start.id}-{end.id.removeprefix(MARK)}"
    return Arrow(id=name, start=start.id, end=end.id, label=label)
