"""Naming: what somebody means by a symbol, plain or dotted, and how well a definition fits it."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass

_SEPARATORS = re.compile(r"::|->|[#/.]+")
_SPACE = re.compile(r"\s")
_CALL = re.compile(r"\(.*\)$")
_ENDING = re.compile(r"\.[^./]+$")
_NO_MODULE = frozenset({"__init__", "index", "mod", "lib", "main"})
"""Files that stand for the directory they lie in."""
LONGEST = 300


class Fit(enum.IntEnum):
    """How well a definition fits a symbol; the smaller the better."""

    WHOLE = 0
    """It is called exactly this: everything before the name fits, from its module on."""
    TAIL = 1
    """The symbol is the end of what it is called."""
    THROUGH = 2
    """Everything before the name is on the way to it, with gaps: a package that hands on what lies deeper."""
    FOLDED = 3
    """The same in upper or lower case."""
    NONE = 9


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol that is asked for."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its last part."""
        return self.parts[-1]

    @property
    def dotted(self) -> bool:
        """Whether it says what it lies in."""
        return len(self.parts) > 1

    def fit(self, qualified: str, path: str, *, root: str) -> Fit:
        """How well a definition fits.

        Args:
            qualified: What it is called in its file.
            path: The file, from the project.
            root: The name of the project's directory: a package may be looked at from inside.
        """
        own = qualified.split(".")
        if own[-1] != self.name:
            folded = Symbol(tuple(part.lower() for part in self.parts))
            is_same = own[-1].lower() == folded.name and folded.fit(qualified.lower(), path.lower(), root=root.lower())
            return Fit.FOLDED if is_same is not False and is_same < Fit.FOLDED else Fit.NONE
        common = _common_tail(own, self.parts)
        if common == len(self.parts):
            return Fit.WHOLE if common == len(own) else Fit.TAIL
        if common < len(own):
            return Fit.NONE
        above, way = self.parts[:-common], (root, *module_of(path))
        if way[len(way) - len(above) :] == above:
            return Fit.WHOLE
        return Fit.THROUGH if _is_among(above, way) else Fit.NONE


def read_symbol(text: str) -> Symbol:
    """What somebody wrote as a symbol: `parse`, `Parser.parse`, `parser::Parser::parse`, `Parser#parse()`.

    Raises:
        ValueError: It is none.
    """
    bare = _CALL.sub("", text.strip())
    parts = tuple(part for part in _SEPARATORS.split(bare) if part)
    if not parts or _SPACE.search(bare) or len(bare) > LONGEST:
        raise ValueError(
            f"symbol {text[:80]!r} is no name; give one such as parse, Parser.parse or package.Class.method"
        )
    return Symbol(parts)


def module_of(path: str) -> tuple[str, ...]:
    """A file as a module is called: its directories and its name without the ending."""
    *folders, name = _ENDING.sub("", path).split("/")
    return tuple(folders) if name in _NO_MODULE and folders else (*folders, name)


def _common_tail(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(reversed(left), reversed(right), strict=False):
        if one != other:
            break
        count += 1
    return count


def _is_among(wanted: Sequence[str], way: Sequence[str]) -> bool:
    """Whether these come in this order on a way."""
    steps = iter(way)
    return all(part in steps for part in wanted)
