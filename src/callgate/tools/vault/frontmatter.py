"""Frontmatter: what a note says of itself in YAML above its text. Read with bounds, and never lost.

What cannot be read, or is no mapping, is told as an error and stays byte for byte. Anchors and aliases are not
followed, since a few lines of them can mean gigabytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

_LARGEST = 64 * 1024
_DEEPEST = 16
_MOST_PARTS = 5000
_BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_TITLE_LINE = re.compile(r"^title[ \t]*:(?:[ \t][^\r\n]*)?(?=\r?$)", re.MULTILINE)
_SOUND_INTEGER = 1 << 63
_parse = cast("Callable[..., Iterator[Any]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType] - no types
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The block above a note's text, as it stands there, and what it says."""

    raw: str = ""
    """With its lines of dashes; empty where there is none."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str | None = None
    """Why it could not be read."""

    @property
    def title(self) -> str | None:
        """The title it gives the note."""
        title = self.values.get("title")
        return title.strip() or None if isinstance(title, str) else None

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags: a list, or words with commas between."""
        given = self.values.get("tags", self.values.get("tag"))
        words = given.split(",") if isinstance(given, str) else given
        return tuple(str(word).strip() for word in cast("list[Any]", words)) if isinstance(words, list) else ()

    def with_title(self, title: str) -> Frontmatter:
        """The same with another title; every other line stays as it is.

        Raises:
            ValueError: It is broken, so that nobody knows where a title would stand.
        """
        if self.error is not None:
            raise ValueError(
                f"title cannot be set: the front matter of this note is broken ({self.error}); mend it first,"
                " with a body that begins with the whole front matter"
            )
        if self.title == title:
            return self
        line = f"title: {json.dumps(title, ensure_ascii=False)}"
        if not self.raw:
            return read_block(f"---\n{line}\n---\n")
        changed = self._with_line(line)
        if changed.title != title:
            raise ValueError("title cannot be set: the one in the front matter is no single line; give it in the body")
        return changed

    def _with_line(self, line: str) -> Frontmatter:
        if "title" in self.values:
            return read_block(_TITLE_LINE.sub(lambda _: line, self.raw, count=1))
        first, _, rest = self.raw.partition("\n")
        ending = "\r\n" if first.endswith("\r") else "\n"
        return read_block(f"{first}\n{line}{ending}{rest}")


def split(text: str) -> tuple[Frontmatter, str]:
    """The front matter and what follows it. What was broken in it is part of neither reading nor losing: see `raw`."""
    found = _BLOCK.match(text)
    if found is None:
        return Frontmatter(), text
    return read_block(found.group()), text[found.end() :]


def length(text: str) -> int:
    """How many characters the front matter has, with its lines of dashes."""
    found = _BLOCK.match(text)
    return 0 if found is None else found.end()


def read_block(raw: str) -> Frontmatter:
    """What a block says."""
    found = _BLOCK.match(raw)
    try:
        values = {} if found is None else _read(found["yaml"])
    except _Broken as error:
        return Frontmatter(raw, {}, str(error))
    return Frontmatter(raw, values)


class _Broken(Exception):
    """The YAML cannot be read; the message says why."""


def _read(text: str) -> dict[str, Any]:
    if len(text) > _LARGEST:
        raise _Broken(f"it has more than {_LARGEST} characters")
    try:
        _refuse_bombs(_parse(text, Loader=_LOADER))
        value: Any = yaml.load(text, Loader=_LOADER)  # noqa: S506 - the safe loader
        return _as_json_mapping({} if value is None else value)
    except yaml.YAMLError as error:
        raise _Broken(_told(error)) from None
    except (ValueError, TypeError, OverflowError, AttributeError) as error:  # dates that no calendar has, and the like
        raise _Broken(f"a value in it is none: {error}") from None


def _refuse_bombs(events: Iterable[Any]) -> None:
    depth = 0
    for parts, event in enumerate(events):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Broken("anchors and aliases are not followed; write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or parts > _MOST_PARTS:
            raise _Broken(f"it nests deeper than {_DEEPEST} or has more than {_MOST_PARTS} parts")


def _told(error: yaml.YAMLError) -> str:
    mark: Any = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it is no YAML"
    return f"{problem}, line {mark.line + 2}" if mark is not None else str(problem)


def _as_json_mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Broken(f"it is no mapping of names to values but {type(value).__name__}")
    return dict(_as_pairs(cast("dict[Any, Any]", value)))


def _as_pairs(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        yield str(_as_json(key)), _as_json(item)


def _as_json(value: Any) -> Any:
    """A value of YAML as JSON has it: dates and what has no form there as text."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) < _SOUND_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return dict(_as_pairs(cast("dict[Any, Any]", value)))
        case list() | tuple() | set():
            return [_as_json(item) for item in cast("Iterable[Any]", value)]
        case _:
            return value.isoformat() if hasattr(value, "isoformat") else str(value)
