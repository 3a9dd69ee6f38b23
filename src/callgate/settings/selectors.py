"""Selectors: how a policy file names tools. Reads the words; which tool belongs to which group, the policy knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from callgate.model.levels import Origin
from callgate.settings.wording import instead, quote

GROUPS: frozenset[str] = frozenset(
    {
        "all",
        "read",
        "write",
        "destructive",
        "network",
        "web",
        "code",
        "data",
        "math",
        "files",
        "shell",
        "llm",
        "egress",
        "untrusted",
        "sensitive",
        "idempotent",
        "undeclared",
    }
)
"""Every group there is. Each is computed from what tools declare, never a list of names."""

KINDS = ("name", "glob", "group", "category", "source")
"""What a selector can be."""

LONGEST = 200
"""A selector has at most this many characters."""

_SOURCES = tuple(origin.value for origin in Origin)
_WORD = "[A-Za-z0-9_-]+"
_NAME = re.compile(rf"{_WORD}(\.{_WORD})*(/{_WORD})?")
"""A slash is in the names of what a server has beside tools: `gh.resources/read`."""
_GLOB = re.compile(r"[A-Za-z0-9_./*?-]+")
_CATEGORY = re.compile(_WORD)

PATTERN = (
    rf"group:({'|'.join(sorted(GROUPS))})|source:({'|'.join(_SOURCES)})|category:{_WORD}"
    rf"|{_NAME.pattern}|(?=.*[*?]){_GLOB.pattern}"
)
"""Every selector, as a regular expression, for editors."""


class Selector(NamedTuple):
    """One selector, read. A glob knows `*` (any characters, dots included) and `?` (one), and no brackets."""

    kind: str
    """name, glob, group, category or source."""
    value: str
    """The tool's name, the pattern, the group, the category, or the origin (`mcp`, `plugin`, …)."""


def parse_selector(text: str) -> Selector:
    """Read a tool name, a glob, `group:…`, `category:…` or `source:…`.

    Raises:
        ValueError: The text is none of these; the message says what is wrong and what there is.
    """
    if not text:
        raise ValueError("a selector is empty; write a tool name, a glob, group:…, category:… or source:…")
    if len(text) > LONGEST:
        raise ValueError(f"a selector has at most {LONGEST} characters, this one {len(text)}")
    prefix, colon, value = text.partition(":")
    return _read_kind(prefix, value) if colon else _read_name(text)


def _read_kind(prefix: str, value: str) -> Selector:
    if prefix == "group":
        return Selector("group", _one_of(value, what="group", known=sorted(GROUPS)))
    if prefix == "source":
        return Selector("source", _one_of(value, what="source", known=_SOURCES))
    if prefix == "category":
        if not _CATEGORY.fullmatch(value):
            raise ValueError(f"category {quote(value)} is not a word of letters, digits, _ and -")
        return Selector("category", value)
    raise ValueError(f"unknown kind of selector {quote(prefix)}; use group:…, category:… or source:…")


def _one_of(word: str, *, what: str, known: Sequence[str]) -> str:
    if word not in known:
        raise ValueError(f"unknown {what} {quote(word)}; {instead(word, known)}")
    return word


def _read_name(text: str) -> Selector:
    if _NAME.fullmatch(text):
        return Selector("name", text)
    if ("*" in text or "?" in text) and _GLOB.fullmatch(text):
        return Selector("glob", text)
    if "[" in text or "]" in text:
        raise ValueError(f"{quote(text)} has brackets; a glob knows * and ? only")
    if not _GLOB.fullmatch(text):
        raise ValueError(
            f"{quote(text)} is no tool name and no glob; they have letters, digits, _, -, dots, /, * and ?"
        )
    raise ValueError(f"{quote(text)} is no tool name; something must stand before and after each dot and the one /")
