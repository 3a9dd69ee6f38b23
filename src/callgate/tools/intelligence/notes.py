"""Notes: how a definition begins, and the first line of what is written about it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from callgate.model.visible import CUT, cut

if TYPE_CHECKING:
    import tree_sitter

_LONGEST = 200
_LOOKED_AT = 4000
"""Bytes of a definition's beginning."""
_MOST_COMMENTS = 40
_LINE_END = re.compile(rb"\n")
_SPACE = re.compile(r"\s+")
_QUOTES = re.compile(r"""^[rRbBuUfF]{0,2}("{3}|'{3}|"|')|("{3}|'{3}|"|')$""")
_MARKS = re.compile(r"^[\s/*#!<-]+|[\s*/>-]+$")
_WRAPPERS = frozenset(
    {"export_statement", "decorated_definition", "template_declaration", "lexical_declaration", "type_declaration"}
    | {"variable_declaration", "const_declaration", "var_declaration"}
)


class Rows:
    """Which line a byte of a file is in.

    The nodes of the parser know it, too, but the objects that say so are counted wrongly in its version 0.26, and
    the process ends with a crash after some thousands of them.
    """

    def __init__(self, content: bytes) -> None:
        self._ends = [match.start() for match in _LINE_END.finditer(content)]

    def line_of(self, at: int) -> int:
        """Counted from 1."""
        return bisect.bisect_left(self._ends, at) + 1


def beginning(content: bytes, longest: int) -> str:
    """The text, or its first bytes with the mark behind them, by which half a secret is recognised."""
    if len(content) <= longest:
        return content.decode("utf-8", "replace")
    return content[:longest].decode("utf-8", "replace").rstrip("\ufffd") + CUT


def signature_of(node: tree_sitter.Node) -> str:
    """A definition up to its body, on one line."""
    body = _body(node)
    end = node.end_byte if body is None else body.start_byte
    head = beginning((node.text or b"")[: end - node.start_byte], _LOOKED_AT)
    if body is None:
        head = head.split("\n", 1)[0]
    return cut(_SPACE.sub(" ", head).strip().rstrip("{").strip(), _LONGEST)


def _body(node: tree_sitter.Node) -> tree_sitter.Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    value = node.child_by_field_name("value") or node.child_by_field_name("type") or node.child_by_field_name("right")
    return None if value is None else value.child_by_field_name("body") or _listed(value)


def _listed(value: tree_sitter.Node) -> tree_sitter.Node | None:
    """The fields of a Go struct or the methods of an interface, which are no field of the grammar."""
    if value.type not in {"struct_type", "interface_type"}:
        return None
    return value.named_child(0)


def note_on(node: tree_sitter.Node, language: str, *, rows: Rows) -> str:
    """The first line of its docstring, or of the comment right above it."""
    if language == "python":
        return _docstring(node)
    outermost = node
    while outermost.parent is not None and outermost.parent.type in _WRAPPERS:
        outermost = outermost.parent
    lines: list[str] = []
    above, row = outermost.prev_sibling, rows.line_of(outermost.start_byte)
    for _ in range(_MOST_COMMENTS):
        if above is None or "comment" not in above.type or rows.line_of(above.end_byte - 1) < row - 1:
            break
        lines = beginning(above.text or b"", _LOOKED_AT).split("\n") + lines
        above, row = above.prev_sibling, rows.line_of(above.start_byte)
    return _first(_MARKS.sub("", line) for line in lines)


def _docstring(node: tree_sitter.Node) -> str:
    body = node.child_by_field_name("body")
    statement = None if body is None else body.named_child(0)
    string = None if statement is None or statement.type != "expression_statement" else statement.named_child(0)
    if string is None or string.type != "string":
        return ""
    text = beginning(string.text or b"", _LOOKED_AT)
    return _first(_QUOTES.sub("", line.strip()) for line in text.split("\n"))


def _first(lines: Iterable[str]) -> str:
    for line in lines:
        if line.strip():
            return cut(_SPACE.sub(" ", line).strip(), _LONGEST)
    return ""
