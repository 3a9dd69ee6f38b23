"""Describing: what a note is called, speaks of and points at, read from its text. Knows no files and no index."""

from __future__ import annotations

import re
from dataclasses import dataclass

from callgate.tools.vault import frontmatter
from callgate.tools.vault.frontmatter import Frontmatter
from callgate.tools.vault.links import find_links
from callgate.tools.vault.names import NOTE
from callgate.tools.vault.prose import without_code
from callgate.tools.vault.snippets import beginning, within

MOST_KEYS = 10_000
"""A note that points at more names than this is looked at whatever moves."""
_LONGEST_TITLE = 500
_LONGEST_SUMMARY = 240
_READ = 16
"""Times as many characters are read for what is shown: marks and targets of links are not."""
MOST_OF_BODY = within(_READ * _LONGEST_SUMMARY) + 1
"""So much of a text has to be known for its summary."""
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t](?P<text>[^\r\n]*)", re.MULTILINE)
"""As far as one walk along the line tells; what closes it is taken off by `_heading`."""
_TAG = re.compile(r"(?<![\w/#&])#(?P<tag>[^\W\d][\w/-]{0,99})")
_NO_SENTENCE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*_=]{3,}[ \t]*$|<!--|```|~~~|\||!\[\[|!\[)")
_WIKI = re.compile(r"!?\[\[(?P<target>[^\[\]\n|]{1,1024})(?:\|(?P<alias>[^\[\]\n]{1,1024}))?\]\]")
_MARKDOWN = re.compile(r"!?\[(?P<text>[^\[\]\n]{0,1024})\]\([^()\n]{0,1024}\)")


@dataclass(frozen=True, slots=True)
class Title:
    """What a note is called, as it is written there: what is secret in it may become known as such later."""

    text: str
    is_heading: bool = False

    @property
    def plain(self) -> str:
        """As words that are searched for."""
        return plain(self.text)[:_LONGEST_TITLE] if self.is_heading else self.text[:_LONGEST_TITLE]

    @property
    def shown(self) -> str:
        """For whoever reads it; what is secret is struck before anything is taken away."""
        if not self.is_heading:
            return beginning(self.text, _LONGEST_TITLE)
        return plain(beginning(self.text, _READ * _LONGEST_TITLE))[:_LONGEST_TITLE]


@dataclass(frozen=True, slots=True)
class Description:
    """What an index keeps of a note."""

    title: Title
    headings: str
    tags: str
    body: str
    keys: frozenset[str]
    """Of the names it points at."""
    many: bool
    """Whether it points at more than are kept."""


def describe(path: str, content: bytes) -> Description:
    """Read a note. What is no text in it counts as a question mark, and what is a NUL as a blank."""
    text = content.decode("utf-8", "replace").replace("\0", " ")
    front, body = frontmatter.split(text)
    prose = without_code(body)
    headings = [_heading(found["text"]) for found in _HEADING.finditer(prose)]
    keys = {spelling.key for spelling in {link.spelling for link in find_links(text)}}
    return Description(
        title=title_of(path, front=front, prose=prose),
        headings="\n".join(headings),
        tags=" ".join((*front.tags, *(found["tag"] for found in _TAG.finditer(prose)))),
        body=body,
        keys=frozenset(sorted(keys)[:MOST_KEYS]),
        many=len(keys) > MOST_KEYS,
    )


def title_of(path: str, *, front: Frontmatter, prose: str) -> Title:
    """What a note is called: by its front matter, by the first heading of its text without code, or by its file."""
    if front.title is not None:
        return Title(front.title)
    heading = _HEADING.search(prose)
    text = _heading(heading["text"])[: within(_READ * _LONGEST_TITLE) + 1] if heading else ""
    return Title(text, is_heading=True) if plain(text) else Title(path.rpartition("/")[2].removesuffix(NOTE))


def _heading(text: str) -> str:
    """A heading without the blanks around it and the number signs that close it."""
    text = text.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare.endswith((" ", "\t")) else text


def plain(text: str) -> str:
    """A line without the marks of links and emphasis."""
    text = _WIKI.sub(lambda found: found["alias"] or found["target"], text)
    text = _MARKDOWN.sub(lambda found: found["text"], text)
    return " ".join(text.replace("**", "").replace("__", "").replace("`", "").split())


def summary_of(body: str) -> str:
    """The first paragraph of a text, as one line; what is secret in the text is struck first."""
    lines: list[str] = []
    for line in beginning(body, _READ * _LONGEST_SUMMARY).splitlines():
        if line.strip() and not _NO_SENTENCE.match(line):
            lines.append(line.strip().lstrip("> "))
        elif lines:
            break
    text = plain(" ".join(lines))
    return text if len(text) <= _LONGEST_SUMMARY else f"{text[:_LONGEST_SUMMARY].rsplit(' ', 1)[0]} …"
