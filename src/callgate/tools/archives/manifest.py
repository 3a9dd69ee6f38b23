"""archive_open: what an archive holds."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.archives.examining import Archive
from callgate.tools.archives.limits import SECONDS
from callgate.tools.archives.shelf import Shelf

_FEW = 20
_LARGE = 50 * 1024 * 1024

_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "archive_name": {"type": "string", "description": "Names this archive in later calls."},
        "path": {"type": "string"},
        "format": {"enum": ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz", "7z"]},
        "total_files": {"type": "integer"},
        "total_size": {"type": "integer", "description": "Unpacked, in bytes."},
        "types": {"type": "object", "additionalProperties": {"type": "integer"}},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
                "required": ["name", "size"],
                "additionalProperties": False,
            },
        },
        "nested_archives": {"type": "array", "items": {"type": "string"}},
        "recommendation": {"type": "string"},
    },
    "additionalProperties": False,
}
_OUTPUT["required"] = list(_OUTPUT["properties"])


def make_open(shelf: Shelf) -> Any:
    """The tool, with what sessions opened."""

    @tool(
        effects="read_only",
        scopes=["fs:read"],
        concurrency_safe=True,
        untrusted_output=True,
        timeout=SECONDS,
        output_schema=_OUTPUT,
        examples=[{"path": "bundle.zip"}],
    )
    def archive_open(
        path: Annotated[str, Field(json_schema_extra={"format": "file-path"})], ctx: ToolContext
    ) -> dict[str, Any]:
        """Look into a zip, tar (also gz, bz2, xz) or 7z archive: what it holds, without unpacking it.

        Names that lead out, links, devices, names that collide, bombs and headers that lie are refused.

        Args:
            path: The archive.
            ctx: Where it may go.
        """
        with shelf.open(path, ctx) as opened:
            archive = opened.archive
            return {
                "archive_name": opened.name,
                "path": opened.held.place,
                "format": archive.kind,
                "total_files": len(archive.files),
                "total_size": sum(each.size for each in archive.files),
                "types": _types(archive),
                "files": [{"name": each.name, "size": each.size} for each in archive.files],
                "nested_archives": list(archive.nested),
                "recommendation": _recommendation(archive),
            }

    return archive_open


def _types(archive: Archive) -> dict[str, int]:
    names = (each.name.rpartition("/")[2] for each in archive.files)
    endings = Counter(name[name.rindex(".") :].lower() if "." in name[1:] else "none" for name in names)
    return dict(endings.most_common())


def _recommendation(archive: Archive) -> str:
    if not archive.files:
        return "The archive is empty."
    if sum(each.size for each in archive.files) > _LARGE:
        return "Large: extract only what is needed, with pattern or files."
    if len(archive.files) > _FEW:
        return "Search it with archive_search, or extract what is needed with pattern or files."
    return "Small: read single files with archive_file, or extract it."
