"""vault_create_index: one note that lists every note of a folder; where it is there, only its own part changes."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.tools.file_facts import digest_of, what_was_seen
from callgate.tools.foreseen import foreseen
from callgate.tools.replacing import difference
from callgate.tools.schemas import fields
from callgate.tools.vault.arguments import (
    DIGEST,
    TEXT,
    NoteFolder,
    ProjectId,
    Text,
    touching,
)
from callgate.tools.vault.keeping_step import look_up
from callgate.tools.vault.links import Form, address
from callgate.tools.vault.names import LONGEST_PATH, NOTE, folder_path, note_path
from callgate.tools.vault.note_index import Listed
from callgate.tools.vault.notes import LARGEST, Note
from callgate.tools.vault.planning import as_bytes, as_text
from callgate.tools.vault.resolving import refuse_unlinkable
from callgate.tools.vault.sight import MOST_NOTES
from callgate.tools.vault.vaults import Project, Vaults
from callgate.tools.vault.writing import enter, state_of

NAME = "index.md"
BEGIN = "<!-- callgate:index -->"
END = "<!-- /callgate:index -->"
_MADE = fields(
    {"status": {"const": "ok"}, "path": TEXT, "entries": {"type": "integer"}, "digest": DIGEST},
)
_BREAKS_A_LINK = re.compile(r"[\[\]|\\]+")


def make_index(vaults: Vaults) -> Any:
    """vault_create_index."""

    @foreseen()
    def would_make(arguments: dict[str, Any], ctx: ToolContext) -> Preview:
        folder, path = _where(arguments["folder"])
        with vaults.reading(ctx, arguments.get("project_id")) as project:
            if project is None:
                raise FileNotFoundError("there are no notes in this project yet")
            before = project.notes.read(path)
            project.notes.refuse_protected((path,))
            listed = _listed(project, ctx, folder=folder, but=path, summaries=arguments["include_summaries"])
        after = compose(before, listed, title=_title(arguments.get("title"), folder))
        text = difference(b"" if before is None else before.content, after, name=path, new=before is None)
        return Preview(text=text, state=f"{state_of(path, before)} {digest_of(after)}")

    @tool(
        effects="modifies_files",
        scopes=["fs:write"],
        risk="low",
        destructive=False,
        idempotent=True,
        concurrency_safe=False,
        timeout=20,
        output_schema=_MADE,
        preview=would_make,
        resources=touching(vaults.place),
        reads=what_was_seen,
        marks_effect=True,
        examples=[{"folder": "/"}, {"folder": "drinks", "title": "All drinks", "include_summaries": False}],
    )
    def vault_create_index(
        folder: NoteFolder,
        title: Annotated[Text, Field(max_length=200)] | None = None,
        *,
        include_summaries: bool = True,
        project_id: ProjectId | None = None,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Write the note index.md of a folder, which lists every note in it and below it, with a link to each.

        Args:
            folder: The folder, such as drinks; / is all notes.
            title: Its heading; the folder's name when nothing is said.
            include_summaries: Put the first paragraph of each note beside its link.
            project_id: The project whose notes are meant.
            ctx: Whose notes.
        """
        wanted, path = _where(folder)
        with vaults.writing(ctx, project_id, make=False) as project:
            before = project.notes.read(path)
            listed = _listed(project, ctx, folder=wanted, but=path, summaries=include_summaries)
            after = compose(before, listed, title=_title(title, wanted))
            if not ctx.is_as_shown(f"{state_of(path, before)} {digest_of(after)}"):
                raise PermissionError(f"{path}, or a note it lists, is not as it was when this was approved; ask again")
            project.notes.write(path, after, before=before, point=lambda: enter(ctx))
        return {"status": "ok", "path": path, "entries": len(listed), "digest": digest_of(after)}

    return vault_create_index


def compose(before: Note | None, listed: list[Listed], *, title: str) -> bytes:
    """The note with the list in its own part; behind everything else where it has none yet.

    Raises:
        ValueError: It gets too large for a note.
    """
    lines = [BEGIN, f"# {title}", "", *(_entry(note) for note in listed), END]
    block = "\n".join(lines)
    if before is None:
        content = as_bytes(f"{block}\n")
    else:
        text = as_text(before.content)
        found = _own_part(text)
        ending = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        placed = f"{text}{ending}{block}\n" if found is None else text[: found[0]] + block + text[found[1] :]
        content = as_bytes(placed)
    if len(content) > LARGEST:
        raise ValueError(
            f"the index of {len(listed)} notes is larger than {LARGEST} bytes: name a smaller folder, or set"
            " include_summaries to false"
        )
    return content


def _own_part(text: str) -> tuple[int, int] | None:
    """From where to where the first part of ours reaches: a line that begins one, and the next that ends one.

    Where another begins between the two, the first has lost its end, and what follows it is somebody's own text.
    """
    begun: int | None = None
    at = 0
    for line in text.split("\n"):
        bare = line.rstrip(" \t\r")
        if bare == BEGIN:
            begun = at
        elif bare == END and begun is not None:
            return begun, at + len(line)
        at += len(line) + 1
    return None


def _entry(note: Listed) -> str:
    title = " ".join(_BREAKS_A_LINK.sub(" ", note.title).split()) or note.path.rpartition("/")[2]
    try:
        refuse_unlinkable(note.path)
        link = f"[[{note.path.removesuffix(NOTE)}|{title}]]"
    except ValueError:
        link = f"[{title}](/{address(note.path, Form.PLAIN).removeprefix('./')})"
    return f"- {link}: {_quiet(note.summary)}" if note.summary else f"- {link}"


def _quiet(summary: str) -> str:
    """A summary that ends no part of ours."""
    return summary.replace("<!--", "<! --")


def _listed(project: Project, ctx: ToolContext, *, folder: str, but: str, summaries: bool) -> list[Listed]:
    found = look_up(project, ctx, work=lambda index: index.below(folder, MOST_NOTES + 1, summaries=summaries))
    notes = [note for note in found if note.path != but]
    if not notes:
        raise FileNotFoundError(f"there are no notes in {folder or 'this project'}; vault_list says which there are")
    return notes


def _where(folder: str) -> tuple[str, str]:
    wanted = folder_path(folder)
    path = f"{wanted}/{NAME}" if wanted else NAME
    if len(path) > LONGEST_PATH:
        raise ValueError(f"folder is too long: its index would have more than {LONGEST_PATH} characters")
    return wanted, note_path(path, argument="folder")


def _title(title: str | None, folder: str) -> str:
    given = " ".join((title or "").split())
    return _quiet(given or folder.rpartition("/")[2] or "Notes")
