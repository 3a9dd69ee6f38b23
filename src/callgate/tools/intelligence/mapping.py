"""Mapping: a project on a page: its files with the symbols that matter, or where there are none, its directories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from callgate.tools.intelligence.ranking import Ranked

CHARACTERS = 4
"""Of a token."""
_MOST_KEY_FILES = 10
_MOST_TYPES = 10
_BESIDE = 8
"""Characters for a number, or what stands between two names."""
_KEY_NAMES = (
    *("readme", "pyproject.toml", "package.json", "cargo.toml", "go.mod", "pom.xml", "build.gradle", "makefile"),
    *("cmakelists.txt", "gemfile", "setup.py", "setup.cfg", "requirements.txt", "dockerfile", "compose.yaml"),
    *("main.py", "__main__.py", "app.py", "main.go", "main.rs", "lib.rs", "index.js", "index.ts", "main.c", "main.cpp"),
    *("contributing", "changelog", "license"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What is shown of a symbol."""

    signatures: bool = True
    docstrings: bool = False


def map_symbols(ranked: Iterable[Ranked], *, max_tokens: int, style: Style, beside: int = 0) -> dict[str, Any]:
    """As many symbols as have room, the best ones, by file and line."""
    room = max_tokens * CHARACTERS - beside
    files: dict[str, list[tuple[Ranked, str]]] = {}
    count = total = 0
    full = False
    seen: set[tuple[str, str]] = set()
    for each in ranked:
        total += 1
        if (each.path, each.qualified) in seen:  # an overload, or one name for reading and writing
            continue
        seen.add((each.path, each.qualified))
        line = _line(each, style)
        cost = len(line) + (0 if each.path in files else len(each.path) + 2)
        if full or cost > room:
            full = full or room < CHARACTERS * 10
            continue
        room -= cost
        count += 1
        files.setdefault(each.path, []).append((each, line))
    text = "".join(
        f"{path}:\n{''.join(line for _, line in sorted(lines, key=lambda pair: pair[0].line))}"
        for path, lines in files.items()
    )
    return {
        **_told(text, max_tokens, beside=beside),
        "files_included": len(files),
        "symbols_included": count,
        "symbols_total": total,
    }


def _line(each: Ranked, style: Style) -> str:
    indent = "  " * (1 + each.qualified.count("."))
    said = each.signature if style.signatures and each.signature else f"{each.kind} {each.qualified}"
    note = f"  # {each.doc}" if style.docstrings and each.doc else ""
    return f"{indent}{each.line}: {said}{note}\n"


def map_files(paths: Iterable[str], *, max_tokens: int, beside: int = 0) -> dict[str, Any]:
    """Directories and how many files each has, from the top down, as far as there is room beside the other lists."""
    every = sorted(paths)
    folders = Counter(path.rpartition("/")[0] or "." for path in every)
    room = max_tokens * CHARACTERS
    key_files = fitting(_key_files(every), room // 4)
    types = Counter(_type(path) for path in every)
    kinds = fitting([kind for kind, _ in types.most_common(_MOST_TYPES)], room // 4)
    file_types = {kind: types[kind] for kind in kinds}
    beside += size_of(key_files) + size_of(file_types)
    room -= beside
    text = f"{len(every)} files in {len(folders)} directories\n"
    included = 0
    for folder, count in sorted(folders.items(), key=lambda item: (item[0].count("/"), item[0])):
        line = f"{folder}/ ({count})\n"
        if len(text) + len(line) > room:
            break
        text += line
        included += count
    return {
        **_told(text, max_tokens, beside=beside),
        "files_included": included,
        "symbols_included": 0,
        "symbols_total": 0,
        "source": "filesystem",
        "key_files": key_files,
        "file_types": file_types,
    }


def _told(text: str, max_tokens: int, *, beside: int = 0) -> dict[str, Any]:
    return {"map_text": text, "token_count": -(-(len(text) + beside) // CHARACTERS), "max_tokens": max_tokens}


def size_of(listed: list[str] | dict[str, int]) -> int:
    """How many characters it takes to write a list down."""
    return len(orjson.dumps(listed).decode())


def fitting(names: list[str], room: int) -> list[str]:
    """The first names, as far as there is room for them and what is written beside each."""
    chosen: list[str] = []
    for name in names:
        room -= size_of([name]) + _BESIDE
        if room < 0:
            break
        chosen.append(name)
    return chosen


def _key_files(paths: list[str]) -> list[str]:
    def importance(path: str) -> tuple[int, int, str]:
        name = path.rpartition("/")[2].lower()
        place = next((at for at, key in enumerate(_KEY_NAMES) if name == key or name.split(".")[0] == key), -1)
        return (path.count("/"), place, path) if place >= 0 else (1000, 0, path)

    found = sorted((importance(path) for path in paths), key=lambda each: each)
    return [path for depth, _, path in found if depth < 1000][:_MOST_KEY_FILES]  # noqa: PLR2004 - as above


def _type(path: str) -> str:
    name = path.rpartition("/")[2]
    return "." + name.rpartition(".")[2].lower() if "." in name else "(none)"
