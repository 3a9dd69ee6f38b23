"""write_file: a text into a file, all of it or nothing, by a new file that takes the old one's name."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any, Literal

from callgate.adapters.function import tool
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Confined, Spot, read_all
from callgate.tools.file_facts import digest_of, what_was_seen
from callgate.tools.file_rights import FileRights, rights_of
from callgate.tools.files.arguments import FilePath, Text
from callgate.tools.foreseen import foreseen
from callgate.tools.replacing import beside, difference, flush, refuse_protected, sweep, take_place, version_of
from callgate.tools.turns import one_writer

_LARGEST = 64 * 1024 * 1024
"""What a file may have in the end, in bytes."""
_WRITER = "write-"
"""What it puts beside a file is its own: a note that the vault moves at that moment has no turn in this folder."""

_OUTPUT = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "bytes_written": {"type": "integer"},
        "digest": {"type": "string", "description": "SHA-256 of the file as it is now."},
    },
    "required": ["path", "bytes_written", "digest"],
    "additionalProperties": False,
}


def would_write(arguments: dict[str, Any], ctx: ToolContext) -> Preview:
    """The difference it would make, and which file with which content it was worked out from."""
    confined = Confined(ctx.grounds())
    with foreseen(), _spot(confined, arguments["path"]) as spot:
        refuse_protected(spot, confined.show(spot.place))
        before, _ = _current(confined, spot)
        after = _after(before, arguments["content"], mode=arguments["mode"])
    name = confined.show(spot.place)
    text = difference(before or b"", after, name=name, new=before is None)
    return Preview(text=text, state=_state(spot, before))


@tool(
    effects="modifies_files",
    scopes=["fs:write"],
    risk="medium",
    destructive=True,
    idempotent=False,
    concurrency_safe=False,
    output_schema=_OUTPUT,
    preview=would_write,
    reads=what_was_seen,
    marks_effect=True,
    examples=[{"path": "notes.txt", "content": "one line\n"}, {"path": "notes.txt", "content": "more\n", "mode": "a"}],
)
def write_file(path: FilePath, content: Text, *, mode: Literal["w", "a"] = "w", ctx: ToolContext) -> dict[str, Any]:
    """Write text to a file as UTF-8: replace what is there, or add to its end. The file is never half written.

    Args:
        path: The file; its directory must be there.
        content: The text.
        mode: w replaces the file, a adds to its end.
        ctx: Where it may go.
    """
    confined = Confined(ctx.grounds())
    with _spot(confined, path) as found, one_writer(found.folder, ctx) as alone:
        spot = confined.spot_in(found.folder, found.name)  # who wrote before us may have replaced it
        refuse_protected(spot, confined.show(spot.place))
        before, rights = _current(confined, spot)
        if not ctx.is_as_shown(_state(spot, before)):
            raise PermissionError(f"{path} is not the file, or not as it was, when this was approved; ask again")
        after = _after(before, content, mode=mode)
        if alone:
            sweep(spot.folder, _WRITER)
        with beside(spot.folder, after, like=rights, writer=_WRITER) as name:
            _refuse_changed(confined, spot)
            with ctx.effect_sync():
                take_place(spot.folder, name, of=spot.name, shown=confined.show(spot.place))
        flush(spot.folder.fd)
    return {"path": spot.place, "bytes_written": len(content.encode()), "digest": digest_of(after)}


@contextlib.contextmanager
def _spot(confined: Confined, path: str) -> Generator[Spot]:
    """Where the file is, or would be: its directory has to be there."""
    with contextlib.ExitStack() as held:
        try:
            spot = held.enter_context(confined.spot(path))
        except FileNotFoundError:
            folder = confined.show(confined.locate(path).rpartition("/")[0])
            raise FileNotFoundError(f"there is no directory {folder}; make it first") from None
        except NotADirectoryError as error:
            shown = confined.show(str(error.filename))
            raise NotADirectoryError(f"{shown} is no directory; name another place") from None
        yield spot


def _state(spot: Spot, before: bytes | None) -> str:
    return f"{'absent' if before is None else digest_of(before)} {spot.place}"


def _after(before: bytes | None, content: str, *, mode: str) -> bytes:
    after = (before or b"") + content.encode() if mode == "a" else content.encode()
    if len(after) > _LARGEST:
        raise ValueError(f"content would make the file larger than {_LARGEST} bytes")
    return after


def _current(confined: Confined, spot: Spot) -> tuple[bytes | None, FileRights | None]:
    """What is in the file now, and who may do what with it; None where there is none."""
    if spot.status is None:
        return None, None
    with confined.file_at(spot.folder, spot.name) as held:
        content, rights = read_all(held.fd, _LARGEST + 1), rights_of(held)
    if len(content) > _LARGEST:
        raise ValueError(f"{confined.show(spot.place)} is larger than {_LARGEST} bytes, and is not written to")
    return content, rights


def _refuse_changed(confined: Confined, spot: Spot) -> None:
    """Another program knows nothing of our turns; what it wrote since we looked is not thrown away."""
    now = confined.spot_in(spot.folder, spot.name).status
    if version_of(now) != version_of(spot.status):
        raise BlockingIOError(f"{confined.show(spot.place)} was changed by somebody else meanwhile; nothing is written")
