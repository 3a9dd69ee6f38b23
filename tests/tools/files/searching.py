"""Something to search, and searching it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tools.files.calling import once


def planted(folder: Path) -> Path:
    """A directory with what is to be found, hidden, and named by an ignore file."""
    for name, text in {
        "a.py": "import os\nneedle = 1\n",
        "sub/b.md": "# A needle\n\nNeedle\n",
        ".hidden": "needle\n",
        "build/out.txt": "needle\n",
        ".gitignore": "build/\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


async def found(folder: Path, pattern: str, **arguments: Any) -> list[tuple[str, int, str]]:
    """Path, number and text of each line that a search tells."""
    output = (await once(folder, "search_files", pattern=pattern, **arguments)).unwrap()
    assert output["count"] == len(output["matches"])
    return [(match["path"], match["line"], match["text"]) for match in output["matches"]]
