"""Text of others as HTML: escaped, and with everything marked that a reader would not see, or would take for other.

Hidden characters show their number, hosts in punycode what they look like, hosts of other alphabets what they are, and
runs of blanks their length, so that nothing is pushed out of sight.
"""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup, escape

from callgate.model.visible import code_of, hides

_PIECES = re.compile(
    r"(?P<code><U\+[0-9A-F]{4,6}>)"
    r"|(?P<puny>(?i:xn--[a-z0-9-]{1,59}(?:\.[a-z0-9-]{1,63}){0,10}))"
    r"|(?P<foreign>(?<=://)[^\s/?#\"'<>\\]*[^\x00-\x7f\s/?#\"'<>\\][^\s/?#\"'<>\\]*)"
    r"|(?P<spaces>[ ]{24,})"
    r"|(?P<lines>\n(?:[ \t]*\n){3,})"
    r"|(?P<odd>[^\n\t -~])"
)
_ODD = 4
_DIFF = re.compile(r"^(?:---|\+\+\+|@@|diff --git) ", re.MULTILINE)


def marked(text: object) -> Markup:
    """The text with every mark that it needs."""
    shown = str(text)
    if shown.isascii() and shown.isprintable() and "<U+" not in shown and "xn--" not in shown.lower():
        return _spaced(shown)
    made: list[Markup] = []
    end = 0
    for found in _PIECES.finditer(shown):
        made.append(escape(shown[end : found.start()]))
        made.append(_mark(found))
        end = found.end()
    return Markup("").join((*made, escape(shown[end:])))


def _spaced(text: str) -> Markup:
    return marked_spaces(text) if " " * 24 in text else escape(text)


def marked_spaces(text: str) -> Markup:
    """Plain text with its long runs of spaces counted."""
    parts = re.split(r"( {24,})", text)
    return Markup("").join(
        _count(len(part), "spaces") if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _mark(found: re.Match[str]) -> Markup:
    text, kind = found.group(), found.lastgroup
    if kind == "code":
        return _hidden(text[1:-1])
    if kind == "puny":
        return _host(text, _looks_like(_decoded(text)))
    if kind == "foreign":
        return _host(text, f"is {_encoded(text)}")
    if kind == "spaces":
        return _count(len(text), "spaces")
    if kind == "lines":
        return Markup("\n{}\n").format(_count(text.count("\n") - 1, "empty lines"))
    return _hidden(code_of(text)) if hides(text) else escape(text)


def _hidden(code: str) -> Markup:
    return Markup('<span class="hidden-mark" title="a hidden character">{}</span>').format(code)


def _host(text: str, meaning: str) -> Markup:
    inner = Markup("").join(_hidden(code_of(letter)) if hides(letter) else escape(letter) for letter in text)
    return Markup('<span class="host-mark">{}</span><span class="host-means"> ({})</span>').format(inner, meaning)


def _count(number: int, what: str) -> Markup:
    return Markup('<span class="hidden-mark">{} {}</span>').format(number, what)


def _looks_like(read: str) -> str:
    """Letters of other alphabets can look like ours; their numbers do not."""
    odd = sorted({code_of(letter) for letter in read if not letter.isascii()})
    return f"looks like {read}: {', '.join(odd[:_ODD])}" if odd else "punycode of nothing"


def _decoded(host: str) -> str:
    """What a host in punycode looks like; itself where it is none."""
    labels = [_label(label) for label in host.split(".")]
    return ".".join(labels)


def _label(label: str) -> str:
    if not label.lower().startswith("xn--"):
        return label
    try:
        read = label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError):
        return label
    return "".join(f"<{code_of(letter)}>" if hides(letter) else letter for letter in read)


def _encoded(host: str) -> str:
    name = host.rpartition("@")[2].partition(":")[0]
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        return ascii(name)[1:-1]


def laid_out(value: Any) -> Markup:
    """A value as JSON that can be read, marked."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        text = str(value)
    return marked(text)


def is_diff(text: str) -> bool:
    """Whether a text is a difference between files."""
    return _DIFF.search(text) is not None


def diff_lines(text: str) -> list[tuple[str, Markup]]:
    """Each line of a difference, with what it does: add, cut, place, or keep."""
    return [(_kind(line), marked(line)) for line in text.rstrip("\n").split("\n")]


def _kind(line: str) -> str:
    if line.startswith(("+++", "---", "diff ", "index ", "@@")):
        return "place"
    return {"+": "add", "-": "cut"}.get(line[:1], "keep")
