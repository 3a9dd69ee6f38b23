"""vault_write: a note as it is to be, all of it or nothing, with the front matter that it has."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.tools.file_facts import digest_of, what_was_seen
from callgate.tools.foreseen import foreseen
from callgate.tools.replacing import difference
from callgate.tools.schemas import fields
from callgate.tools.vault import frontmatter
from callgate.tools.vault.arguments import (
    DIGEST,
    TEXT,
    NotePath,
    ProjectId,
    Text,
    touching,
)
from callgate.tools.vault.describing import title_of
from callgate.tools.vault.names import note_path
from callgate.tools.vault.notes import LARGEST, Note
from callgate.tools.vault.planning import as_text
from callgate.tools.vault.prose import without_code
from callgate.tools.vault.resolving import refuse_unlinkable
from callgate.tools.vault.vaults import Vaults

_WRITTEN = fields({"status": {"const": "ok"}, "path": TEXT, "title": TEXT, "digest": DIGEST})
_ROOM = 64 * 1024
"""For what is in a call besides the body."""


def make_write(vaults: Vaults) -> Any:
    """vault_write."""

    @foreseen()
    def would_write(arguments: dict[str, Any], ctx: ToolContext) -> Preview:
        path = note_path(arguments["path"])
        with vaults.reading(ctx, arguments.get("project_id")) as project:
            before = None if project is None else project.notes.read(path)
            if project is not None:
                project.notes.refuse_protected((path,))
        after = compose(path, before, body=arguments["body"], title=arguments.get("title"))
        text = difference(b"" if before is None else before.content, after, name=path, new=before is None)
        return Preview(text=text, state=state_of(path, before))

    @tool(
        effects="modifies_files",
        scopes=["fs:write"],
        risk="medium",
        destructive=False,
        idempotent=False,
        concurrency_safe=False,
        timeout=10,
        output_schema=_WRITTEN,
        max_argument_bytes=6 * LARGEST + _ROOM,  # as JSON, where a letter may take six
        preview=would_write,
        resources=touching(vaults.place),
        reads=what_was_seen,
        marks_effect=True,
        examples=[{"path": "welcome.md", "body": "# Welcome\n\nNotes link to each other: [[tea]].\n"}],
    )
    def vault_write(
        path: NotePath,
        body: Text,
        *,
        title: Annotated[Text, Field(max_length=200)] | None = None,
        project_id: ProjectId | None = None,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Write a note of the vault: make it, or replace its text. Its front matter stays unless the body brings one.

        Args:
            path: The note, such as ideas/tea.md; folders are made.
            body: The text, in Markdown; [[name]] links to another note.
            title: The title, kept in the front matter; without one it is the first heading.
            project_id: The project whose notes are meant.
            ctx: Whose notes.
        """
        wanted = note_path(path)
        _refuse_unwritable(body, title)
        with vaults.writing(ctx, project_id, make=True) as project:
            before = project.notes.read(wanted)
            if not ctx.is_as_shown(state_of(wanted, before)):
                raise PermissionError(f"{wanted} is not as it was when this was approved; ask again")
            after = compose(wanted, before, body=body, title=title)
            project.notes.write(wanted, after, before=before, point=lambda: enter(ctx))
        front, text = frontmatter.split(as_text(after))
        return {
            "status": "ok",
            "path": wanted,
            "title": title_of(wanted, front=front, prose=without_code(text)).shown,
            "digest": digest_of(after),
        }

    return vault_write


def enter(ctx: ToolContext) -> None:
    """Pass the point of no return."""
    with ctx.effect_sync():
        pass


def state_of(path: str, before: Note | None) -> str:
    """What differs when the note does."""
    return f"{'absent' if before is None else before.digest} {path}"


def compose(path: str, before: Note | None, *, body: str, title: str | None) -> bytes:
    """The note as it is to be.

    Raises:
        ValueError: It cannot be.
    """
    if before is None:
        refuse_unlinkable(path)
    _refuse_unwritable(body, title)
    front, text = frontmatter.split(body)
    kept = "" if front.raw or before is None else frontmatter.split(as_text(before.content))[0].raw
    front = frontmatter.read_block(kept) if kept else front
    if title is not None:
        front = front.with_title(title.strip())
    content = (front.raw + text).encode("utf-8", "surrogateescape")
    if len(content) > LARGEST:
        raise ValueError(f"body makes the note larger than {LARGEST} bytes; write several notes")
    return content


def _refuse_unwritable(body: str, title: str | None) -> None:
    for name, text in (("body", body), ("title", title or "")):
        if "\0" in text:
            raise ValueError(f"{name} has a NUL in it, which is no text")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name} has half a character in it, which is no text") from None
    if title is not None and not title.strip():
        raise ValueError("title is empty; leave it out to take the first heading")
