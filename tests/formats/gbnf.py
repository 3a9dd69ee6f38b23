"""Reads as much of GBNF as the emitted grammars use, so that a test can ask what a grammar admits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Match = Callable[[str, int], Iterator[int]]
"""(text, from where) -> every place up to which it fits."""
_TOKEN = re.compile(r'\s*("(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|[a-z]+|[()|?*+])')


class Grammar:
    """A grammar; `admits(text)` says whether the whole text is of its language."""

    def __init__(self, source: str) -> None:
        self._rules: dict[str, Match] = {}
        for line in filter(None, source.splitlines()):
            name, body = line.split(" ::= ", 1)
            tokens = _TOKEN.findall(body)
            assert re.fullmatch(f"(?:{_TOKEN.pattern})*", body), line
            self._rules[name] = self._alternatives(tokens)
            assert not tokens

    def admits(self, text: str) -> bool:
        return len(text) in self._rules["root"](text, 0)

    def _alternatives(self, tokens: list[str]) -> Match:
        options = [self._sequence(tokens)]
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            options.append(self._sequence(tokens))
        return lambda text, at: (end for option in options for end in option(text, at))

    def _sequence(self, tokens: list[str]) -> Match:
        parts: list[Match] = []
        while tokens and tokens[0] not in {"|", ")"}:
            parts.append(self._repeated(self._item(tokens), tokens))

        def match(text: str, at: int, left: int = 0) -> Iterator[int]:
            if left == len(parts):
                yield at
                return
            for end in parts[left](text, at):
                yield from match(text, end, left + 1)

        return match

    def _item(self, tokens: list[str]) -> Match:
        token = tokens.pop(0)
        if token == "(":
            inner = self._alternatives(tokens)
            assert tokens.pop(0) == ")"
            return inner
        if token[0] == '"':
            literal = re.sub(r"\\(.)", r"\1", token[1:-1])
            return lambda text, at: iter([at + len(literal)] if text.startswith(literal, at) else [])
        if token[0] == "[":
            one = re.compile(token)
            return lambda text, at: iter([at + 1] if one.match(text, at) else [])
        return lambda text, at: self._rules[token](text, at)  # noqa: PLW0108 - it may be written further down

    @staticmethod
    def _repeated(item: Match, tokens: list[str]) -> Match:
        mark = tokens.pop(0) if tokens and tokens[0] in {"?", "*", "+"} else ""

        def match(text: str, at: int, times: int = 0) -> Iterator[int]:
            if times >= (mark in {"", "+"}):
                yield at
            if times == 0 or mark in {"*", "+"}:
                for end in item(text, at):
                    yield from match(text, end, times + 1)

        return match
