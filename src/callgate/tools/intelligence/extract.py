"""Extract: what one source file defines and where it names something. Runs in a process apart; knows no index.

Grammars are large programs in C, and files are written by strangers: whoever calls this can be stopped.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from callgate.tools.intelligence.languages import PARSED, Language, grammar
from callgate.tools.intelligence.notes import Rows, beginning, note_on, signature_of
from callgate.tools.intelligence.words import names_in, spoken

if TYPE_CHECKING:
    import tree_sitter

REFERENCES = {"name": "n", "attribute": "a", "type": "t", "call": "c", "inherit": "h", "import": "i", "module": "m"}
"""Kinds of references, the telling ones last, and how they are written down; a module is a step on an import's way."""
_OWNERS = frozenset({"class", "struct", "interface", "trait", "enum", "scope"})
_NO_REFERENCE = frozenset({"self", "cls", "this", "super", "_"})
_MOST_SYMBOLS = 20_000
_LONGEST_NAME = 200
_CHUNK, _SHORTEST = 50, 8
"""Lines that are searched as one piece, and how many it has before a new definition begins the next."""
_TEMPLATE = re.compile(r"<[^<>]*>")
_SEPARATOR = re.compile(r"::|\.")


@dataclass(slots=True)
class _Definition:
    """Something that is defined, before it is known in what."""

    node: tree_sitter.Node
    parts: list[str]
    """Its name, with what stands before it in the source."""
    kind: str
    start: int
    end: int
    rank: int
    owner: list[str] = field(default_factory=list[str])
    """What it turned out to lie in."""

    @property
    def span(self) -> tuple[int, int]:
        """From where to where it goes."""
        return self.start, self.end


def extract(content: bytes, language: str) -> dict[str, Any]:
    """Symbols, references and pieces of text of a file.

    Args:
        content: The file.
        language: As `language_of` says; one without a grammar has text only.
    """
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    symbols: list[dict[str, Any]] = []
    references: dict[str, str] = {}
    if language in PARSED:
        import tree_sitter  # noqa: PLC0415 - an extra

        root = tree_sitter.Parser(grammar(language)).parse(content).root_node
        rows = Rows(content)
        found, named = _definitions(root, PARSED[language])
        symbols = [_symbol(definition, language, rows=rows) for definition in found]
        references = _references(root, PARSED[language], named=named, rows=rows)
    starts = sorted({symbol["line"] for symbol in symbols})
    return {"lines": len(lines), "symbols": symbols, "references": references, "chunks": _chunks(lines, starts)}


@functools.cache
def _query(language: str, which: int) -> tree_sitter.Query:
    import tree_sitter  # noqa: PLC0415 - an extra

    return tree_sitter.Query(grammar(language), PARSED[language].queries[which])


def _definitions(root: tree_sitter.Node, language: Language) -> tuple[list[_Definition], set[int]]:
    """What is defined, each with what it lies in, and where the names of them stand."""
    import tree_sitter  # noqa: PLC0415 - an extra

    best: dict[int, _Definition] = {}
    for rank, captures in tree_sitter.QueryCursor(_query(language.name, 0)).matches(root):
        made = _read(captures, rank)
        if made is None:
            continue
        at = captures["name"][0].start_byte
        if at not in best or rank < best[at].rank:
            best[at] = made
        if len(best) >= _MOST_SYMBOLS:
            break
    ordered = sorted(best.values(), key=lambda each: (each.start, -each.end))
    kept = _nest(ordered, modules_own=language.modules_own)
    named = {at for at, each in best.items() if each.kind != "scope"}
    return kept, named


def _read(captures: dict[str, list[tree_sitter.Node]], rank: int) -> _Definition | None:
    kind = next((name for name in captures if name.startswith("definition.") or name == "scope"), None)
    names = captures.get("name")
    if kind is None or not names:
        return None
    node = captures[kind][0]
    parts = _parts(names[0])
    if "owner" in captures:
        parts = [*_parts(captures["owner"][0]), *parts]
    if not parts:
        return None
    return _Definition(node, parts, kind.rpartition(".")[2], node.start_byte, node.end_byte, rank)


def _parts(node: tree_sitter.Node) -> list[str]:
    text = beginning(node.text or b"", _LONGEST_NAME)
    bare = _TEMPLATE.sub("", text).strip("\"':#` \t\n")
    return [part.strip() for part in _SEPARATOR.split(bare) if part.strip()]


def _nest(ordered: list[_Definition], *, modules_own: bool) -> list[_Definition]:
    """Find for each what it lies in; leave out what is no definition by itself."""
    around: list[_Definition] = []
    seen: set[tuple[str, ...]] = set()
    kept: list[_Definition] = []
    for each in ordered:
        # What one statement defines together (`a, b = 1, 2`) lies beside, and not inside, each other.
        while around and (around[-1].end <= each.start or around[-1].span == each.span):
            around.pop()
        owner = _owner(each, around, modules_own=modules_own)
        around.append(each)
        if owner is None:
            continue
        each.owner = owner
        once = (*owner, *each.parts)
        if each.kind == "scope" or (each.kind == "field" and once in seen):
            continue
        seen.add(once)
        kept.append(each)
    return kept


def _owner(each: _Definition, around: list[_Definition], *, modules_own: bool) -> list[str] | None:
    """The names around it; None for a field of nothing."""
    owners = around
    if each.kind == "field":
        # `self.name = …` stands in a method and belongs to the class around that.
        while owners and owners[-1].kind not in _OWNERS and not (modules_own and owners[-1].kind == "module"):
            owners = owners[:-1]
        if not owners:
            return None
    inside = owners[-1].kind if owners else ""
    if each.kind == "function" and (inside in _OWNERS or (modules_own and inside == "module") or len(each.parts) > 1):
        each.kind = "method"
    if each.kind == "function" and inside == "field":
        each.kind = "method"
    return [*owners[-1].owner, *owners[-1].parts] if owners else []


def _symbol(each: _Definition, language: str, *, rows: Rows) -> dict[str, Any]:
    return {
        "name": each.parts[-1],
        "qualified": ".".join((*each.owner, *each.parts)),
        "kind": each.kind,
        "line": rows.line_of(each.start),
        "end": rows.line_of(max(each.start, each.end - 1)),
        "signature": signature_of(each.node),
        "doc": note_on(each.node, language, rows=rows),
    }


def _references(root: tree_sitter.Node, language: Language, *, named: set[int], rows: Rows) -> dict[str, str]:
    """By name: its lines, each with its kind."""
    import tree_sitter  # noqa: PLC0415 - an extra

    captures = tree_sitter.QueryCursor(_query(language.name, 1)).captures(root)
    kinds: dict[int, tuple[tree_sitter.Node, str]] = {}
    for kind, letter in REFERENCES.items():
        for node in captures.get(f"reference.{kind}", ()):
            kinds[node.start_byte] = (node, letter)
    found: dict[str, list[str]] = {}
    for at in sorted(kinds.keys() - named):
        node, letter = kinds[at]
        name = (node.text or b"").decode("utf-8", "replace")
        if name not in _NO_REFERENCE and len(name) <= _LONGEST_NAME:
            found.setdefault(name, []).append(f"{rows.line_of(at)}{letter}")
    return {name: "".join(places) for name, places in found.items()}


def _chunks(lines: list[str], starts: list[int]) -> list[tuple[int, int, str]]:
    """Pieces of text as first line, last line and words; new ones begin where definitions do."""
    pieces: list[tuple[int, int, str]] = []
    beginnings = set(starts)
    first = 1
    words: list[str] = []
    for number, line in enumerate(lines, 1):
        length = number - first
        if length >= _CHUNK or (length >= _SHORTEST and number in beginnings):
            pieces.append((first, number - 1, spoken(words)))
            first, words = number, []
        words += names_in(line)
    pieces.append((first, len(lines), spoken(words)))
    return [piece for piece in pieces if piece[2]]
