"""Texts that a query takes for names: `[?name == "Alice"]` compares with a field called Alice, and finds nothing.

So it is by JMESPath's rules, and hardly ever meant. Such a name is let pass where something that is filtered has it,
or whatever else it was taken of, and where it stands beside a literal, which nobody compares with a text.
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
_TAKE_ON = frozenset({"subexpression", "pipe", "projection", "value_projection", "index_expression"})
"""What stands behind the first part of these is asked of what that part gives."""
_NO_TEXT = re.compile(r"-?[0-9]+(\.[0-9]+)?|true|false|null")


class TextsAsNames:
    """What one query compares with, and what there was while it was answered."""

    def __init__(self, tree: Any) -> None:
        self._suspects = {id(field): (field["value"], is_deeper) for field, is_deeper in _suspects(tree)}
        self._not_found: dict[tuple[str, bool], None] = {}
        self._found: set[str] = set()
        self._filtered: list[list[Any]] = []

    def filtered(self, elements: list[Any]) -> None:
        """Some elements are filtered."""
        if self._suspects:
            self._filtered.append(elements)

    def taken(self, field: Any, of: Any) -> None:
        """A field is taken of something."""
        suspect = self._suspects.get(id(field))
        if suspect is None:
            return
        if isinstance(of, dict) and suspect[0] in of:
            self._found.add(suspect[0])
        else:
            self._not_found[suspect] = None

    def need_names(self) -> None:
        """Whether each name was one.

        Raises:
            ValueError: Nothing that was filtered has it.
        """
        missing = [suspect for suspect in self._not_found if suspect[0] not in self._found]
        known = {at_any_depth: self._names(at_any_depth=at_any_depth) for at_any_depth in {deep for _, deep in missing}}
        for name, is_deeper in missing:
            if name not in known[is_deeper]:
                raise ValueError(
                    f"query compares with the field {brief(name)}, which nothing that is filtered has; {_meant(name)}"
                )

    def _names(self, *, at_any_depth: bool) -> set[str]:
        """Those that what was filtered has, or what is in it, too: for what is asked of such."""
        names: set[str] = set()
        seen: set[int] = set()  # the same part may be in many
        left: list[Any] = [one for each in self._filtered for one in each]
        while left:
            one = left.pop()
            if not isinstance(one, (dict, list)) or id(cast("object", one)) in seen:
                continue
            seen.add(id(cast("object", one)))
            names.update(cast("dict[str, Any]", one) if isinstance(one, dict) else ())
            if at_any_depth:
                left += cast("dict[str, Any]", one).values() if isinstance(one, dict) else cast("list[Any]", one)
        return names


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


def _suspects(tree: Any) -> Iterator[tuple[Any, bool]]:
    """The fields that may be meant for texts, or for truth values, and whether they are asked of something deeper."""
    left: list[tuple[Any, bool, bool]] = [(tree, False, False)]
    while left:
        node, is_inside, is_deeper = left.pop()
        children: list[Any] = [child for child in node["children"] if isinstance(child, dict)]
        if is_inside:
            yield from ((field, is_deeper) for field in _compared(node, children) if _may_be_text(field))
        for at, child in enumerate(children):
            is_condition = node["type"] == "filter_projection" and at == len(children) - 1
            leads_on = node["type"] == "expref" or (at > 0 and node["type"] in {*_TAKE_ON, "filter_projection"})
            left.append((child, is_inside or is_condition, not is_condition and (is_deeper or leads_on)))


def _compared(node: Any, children: list[Any]) -> list[Any]:
    if node["type"] == "function_expression" and node["value"] == "contains":
        return children[1:]
    is_plain = node["type"] == "comparator" and all(child["type"] != "literal" for child in children)
    return children if is_plain else []


def _may_be_text(node: Any) -> bool:
    return node["type"] == "field" and (QUOTED in node or node["value"] in _TRUTHS)


def _meant(name: str) -> str:
    shown = brief(name)
    if _NO_TEXT.fullmatch(name):
        return f"write `{shown}` (in backquotes), or for a text '{shown}'"
    raw = brief(name.replace("'", "\\'"))
    return f"write a text as '{raw}' or `{json.dumps(shown, ensure_ascii=False)}` (in backquotes)"
