"""Selectors: how a policy file names tools. Reads the words only; which tool belongs to which group is for the policy."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from callgate.model.levels import Origin

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

_LONGEST = 200
_SOURCES = tuple(origin.value for origin in Origin)
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_GLOB = re.compile(r"[A-Za-z0-9_.*?-]+")
_CATEGORY = re.compile(r"[A-Za-z0-9_-]+")


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
    if len(text) > _LONGEST:
        raise ValueError(f"a selector has at most {_LONGEST} characters, this one {len(text)}")
    prefix, colon, value = text.partition(":")
    return _read_kind(prefix, value) if colon else _read_name(text)


def _read_kind(prefix: str, value: str) -> Selector:
    if prefix == "group":
        return Selector("group", _one_of(value, what="group", known=sorted(GROUPS)))
    if prefix == "source":
        return Selector("source", _one_of(value, what="source", known=_SOURCES))
    if prefix == "category":
        if not _CATEGORY.fullmatch(value):
            raise ValueError(f"category {value!r} is not a word of letters, digits, _ and -")
        return Selector("category", value)
    raise ValueError(f"unknown kind of selector {prefix + ':'!r}; use group:…, category:… or source:…")


def _one_of(word: str, *, what: str, known: tuple[str, ...] | list[str]) -> str:
    if word in known:
        return word
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"unknown {what} {word!r}; {hint}There are {', '.join(known)}")


def _read_name(text: str) -> Selector:
    if _NAME.fullmatch(text):
        return Selector("name", text)
    if ("*" in text or "?" in text) and _GLOB.fullmatch(text):
        return Selector("glob", text)
    if "[" in text or "]" in text:
        raise ValueError(f"glob {text!r} has brackets; a glob knows * and ? only")
    if not _GLOB.fullmatch(text):
        raise ValueError(f"{text!r} is no tool name and no glob: only letters, digits, _, -, dots, * and ? are")
    raise ValueError(f"{text!r} is no tool name: each part between dots has at least one character")
