"""Searches of hosts: which of the files that no tool may touch one would read. Looks at names, and opens nothing.

A host's search goes through all that lies in a folder. What it leaves out is known only where a glob or a type says so,
and a glob is taken in the widest sense: by what stands behind its last slash.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from callgate.model.call import Call

_SEARCH = "host.grep"
_MOST = 20
"""So many are named; one is enough for a no."""
_MOST_LOOKED_AT = 5000
_BETWEEN = re.compile(r"[\s,]+(?![^{]*\})")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 64
_SUFFIXES = {
    "c": ".c .h",
    "cpp": ".cpp .cc .cxx .hpp .hh .h .inl",
    "cs": ".cs",
    "css": ".css .scss",
    "go": ".go",
    "html": ".htm .html .ejs",
    "java": ".java .jsp",
    "js": ".js .jsx .mjs .cjs .vue",
    "kotlin": ".kt .kts",
    "md": ".md .markdown .mdown .mkdn .mdwn .mkd .mdx",
    "php": ".php",
    "py": ".py .pyi",
    "ruby": ".rb .gemspec",
    "rust": ".rs",
    "swift": ".swift",
    "ts": ".ts .tsx .mts .cts",
}
"""What a host's type of files goes by; one that is not here may be any."""
SEARCHED = "searched"
"""The argument that says which of the files out of reach a search would read: paths, judged like the others."""
_NARROWER = " Search a folder without these files, or say a glob or type that leaves them out."


def with_searched(call: Call, protected: Iterable[str], *, folder: str) -> Call:
    """The call, with what it would read of the protected files where it is a search that would.

    Args:
        call: A tool of a host, by its name at the gate.
        protected: What no tool may touch.
        folder: Where relative paths are meant.
    """
    found = searched(call.arguments, protected, folder=folder) if call.tool == _SEARCH else []
    return call._replace(arguments={**call.arguments, SEARCHED: found}) if found else call


def advice(call: Call) -> str:
    """What helps where a search was denied for what it would read; nothing of other calls."""
    return _NARROWER if SEARCHED in call.arguments else ""


def searched(arguments: Mapping[str, Any], protected: Iterable[str], *, folder: str) -> list[str]:
    """Those of the protected files that a search with these arguments may read."""
    folder = os.path.realpath(os.path.join(folder, str(arguments.get("path") or ".")))  # noqa: PTH118 - a text all along
    if not os.path.isdir(folder):  # noqa: PTH112 - a text all along
        return []
    chosen = _Chosen(arguments.get("glob"), arguments.get("type"))
    below = (path for path in protected if os.path.realpath(path).startswith(folder.rstrip("/") + "/"))
    there = islice((file for path in dict.fromkeys(below) for file in _files(Path(path))), _MOST_LOOKED_AT)
    return list(islice((str(file) for file in there if chosen.may_have(file.name)), _MOST))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield from [path] if path.exists() else []
        return
    for above, _, names in os.walk(path):
        yield from (Path(above) / name for name in names)


class _Chosen:
    """Which files of a folder are searched, as far as a call says."""

    def __init__(self, glob: Any, kind: Any) -> None:
        self._suffixes = tuple(_SUFFIXES[kind].split()) if isinstance(kind, str) and kind in _SUFFIXES else None
        self._ends = _ends(glob) if isinstance(glob, str) and glob.strip() else None

    def may_have(self, name: str) -> bool:
        folded = name.casefold()
        if self._suffixes is not None and not folded.endswith(self._suffixes):
            return False
        return self._ends is None or any(fnmatch.fnmatchcase(folded, end) for end in self._ends)


def _ends(glob: str) -> list[str] | None:
    """The patterns of names that a glob has; None where it may have any."""
    words = [word for word in _BETWEEN.split(glob.strip().casefold()) if word]
    if "\\" in glob or "(" in glob or any(word.startswith("!") for word in words):
        return None
    alternatives = words
    while any(_BRACES.search(word) for word in alternatives):
        alternatives = [each for word in alternatives for each in _opened(word)]
        if len(alternatives) > _MOST_ALTERNATIVES:
            return None
    # `[!a]` and `[^a]` are one thing to some, and an unclosed brace is anything.
    ends = [word.rpartition("/")[2] or "*" for word in alternatives]
    return None if any(sign in end for end in ends for sign in "{}[") else ends


def _opened(word: str) -> list[str]:
    found = _BRACES.search(word)
    if found is None:
        return [word]
    return [f"{word[: found.start()]}{each}{word[found.end() :]}" for each in found[1].split(",")]
