"""Descriptions out of docstrings: Google, NumPy and Sphinx style, as far as parameters go.

A docstring in no style is all description. Nothing here fails: what cannot be read is left out.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
)
_OTHERS = frozenset(
    {
        "attributes", "example", "examples", "note", "notes", "raises", "references", "return", "returns", "see also",
        "todo", "warning", "warnings", "warns", "yield", "yields",
    }
)  # fmt: skip
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")
_SPHINX = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_SPHINX_ANY = re.compile(r":\w+[^:]*:")


@dataclass(frozen=True, slots=True)
class Docstring:
    """What a docstring says."""

    description: str = ""
    """Everything before the first section."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(text: str) -> Docstring:
    """Read a docstring in any of the three styles."""
    lines = inspect.cleandoc(text).splitlines()
    first = next((index for index in range(len(lines)) if _opens(lines, index)), len(lines))
    description = "\n".join(lines[:first]).strip()
    parameters = _sphinx(lines[first:])
    for start in range(first, len(lines)):
        if _section(lines, start) in _PARAMETERS:
            parameters |= _listed(lines, start)
    return Docstring(
        description, {name: " ".join(words.split()) for name, words in parameters.items() if words.strip()}
    )


def _opens(lines: list[str], index: int) -> bool:
    return bool(_section(lines, index)) or _SPHINX_ANY.match(lines[index]) is not None


def _section(lines: list[str], index: int) -> str:
    """The name of the section that starts here, in lower case; empty when none does."""
    line = lines[index]
    if line[:1].isspace():
        return ""
    word = line.rstrip().rstrip(":").lower()
    if word not in _PARAMETERS | _OTHERS:
        return ""
    is_google = line.rstrip().endswith(":")
    return word if is_google or _is_underlined(lines, index) else ""


def _is_underlined(lines: list[str], index: int) -> bool:
    below = lines[index + 1].strip() if index + 1 < len(lines) else ""
    return len(below) > 2 and not below.strip("-=")  # noqa: PLR2004 - an underline, not a dash


def _listed(lines: list[str], start: int) -> dict[str, str]:
    """The parameters of one section."""
    underlined = _is_underlined(lines, start)
    body = lines[start + 2 :] if underlined else lines[start + 1 :]
    end = next((index for index in range(len(body)) if _ends(body, index, underlined=underlined)), len(body))
    return _numpy(body[:end]) if underlined else _google(body[:end])


def _ends(body: list[str], index: int, *, underlined: bool) -> bool:
    if _opens(body, index):
        return True
    # A Google section lasts as long as it is indented.
    return not underlined and bool(body[index].strip()) and not body[index][0].isspace()


def _google(body: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    current = ""
    margin = min((_indent(line) for line in body if line.strip()), default=0)
    for line in body:
        entry = _GOOGLE.fullmatch(line.strip()) if _indent(line) == margin else None
        if entry:
            current = entry[1]
            found[current] = entry[2]
        elif current:
            found[current] += f" {line.strip()}"
    return found


def _numpy(body: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    names: list[str] = []
    for line in body:
        entry = _NUMPY.fullmatch(line.rstrip()) if line.strip() and not line[0].isspace() else None
        if entry:
            names = [name.strip() for name in entry[1].split(",")]
            found |= dict.fromkeys(names, "")
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def _sphinx(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    current = ""
    for line in lines:
        entry = _SPHINX.match(line)
        if entry:
            current = entry[1]
            found[current] = entry[2]
        elif _SPHINX_ANY.match(line) or not line.strip():
            current = ""
        elif current:
            found[current] += f" {line.strip()}"
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip()) if line.strip() else -1
