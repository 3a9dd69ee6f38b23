"""archive_file and archive_search: reading in an archive without unpacking it to the disk."""

from __future__ import annotations

from bisect import bisect_left
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.archives.arguments import SECONDS, ArchiveName, MemberName
from callgate.tools.archives.pouring import Kept
from callgate.tools.archives.sections import lines_with_sections, text_of
from callgate.tools.archives.shelf import Shelf

_LARGEST_TEXT = 1_000_000
_LARGEST_SEARCHED = 16 * 1024 * 1024
_MOST = 50
_SHOWN = 300
"""Characters of a line."""
_STEP = 4096

_HITS: dict[str, Any] = {
    "type": "array",
    "maxItems": _MOST,
    "items": {
        "type": "object",
        "properties": {
            "file": {"type": "string"},
            "line": {"type": "integer"},
            "section": {"type": "string"},
            "match": {"type": "string"},
        },
        "required": ["file", "line", "section", "match"],
        "additionalProperties": False,
    },
}


def make_file(shelf: Shelf) -> Any:
    """The tool that reads one file, with what sessions opened."""

    @tool(
        effects="read_only",
        scopes=["fs:read"],
        concurrency_safe=True,
        untrusted_output=True,
        timeout=SECONDS,
        output_schema={"type": "string"},
        examples=[{"filename": "README.md"}],
    )
    def archive_file(filename: MemberName, archive_name: ArchiveName | None = None, *, ctx: ToolContext) -> str:
        """Read one text file of an archive that archive_open was called for.

        Args:
            filename: The file's name as archive_open lists it.
            archive_name: The archive_name that archive_open gave; the last one opened when nothing is said.
            ctx: Where it may go.
        """
        with shelf.find(archive_name, ctx) as opened:
            found = next((each for each in opened.archive.files if each.name == filename), None)
            if found is None:
                raise ValueError(f"filename {filename!r} is not in the archive; archive_open lists its files")
            if found.size > _LARGEST_TEXT:
                raise ValueError(f"filename {filename!r} has more than {_LARGEST_TEXT} bytes; use archive_extract")
            kept = Kept(found)
            opened.archive.format.pour((found,), lambda _: kept)
        text = text_of(kept.data)
        if text is None:
            raise ValueError(f"filename {filename!r} is no UTF-8 text; use archive_extract")
        return text

    return archive_file


def make_search(shelf: Shelf) -> Any:
    """The tool that searches, with what sessions opened."""

    @tool(
        effects="read_only",
        scopes=["fs:read"],
        concurrency_safe=True,
        untrusted_output=True,
        timeout=SECONDS,
        output_schema=_HITS,
        examples=[{"query": "license"}],
    )
    def archive_search(
        query: Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "text"})],
        archive_name: ArchiveName | None = None,
        *,
        ctx: ToolContext,
    ) -> list[dict[str, Any]]:
        """Find a text in the text files of an archive that archive_open was called for; at most 50 lines.

        Args:
            query: The text; upper and lower case are the same.
            archive_name: The archive_name that archive_open gave; the last one opened when nothing is said.
            ctx: Where it may go.
        """
        hits: list[dict[str, Any]] = []

        class Searched(Kept):
            """Searched as soon as all of it is there."""

            def end(self) -> None:
                super().end()
                if len(hits) < _MOST:
                    hits.extend(_hits(self, query.casefold(), room=_MOST - len(hits)))
                self.data = bytearray()

        with shelf.find(archive_name, ctx) as opened:
            small = tuple(each for each in opened.archive.files if each.size <= _LARGEST_SEARCHED)
            opened.archive.format.pour(small, Searched)
        return hits

    return archive_search


def _hits(kept: Kept, wanted: str, *, room: int) -> list[dict[str, Any]]:
    text = text_of(kept.data)
    found: list[dict[str, Any]] = []
    for number, section, line in lines_with_sections(text or ""):
        at = line.casefold().find(wanted)
        if at >= 0:
            match = _around(line, _unfolded(line, at), length=len(wanted))
            found.append({"file": kept.member.name, "line": number, "section": section[:_SHOWN], "match": match})
            if len(found) == room:
                break
    return found


def _around(line: str, at: int, *, length: int) -> str:
    """What a long line has around its match."""
    begin = max(0, at - _SHOWN // 2) if at + length > _SHOWN else 0
    return line[begin : begin + _SHOWN].strip()


def _unfolded(line: str, at: int) -> int:
    """Where a line has what its folded text has there: some letters are two or three when they are folded."""
    begin = 0
    while (length := len(line[begin : begin + _STEP].casefold())) <= at:
        at -= length
        begin += _STEP
    return begin + bisect_left(range(_STEP), at, key=lambda letters: len(line[begin : begin + letters].casefold()))
