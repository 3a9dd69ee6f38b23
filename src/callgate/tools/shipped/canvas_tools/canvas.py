"""JSON Canvas: cards and arrows in a file, read with care and written in one form. Knows no calls."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

MOST_PARTS = 20_000
MOST_BYTES = 8 * 1024 * 1024

RED, ORANGE, GREEN, PURPLE = "1", "2", "4", "6"
"""Colours of the format's own palette."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A card with a text."""

    id: str
    text: str
    x: int = 0
    y: int = 0
    width: int = 360
    height: int = 160
    color: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As the format writes it."""
        body: dict[str, Any] = {"id": self.id, "type": "text", "text": self.text}
        body |= {"x": self.x, "y": self.y, "width": self.width, "height": self.height}
        return body if self.color is None else body | {"color": self.color}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An arrow from one card to another."""

    id: str
    start: str
    end: str
    label: str = ""
    heads: tuple[bool, bool] = (False, True)
    """Whether it has a head at its start, and at its end."""

    def to_json(self) -> dict[str, Any]:
        """As the format writes it."""
        body = {"id": self.id, "fromNode": self.start, "toNode": self.end}
        return body if not self.label else body | {"label": self.label}


@dataclass(slots=True)
class Canvas:
    """Cards and arrows."""

    cards: dict[str, Card] = field(default_factory=dict[str, Card])
    arrows: dict[str, Arrow] = field(default_factory=dict[str, Arrow])

    def add(self, *parts: Card | Arrow) -> None:
        """Add parts; one of the same id takes the place of the former."""
        for part in parts:
            if isinstance(part, Card):
                self.cards[part.id] = part
            else:
                self.arrows[part.id] = part

    def to_bytes(self) -> bytes:
        """The file."""
        body = {"nodes": _all(self.cards.values()), "edges": _all(self.arrows.values())}
        return (json.dumps(body, ensure_ascii=False, indent="\t") + "\n").encode()


def _all(parts: Iterable[Card | Arrow]) -> list[dict[str, Any]]:
    return [part.to_json() for part in parts]


def read_canvas(content: bytes, name: str) -> Canvas:
    """The canvas in a file; cards that are no text (files, links, groups) count by what they name.

    Raises:
        ValueError: It is none.
    """
    try:
        body: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is no JSON Canvas: {error}") from None
    if not isinstance(body, dict):
        raise ValueError(f"{name} is no JSON Canvas: it is no object")  # noqa: TRY004 - it is the file that is wrong
    document = cast("dict[str, Any]", body)
    nodes, edges = _list(document, "nodes", name=name), _list(document, "edges", name=name)
    canvas = Canvas()
    canvas.add(*(_card(node, name) for node in nodes), *(_arrow(edge, name) for edge in edges))
    return canvas


def _list(document: dict[str, Any], key: str, *, name: str) -> list[dict[str, Any]]:
    found: Any = document.get(key, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in cast("list[Any]", found)):
        raise ValueError(f"{name} is no JSON Canvas: {key} is no list of objects")
    entries = cast("list[dict[str, Any]]", found)
    if len(entries) > MOST_PARTS:
        raise ValueError(f"{name} has {len(entries)} {key}; at most {MOST_PARTS} are read")
    return entries


def _card(node: dict[str, Any], name: str) -> Card:
    found = (_text(node.get(key)) for key in ("text", "label", "file", "url"))
    return Card(id=_id(node, "id", name=name), text=next((text for text in found if text), ""))


def _arrow(edge: dict[str, Any], name: str) -> Arrow:
    start, end = _id(edge, "fromNode", name=name), _id(edge, "toNode", name=name)
    heads = (edge.get("fromEnd", "none") == "arrow", edge.get("toEnd", "arrow") == "arrow")
    return Arrow(id=_id(edge, "id", name=name), start=start, end=end, label=_text(edge.get("label")), heads=heads)


def _id(body: dict[str, Any], key: str, *, name: str) -> str:
    found: Any = body.get(key)
    if not isinstance(found, str) or not found:
        raise ValueError(f"{name} is no JSON Canvas: a part has no {key}")
    return _sound(found)


def _text(found: Any) -> str:
    return _sound(found) if isinstance(found, str) else ""


def _sound(text: str) -> str:
    """Half of a pair of surrogates is no character, and could not be told on; JSON can write it all the same."""
    return text.encode("utf-8", "replace").decode()
