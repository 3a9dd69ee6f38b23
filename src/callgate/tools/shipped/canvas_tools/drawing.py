"""Drawing: recorded calls as a canvas. A thought is a `thread_push`; what was called before it is its evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from .canvas import GREEN, ORANGE, PURPLE, RED, Arrow, Canvas, Card

Calls = Sequence[dict[str, Any]]
MARK = "callgate-"
"""Ids of what was drawn begin so: what a person adds has others."""

_THOUGHT = "thread_push"
_COLUMN, _ROW = 440, 220
_SHOWN = 600
_BEFORE = 3
"""How many calls before a failure are drawn with it."""
_COLOURS = {"decision": GREEN, "insight": GREEN, "research": PURPLE, "thought": None}


def session_graph(calls: Calls, *, evidence: bool) -> Canvas:
    """Every call in its order; thoughts among them, or alone without evidence."""
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
        if call["tool"] != _THOUGHT or not call["success"]:
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
    """What went wrong, what came right before it, and the next try of the same tool."""
    canvas = Canvas()
    for row, call in enumerate(calls):
        if call["success"] is not False:
            continue
        failed = _card(call, column=1, row=row)
        canvas.add(failed)
        if evidence:
            for place, one in enumerate(calls[max(0, row - _BEFORE) : row]):
                before = _card(one, column=0, row=max(0, row - _BEFORE) + place)
                canvas.add(*(() if before.id in canvas.cards else (before,)), _arrow(before, failed, label="before"))
        again = next((one for one in calls[row + 1 :] if one["tool"] == call["tool"]), None)
        if again is not None:
            retry = _card(again, column=2, row=row)
            canvas.add(*(() if retry.id in canvas.cards else (retry,)), _arrow(failed, retry, label="tried again"))
    return canvas


GRAPHS = {"hypothesis": hypothesis_graph, "failure": failure_graph, "session": session_graph}


def _card(call: dict[str, Any], *, column: int, row: int) -> Card:
    arguments = _arguments(call)
    text, colour = _thought(arguments) if call["tool"] == _THOUGHT and arguments else _called(call)
    return Card(id=f"{MARK}{call['call']}", text=text, x=column * _COLUMN, y=row * _ROW, color=colour)


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    """What it was called with; nothing where that was erased or cut."""
    found: Any = call["args"]
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _thought(arguments: dict[str, Any]) -> tuple[str, str | None]:
    kind = str(arguments.get("entry_type") or "thought")
    return f"**{kind}** ({arguments.get('thread_id')})\n\n{_short(arguments.get('content'))}", _COLOURS.get(kind)


def _called(call: dict[str, Any]) -> tuple[str, str | None]:
    if call["success"] is None:
        return f"**{call['tool']}** has not ended\n\n{_short(call['args'])}", ORANGE
    if call["success"]:
        return f"**{call['tool']}**\n\n{_short(call['args'])}\n\n→ {_short(call['result'])}", None
    return f"**{call['tool']}** failed\n\n{_short(call['args'])}\n\n{_short(call['error'])}", RED


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _arrow(start: Card, end: Card, *, label: str) -> Arrow:
    name = f"{start.id}-{end.id.removeprefix(MARK)}"
    return Arrow(id=name, start=start.id, end=end.id, label=label)
