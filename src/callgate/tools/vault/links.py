"""Links: the links of a note to other notes, found in its text and given another target there. Knows no files.

Wiki links `[[note]]`, `[[folder/note#heading|alias]]`, `![[note#^block]]`, and Markdown links to files that end in
`.md`: `[text](../note.md#part)`, `[text](<my note.md>)`, `[name]: note.md`. What stands in code is none. Only the
target is ever touched: heading, block, alias and title stay as they are.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote

from callgate.tools.vault import frontmatter, names
from callgate.tools.vault.prose import is_escaped, without_code

_LONGEST = 1024
_WIKI = re.compile(rf"\[\[(?P<inner>[^\[\]\n]{{1,{_LONGEST}}})\]\]")
_PLAIN = rf"(?P<plain>(?:[^\s()<>]|\([^\s()<>]{{0,256}}\)){{1,{_LONGEST}}}+)"
_ANGLED = rf"<(?P<angled>[^<>\n]{{1,{_LONGEST}}})>"
_INLINE = re.compile(rf"\]\([ \t]*(?:{_ANGLED}|{_PLAIN})(?=[\s)])")
_DEFINED = re.compile(
    rf"^ {{0,3}}\[(?!\^)[^\[\]\n]{{1,200}}\]:[ \t]*(?:{_ANGLED}|(?P<plain>[^\s<>]{{1,{_LONGEST}}}))", re.MULTILINE
)
_END_OF_WIKI_TARGET = re.compile(r"\\?\||#")
_END_OF_TARGET = re.compile(r"[#?]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_KEPT = "!$&'*+,;=:@~"
_ENDS_IN_ANGLES = frozenset("%?#<>")


class Form(enum.StrEnum):
    """How a target is written."""

    WIKI = "wiki"
    PLAIN = "plain"
    """A Markdown address, in which spaces and the like are percent-encoded."""
    ANGLED = "angled"
    """A Markdown address between angle brackets."""


class Spelling(NamedTuple):
    """A target as it is written. The same spelling in one note means the same note."""

    form: Form
    target: str

    @property
    def path(self) -> str:
        """What it says, without what the form makes of it."""
        return self.target if self.form is Form.WIKI else unquote(self.target)

    @property
    def key(self) -> str:
        """What it shares with every note that it may mean."""
        return names.key_of(self.path)


class Link(NamedTuple):
    """A link, and where in the text its target stands."""

    start: int
    end: int
    spelling: Spelling


def find_links(text: str) -> list[Link]:
    """Every link to a note, in the order of the text."""
    wiki, markdown = "[[" in text, ".md" in text.casefold()
    if not wiki and not markdown:
        return []
    above = frontmatter.length(text)  # of YAML, in which a fence is a text like any other
    prose = text[:above] + without_code(text[above:])
    found = [*(_wiki_links(prose) if wiki else ()), *(_markdown_links(prose) if markdown else ())]
    found.sort(key=lambda link: link.start)
    return list(_apart(found))


def rewrite(text: str, changes: Mapping[Spelling, str]) -> tuple[str, int]:
    """The text with other targets, and how many links got one."""
    pieces: list[str] = []
    done = count = 0
    for link in find_links(text):
        new = changes.get(link.spelling)
        if new is not None:
            pieces += (text[done : link.start], new)
            done = link.end
            count += 1
    return "".join((*pieces, text[done:])), count


def address(path: str, form: Form) -> str:
    """A path as a target of this form."""
    if form is Form.WIKI:
        return path
    encode = _encoded if form is Form.PLAIN else _encoded_in_angles
    encoded = "".join(encode(letter) for letter in path)
    return f"./{encoded}" if _SCHEME.match(encoded) else encoded


def _encoded(letter: str) -> str:
    """A letter of an address; a blank ends one, in whatever alphabet."""
    return letter if not letter.isascii() and not letter.isspace() else quote(letter, safe=f"/{_KEPT}")


def _encoded_in_angles(letter: str) -> str:
    return quote(letter) if letter in _ENDS_IN_ANGLES else letter


def _wiki_links(prose: str) -> Iterator[Link]:
    for found in _WIKI.finditer(prose):
        if is_escaped(prose, found.start()):
            continue
        end = _END_OF_WIKI_TARGET.search(found["inner"])
        link = _link(found.start("inner"), found["inner"][: end.start() if end else None], form=Form.WIKI)
        if link is not None:
            yield link


def _markdown_links(prose: str) -> Iterator[Link]:
    for pattern in (_INLINE, _DEFINED):
        for found in pattern.finditer(prose):
            form = Form.ANGLED if found["angled"] is not None else Form.PLAIN
            written = found[str(form)]
            end = _END_OF_TARGET.search(written)
            link = _link(found.start(str(form)), written[: end.start() if end else None], form=form)
            if link is not None and not _SCHEME.match(written) and link.spelling.path.casefold().endswith(names.NOTE):
                yield link


def _link(start: int, written: str, *, form: Form) -> Link | None:
    """A link whose target begins at a place, without the blanks around it; None where it names nothing."""
    target = written.strip()
    if not target:
        return None
    start += len(written) - len(written.lstrip())
    return Link(start, start + len(target), Spelling(form, target))


def _apart(links: list[Link]) -> Iterator[Link]:
    """Those that do not lie in one that was found before."""
    end = -1
    for link in links:
        if link.start >= end:
            yield link
            end = link.end
