"""Asking the tools on code in a directory of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from callgate import Callgate
from callgate.model.outcome import Outcome


def opened(folder: Path, *, store: str = "memory://") -> Callgate:
    """A gate that works in this directory."""
    return Callgate.open(store, working_directory=folder, builtin_tools=["intelligence"])


async def once(folder: Path, name: str, /, **arguments: Any) -> Outcome:
    """One call on a gate of its own, whose index is in memory."""
    async with opened(folder) as gate:
        return await gate.call(name, arguments)


async def answer(folder: Path, name: str, /, **arguments: Any) -> dict[str, Any]:
    """What one such call gives."""
    return (await once(folder, name, **arguments)).unwrap()


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Put files into a directory; the directory."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
