"""archive_file and archive_search: reading in an archive without unpacking it to the disk."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.archives.arguments import ArchiveName, MemberName
from callgate.tools.archives.examining import not_there
from callgate.tools.archives.limits import SECONDS
from callgate.tools.archives.pouring import Kept
from callgate.tools.archives.searching import Searched
from callgate.tools.archives.sections import text_of
from callgate.tools.archives.shelf import Shelf

_LARGEST_TEXT = 1_000_000
_MOST = 50

_LINE_BREAKS = frozenset("\r\n")
_MORE = f"more than {_MOST} lines have it, and the others are not listed; search for more of the text"

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
            "note": {"type": "string", "description": "At the last line, that there are more."},
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
            archive_name: The archive_name that archive_open gave; the last one opened when nothing is said, but at the
                shell, where each call is a process of its own, it has to be said.
            ctx: Where it may go.
        """
        with shelf.find(archive_name, ctx) as opened:
            found = next((each for each in opened.archive.files if each.name == filename), None)
            if found is None:
                raise ValueError(f"filename {filename!r} {not_there(opened.archive, filename)}")
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

        Where there are more, the last one has a note that says so. Files with a NUL, as those in UTF-16, are no text;
        in one that is not UTF-8, what is not ASCII is not found.

        Args:
            query: The text, without line breaks; upper and lower case are the same.
            archive_name: The archive_name that archive_open gave; the last one opened when nothing is said, but at the
                shell, where each call is a process of its own, it has to be said.
            ctx: Where it may go.
        """
        if _LINE_BREAKS.intersection(query):
            raise ValueError("query has a line break, and lines are searched one by one; search for a part of one line")
        hits: list[dict[str, Any]] = []
        with shelf.find(archive_name, ctx) as opened:
            files = opened.archive.files
            opened.archive.format.pour(files, lambda member: Searched(member, query, hits=hits, most=_MOST + 1))
        if len(hits) > _MOST:
            hits[_MOST - 1]["note"] = _MORE
        return hits[:_MOST]

    return archive_search
