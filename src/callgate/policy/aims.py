"""Aims: paths that a pattern is held against by its text, all of them at once, there or not.

Tools read patterns differently, and here each sign means the most that it means to any: a star may go over slashes, a
class that is not plain ends at any bracket and is any letter, a backslash is a letter or nothing, and braces are
letters as well. They are followed and not opened, so that many of them take no longer than few.
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from callgate.policy.looks import LETTERS_A_STEP, Looks

_TOKEN = re.compile(
    r"""(?P<folders>(?<![^/{,])\*\*+/)                # any number of directories, or none
    |(?P<many>\*)
    |(?P<one>\?)
    |(?P<plain>\[[^\]\[\\!^{},][^\]\[\\{},]*\])    # a class that all read alike
    |(?P<letter>.)""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = re.compile(r"[@!+?*]\(")
_BRACKET = re.compile(r"[()]")


class _Token(NamedTuple):
    """A sign of a pattern, or a letter."""

    kind: str
    text: str


class _Standing(NamedTuple):
    """How far a reading has come, in all paths: a bit for each place in them."""

    here: int
    dotted: int = 0
    """Here as well, behind a dot that may mean the directory itself."""
    inside: int = 0
    """Here as well, inside a class."""

    def joined(self, other: _Standing) -> _Standing:
        return _Standing(self.here | other.here, self.dotted | other.dotted, self.inside | other.inside)


class _Braces(NamedTuple):
    """Braces that a reading is inside of."""

    before: _Standing
    ended: _Standing
    """Where the words in them led that are over."""
    counts: bool
    """Whether shells count in them: {a..c}."""


_NOWHERE = _Standing(0)


class Aims:
    """Paths, each by the names that lead to it, in the spelling of keys."""

    def __init__(self, paths: Iterable[Sequence[str]]) -> None:
        self._letters: dict[str, int] = {}
        self._begins = self._parts = self._ends = 0
        place = 1
        for text in {"/".join(path) for path in paths}:
            self._begins |= place
            self._parts |= place
            for letter in text:
                self._letters[letter] = self._letters.get(letter, 0) | place
                place <<= 1
                self._parts |= place if letter == "/" else 0
            self._ends |= place
            place <<= 1
        self._all = (place - 1) & ~self._ends
        self._in_names = self._all & ~self._letters.get("/", 0)

    def met_by(self, text: str, *, looks: Looks, anywhere: bool = False, over_slashes: bool = False) -> bool:
        """Whether some tool could read this as a pattern that matches one of them.

        Args:
            text: The pattern.
            looks: What may still be looked at.
            anywhere: Whether it may begin in any directory on the way.
            over_slashes: Whether its signs may stand for slashes as well.

        Raises:
            TooMany: It is too long for what is left.
        """
        reading = _Reading(self, _Standing(self._parts if anywhere else self._begins), over_slashes=over_slashes)
        if "{" not in text:
            return reading.ends(_counted(text, looks), {})
        looks.count_text(text)
        tokens = list(_tokens(text))
        return reading.ends(tokens, _pairs(tokens))

    def letter(self, here: int, letter: str) -> int:
        """What lies behind this letter."""
        return (here & self._letters.get(letter, 0)) << 1

    def plain(self, here: int, text: str) -> int:
        """What lies behind a letter of this class."""
        fits = _class(text)
        return sum(self.letter(here, letter) for letter in self._letters if fits.match(letter))

    def one(self, here: int, *, over_slashes: bool) -> int:
        """What lies behind any letter."""
        return (here & (self._all if over_slashes else self._in_names)) << 1

    def many(self, here: int, *, over_slashes: bool) -> int:
        """What lies behind any letters, or none."""
        open_to = self._all if over_slashes else self._in_names
        # To add a bit to a row of ones carries it to the end of the row, and turns over all that it goes through.
        return here | (open_to ^ (open_to + (here & open_to)))

    def slash(self, here: int) -> int:
        """What lies behind a slash: one too many changes nothing, before a name and at the end."""
        return self.letter(here, "/") | self.rests(here)

    def rests(self, here: int) -> int:
        """Where a name begins, or nothing comes."""
        return here & (self._parts | self._ends)

    def over(self, here: int) -> bool:
        """Whether a path ends here."""
        return bool(here & self._ends)


class _Reading:
    """One pattern, read from left to right in every way that there is."""

    def __init__(self, aims: Aims, start: _Standing, *, over_slashes: bool) -> None:
        self._aims = aims
        self._now = start
        self._over_slashes = over_slashes
        self._braces: list[_Braces] = []

    def ends(self, tokens: Iterable[_Token], pairs: Mapping[int, bool]) -> bool:
        """Whether it may have come to an end of a path where the pattern ends; braces are told in pairs."""
        for at, token in enumerate(tokens):
            if at in pairs or (self._braces and token.text == ","):
                self._follow(token, counts=pairs.get(at, False))
            else:
                self._now = self._after(token)
            if self._now == _NOWHERE and not self._braces:
                return False
        return self._aims.over(self._now.here | self._now.dotted)

    def _follow(self, token: _Token, *, counts: bool) -> None:
        as_letter = self._after(token)
        if token.text == "{":
            self._braces.append(_Braces(self._now, _NOWHERE, counts))
            self._now = self._now.joined(as_letter)
            return
        before, ended, counts = self._braces.pop()
        ended = ended.joined(self._now)
        if token.text == ",":
            self._now = before
            self._braces.append(_Braces(before, ended, counts))
        else:
            self._now = ended.joined(_Standing(self._many(before.here))) if counts else ended
        self._now = self._now.joined(as_letter)

    def _after(self, token: _Token) -> _Standing:
        here, dotted, inside = self._now
        closed = self._aims.one(inside, over_slashes=True) if token.text[-1] == "]" else 0
        match token.kind:
            case "letter":
                after = self._behind(token.text)
                return _Standing(after.here | closed, after.dotted, after.inside | inside)
            case "one":
                behind = self._aims.one(here, over_slashes=self._over_slashes)
            case "plain":
                behind = self._aims.plain(here, token.text)
            case "folders":
                behind = here | self._aims.slash(self._aims.many(here, over_slashes=True)) | dotted
            case _:
                behind = self._many(here)
        return _Standing(behind | closed, 0, inside)

    def _behind(self, letter: str) -> _Standing:
        here, dotted, _ = self._now
        match letter:
            case "/":
                return _Standing(self._aims.slash(here) | dotted)
            case ".":
                return _Standing(self._aims.letter(here, letter), self._aims.rests(here))
            case "\\":
                return _Standing(here | self._aims.letter(here, letter), dotted)
            case "[":
                return _Standing(self._aims.letter(here, letter), 0, here)
            case _:
                for each in _folded(letter):
                    here = self._aims.letter(here, each)
                return _Standing(here)

    def _many(self, here: int) -> int:
        return self._aims.many(here, over_slashes=self._over_slashes)


def _counted(text: str, looks: Looks) -> Iterator[_Token]:
    """The signs and letters of a pattern, most of which end a reading soon."""
    for at, token in enumerate(_tokens(text)):
        looks.count(at % LETTERS_A_STEP == 0)
        yield token


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found is not None  # noqa: S101 - a letter at least
        words = _end_of_words(text, at)
        yield _Token("many", text[at:words]) if words else _Token(found.lastgroup or "", found[0])
        at = words or found.end()


def _end_of_words(text: str, at: int) -> int:
    """Where a list of words in round brackets ends, `@(a|b)`: it is anything to us; 0 where none begins."""
    if not _WORDS.match(text, at):
        return 0
    part = text.find("/", at)
    last = text.rfind(")", at, None if part == -1 else part)
    bracket = _BRACKET.search(text, at + 2)
    return last + 1 or (bracket.end() if bracket and bracket[0] == ")" else 0)


def _pairs(tokens: Sequence[_Token]) -> dict[int, bool]:
    """Where braces stand that have their other one, and whether shells count in them."""
    pairs: dict[int, bool] = {}
    opened: list[tuple[int, bool, bool]] = []
    for at, (_, sign) in enumerate(tokens):
        if sign == "{":
            opened.append((at, False, False))
        elif opened:
            begin, lists, counts = opened.pop()
            lists = lists or sign == ","
            counts = counts or (sign == "." and tokens[at - 1].text == ".")
            if sign != "}":
                opened.append((begin, lists, counts))
                continue
            pairs[begin] = pairs[at] = counts and not lists
            if opened and lists:
                opened[-1] = (opened[-1][0], True, opened[-1][2])
    return pairs


@lru_cache(maxsize=256)
def _class(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(text), re.IGNORECASE)


def _folded(letter: str) -> str:
    """A letter in the spelling of keys: nothing, where it cannot be seen."""
    if letter.isascii():
        return letter.lower()
    folded = unicodedata.normalize("NFKC", letter).casefold()
    return "".join(each for each in folded if unicodedata.category(each) != "Cf")
