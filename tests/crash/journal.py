"""The journal of one process: what it asked the gate for, and what it was told. Outlives the process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from callgate import Failed, Outcome, Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An outcome that was acknowledged: the call had returned when this was written."""

    number: int
    key: str
    status: str
    code: str | None
    happened: str | None
    """For failed ones: what may have been left behind."""
    output: Any
    approval: str | None


class Journal:
    """Writes lines, each with one system call."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def ask(self, number: int) -> None:
        """Before a call."""
        self._write({"asked": number})

    def tell(self, number: int, key: str, outcome: Outcome) -> None:
        """After a call has returned."""
        told = Told(
            number=number,
            key=key,
            status=outcome.status,
            code=outcome.error.code if outcome.error is not None else None,
            happened=outcome.happened.value if isinstance(outcome, Failed) else None,
            output=outcome.output,
            approval=outcome.approval_id if isinstance(outcome, Pending) else None,
        )
        self._write({"told": asdict(told)})

    def fail(self, what: str) -> None:
        """Something that must not be."""
        self._write({"trouble": what})

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


@dataclass(frozen=True, slots=True)
class Record:
    """All journals together."""

    asked: frozenset[int]
    told: tuple[Told, ...]
    trouble: tuple[str, ...]


def read_journals(folder: Path) -> Record:
    """What all processes wrote; a line that its process did not live to finish was never acknowledged."""
    lines = [line for path in sorted(folder.glob("*.journal")) for line in _whole_lines(path)]
    return Record(
        asked=frozenset(line["asked"] for line in lines if "asked" in line),
        told=tuple(Told(**line["told"]) for line in lines if "told" in line),
        trouble=tuple(line["trouble"] for line in lines if "trouble" in line),
    )


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)
