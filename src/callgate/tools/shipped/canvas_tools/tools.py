"""The tools of this plugin. Files are opened by handle, where the policy lets this call go."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from callgate import PluginSettings, tool
from callgate.model.recorded_calls import RecordedCalls
from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Confined, Held, Spot, read_all
from callgate.tools.replacing import beside

from .canvas import MOST_BYTES, Canvas, read_canvas
from .drawing import draw
from .edits import changes

_ENDING = ".canvas"
_MOST_LISTED = 500
_ALONE = (
    "this trace has no other calls: each `callgate call` is a trace of its own, unless --trace names one for several"
)


def would_export(arguments: dict[str, Any], _context: Any) -> str:
    """What a preview says."""
    where = arguments.get("output_path") or "a new file in the canvas directory"
    return f"Draw the {arguments['graph_type']} graph of this trace into {where}; nothing is written over."


@tool(marks_effect=True, preview=would_export)
async def export_reasoning_canvas(
    graph_type: str, *, include_evidence: bool, output_path: str | None, ctx: ToolContext, settings: PluginSettings
) -> str:
    """Draw what was recorded of this trace."""
    path = output_path or _new_path(str(settings["canvas_directory"]), graph_type)
    recorded = await ctx.recorded()
    return await asyncio.to_thread(_export, recorded, graph_type, path=path, evidence=include_evidence, ctx=ctx)


def _export(recorded: RecordedCalls, graph_type: str, *, path: str, evidence: bool, ctx: ToolContext) -> str:
    calls = [call for call in recorded if call["call"] != ctx.call_id]
    drawing = draw(graph_type, calls, evidence=evidence, left_out=recorded.left_out)
    place, canvas = _write(drawing.content, path, ctx=ctx), drawing.canvas
    told = f"{place}: {graph_type} graph of {len(canvas.cards)} cards and {len(canvas.arrows)} links"
    if drawing.left_out:
        return f"{told}; {drawing.left_out} older calls are not drawn"
    return told if calls else f"{told}; {_ALONE}"


def import_canvas_edits(canvas_path: str, baseline_path: str | None, *, ctx: ToolContext) -> str:
    """Tell what a person changed."""
    try:
        before = None if baseline_path is None else _read(ctx, baseline_path)
        found = changes(_read(ctx, canvas_path), before)
    except (ValueError, FileNotFoundError) as error:
        return _as_text({"status": "error", "message": str(error)})
    return _as_text({"status": "ok", **found})


def list_canvases(directory: str | None, *, ctx: ToolContext, settings: PluginSettings) -> str:
    """List what is there."""
    confined = Confined(ctx.grounds())
    try:
        with confined.directory(directory or str(settings["canvas_directory"])) as folder:
            names = _newest_first(folder)
            found = [_entry(confined, folder, name=name) for name in names[:_MOST_LISTED]]
    except FileNotFoundError:
        return _as_text({"status": "ok", "canvases": []})
    listed = [entry for entry in found if entry is not None]
    older = len(names) - len(found)
    told = {"message": f"{older} older ones are not listed"} if older else {}
    return _as_text({"status": "ok", "canvases": listed, **told})


def _newest_first(folder: Held) -> list[str]:
    """The names of canvases; without those that are no text, which nobody could ask for."""
    times: dict[str, float] = {}
    for name in os.listdir(folder.fd):  # noqa: PTH208 - by its handle
        if name.endswith(_ENDING) and _is_text(name):
            with suppress(OSError):
                times[name] = os.stat(name, dir_fd=folder.fd, follow_symlinks=False).st_mtime
    return sorted(times, key=lambda name: (-times[name], name))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _entry(confined: Confined, folder: Held, *, name: str) -> dict[str, Any] | None:
    """One canvas; None for what is none or may not be read."""
    try:
        with confined.file_at(folder, name) as held:
            canvas = read_canvas(read_all(held.fd, MOST_BYTES), name)
            modified = datetime.fromtimestamp(held.status.st_mtime, UTC).isoformat(timespec="seconds")
            place = confined.show(held.place)
    except (ValueError, OSError):
        return None
    parts = {"nodes": len(canvas.cards), "edges": len(canvas.arrows)}
    return {"path": place, "name": name.removesuffix(_ENDING), **parts, "modified": modified}


def _as_text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


def _new_path(directory: str, graph_type: str) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{directory}/{graph_type}-{stamp}-{secrets.token_hex(3)}{_ENDING}"


def _read(ctx: ToolContext, path: str) -> Canvas:
    with Confined(ctx.grounds()).file(path) as held:
        content = read_all(held.fd, MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path} is larger than {MOST_BYTES} bytes")
    return read_canvas(content, path)


def _write(content: bytes, path: str, *, ctx: ToolContext) -> str:
    """Write a new file; what a person may have edited is never written over."""
    if not path.endswith(_ENDING):
        raise ValueError(f"output_path must end in {_ENDING}")
    confined = Confined(ctx.grounds())
    above = os.path.dirname(path)  # noqa: PTH120 - `..` must stay as it was judged
    if above and not os.path.lexists(os.path.join(ctx.working_directory, above)):  # noqa: PTH118 - as above
        _make_directory(confined, above, ctx=ctx)
    with confined.spot(path) as spot:
        if spot.status is not None:
            raise FileExistsError(f"{path} is there already; name another file, or leave output_path out")
        with ctx.effect_sync():
            _put(spot, content)
        return confined.show(spot.place)


def _put(spot: Spot, content: bytes) -> None:
    """The whole file under its name at once, and only if nobody took that name meanwhile."""
    with beside(spot.folder, content, like=None) as name:
        os.link(name, spot.name, src_dir_fd=spot.folder.fd, dst_dir_fd=spot.folder.fd)
        os.unlink(name, dir_fd=spot.folder.fd)


def _make_directory(confined: Confined, path: str, *, ctx: ToolContext) -> None:
    with confined.spot(path) as spot, ctx.effect_sync():
        os.mkdir(spot.name, dir_fd=spot.folder.fd)
