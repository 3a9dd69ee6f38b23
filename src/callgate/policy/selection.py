"""Selection: selectors compiled into one question about a tool: which of them, if any, names it?"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from callgate.model.tool import Tool
from callgate.policy.groups import KEEPS_OUT, LETS_IN, Predicate, in_category, says_category
from callgate.settings.selectors import Selector, parse_selector


class Entry(NamedTuple):
    """One selector as it was written, what it asks of a tool, and why it could not be read (else empty)."""

    text: str
    matches: Predicate
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Some selectors, in the order they were written."""

    entries: tuple[Entry, ...] = ()

    def first(self, tool: Tool) -> Entry | None:
        """The first selector that names the tool."""
        for entry in self.entries:
            if entry.matches(tool):
                return entry
        return None

    @property
    def faults(self) -> tuple[Entry, ...]:
        """The selectors that could not be read."""
        return tuple(entry for entry in self.entries if entry.fault)


def select(selectors: Iterable[str] | str, *, lets_in: bool) -> Selection:
    """Compile selectors for an `allow` (`lets_in`), or for a `deny` or a rule.

    A selector that cannot be read never widens: it lets nothing in, and keeps everything out. Whether that is good
    enough, or an error, is for whoever compiles to say.
    """
    # A bare text is one selector: taken letter by letter, its `*` would let everything in.
    listed = (selectors,) if isinstance(selectors, str) else tuple(selectors)
    return Selection(tuple(_entry(text, lets_in=lets_in) for text in listed))


def _entry(text: str, *, lets_in: bool) -> Entry:
    try:
        selector = parse_selector(text)
    except (ValueError, TypeError, AttributeError) as error:
        return Entry(str(text), _never if lets_in else _always, str(error))
    return Entry(text, _COMPILERS[selector.kind](selector, lets_in))


def _always(_tool: Tool) -> bool:
    return True


def _never(_tool: Tool) -> bool:
    return False


def _by_name(selector: Selector, _lets_in: bool) -> Predicate:  # noqa: FBT001 - one signature for all kinds
    return lambda tool: tool.name == selector.value


def _by_glob(selector: Selector, _lets_in: bool) -> Predicate:  # noqa: FBT001 - as above
    # fnmatch's translation never backtracks over a star, so that no name makes a match slow.
    fits = re.compile(fnmatch.translate(selector.value)).match
    return lambda tool: fits(tool.name) is not None


def _by_group(selector: Selector, lets_in: bool) -> Predicate:  # noqa: FBT001 - as above
    return (LETS_IN if lets_in else KEEPS_OUT)[selector.value]


def _by_category(selector: Selector, lets_in: bool) -> Predicate:  # noqa: FBT001 - as above
    if lets_in:
        return lambda tool: in_category(tool, selector.value)
    return lambda tool: says_category(tool, selector.value)


def _by_source(selector: Selector, _lets_in: bool) -> Predicate:  # noqa: FBT001 - as above
    return lambda tool: tool.source.value == selector.value


_COMPILERS: dict[str, Callable[[Selector, bool], Predicate]] = {
    "name": _by_name,
    "glob": _by_glob,
    "group": _by_group,
    "category": _by_category,
    "source": _by_source,
}
