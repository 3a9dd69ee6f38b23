"""JSON lines: events one per line, for other programs to read."""

from __future__ import annotations

from typing import BinaryIO

from callgate.events.selection import EVERYTHING, Selection
from callgate.model.canonical import dumps
from callgate.ports import Reader


def export_jsonl(reader: Reader, out: BinaryIO, *, selection: Selection = EVERYTHING) -> int:
    """Write the selected events in the store's order; how many there were."""
    count = 0
    for page in selection.pages(reader):
        out.write(b"".join(dumps(event.to_json()) + b"\n" for event in page))
        count += len(page)
    return count
