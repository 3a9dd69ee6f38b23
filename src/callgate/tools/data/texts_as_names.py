"""Texts that a query takes for names: `[?name == "Alice"]` compares with a field called Alice, and finds nothing.

So it is by JMESPath's rules, and hardly ever meant. Such a name is let pass where something that is filtered has it,
and where it stands beside a literal, which nobody compares with a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from callgate.model.visible import brief

QUOTED = "quoted"
"""What the parser notes of a field whose name stands in double quotes."""
_TRUTHS = frozenset({"true", "false"})
_NO_TEXT = re.compile(r"-?[0-9]+(\.[0-9]+)?|true|false|null")


class TextsAsNames:
    """What one query compares with, and what there was while it was answered."""

    def __init__(self, tree: Any) -> None:
        self._suspects = {id(field): field["value"] for field in _suspects(tree)}
        self._not_found: dict[str, None] = {}
        self._filtered: list[list[Any]] = []

    def filtered(self, elements: list[Any]) -> None:
        """Some elements are filtered."""
        if self._suspects:
            self._filtered.append(elements)

    def taken(self, field: Any, of: Any) -> None:
        """A field is taken of something."""
        name = self._suspects.get(id(field))
        if name is not None and not _has(of, name):
            self._not_found[name] = None

    def need_names(self) -> None:
        """Whether each name was one.

        Raises:
            ValueError: Nothing that was filtered has it.
        """
        if not self._not_found:
            return
        known = {name for each in self._filtered for one in each if isinstance(one, dict) for name in _names(one)}
        for name in self._not_found:
            if name not in known:
                raise ValueError(
                    f"query compares with the field {brief(name)}, which nothing that is filtered has; {_meant(name)}"
                )


def in_quotes(tree: Any, function: str) -> str:
    """What to write of the first name in double quotes that a function is given, as the end of a sentence."""
    left = [tree]
    while left:
        node = left.pop()
        children: list[Any] = [child for child in node["children"] if isinstance(child, dict)]
        quoted = [child["value"] for child in children if QUOTED in child]
        if quoted and node["type"] == "function_expression" and node["value"] == function:
            return f"; in double quotes stands the name of a field, {_meant(quoted[0])}"
        left += children
    return ""


def _suspects(tree: Any) -> Iterator[Any]:
    """The fields that may be meant for texts, or for truth values."""
    left: list[tuple[Any, bool]] = [(tree, False)]
    while left:
        node, is_inside = left.pop()
        children: list[Any] = [child for child in node["children"] if isinstance(child, dict)]
        if is_inside:
            yield from filter(_may_be_text, _compared(node, children))
        is_filter = node["type"] == "filter_projection"
        left += [(child, is_inside or (is_filter and at == len(children) - 1)) for at, child in enumerate(children)]


def _compared(node: Any, children: list[Any]) -> list[Any]:
    if node["type"] == "function_expression" and node["value"] == "contains":
        return children[1:]
    is_plain = node["type"] == "comparator" and all(child["type"] != "literal" for child in children)
    return children if is_plain else []


def _may_be_text(node: Any) -> bool:
    return node["type"] == "field" and (QUOTED in node or node["value"] in _TRUTHS)


def _names(one: Any) -> Iterator[str]:
    return iter(cast("dict[str, Any]", one))


def _has(of: Any, name: str) -> bool:
    return isinstance(of, dict) and name in of


def _meant(name: str) -> str:
    shown = brief(name)
    if _NO_TEXT.fullmatch(name):
        return f"write `{shown}` (in backquotes), or for a text '{shown}'"
    raw = brief(name.replace("'", "\\'"))
    return f"write a text as '{raw}' or `{json.dumps(shown, ensure_ascii=False)}` (in backquotes)"
