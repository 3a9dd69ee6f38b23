"""vault_read, vault_search and vault_list: what the notes say."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.file_facts import what_was_seen
from callgate.tools.moments import moment
from callgate.tools.schemas import fields
from callgate.tools.vault import frontmatter
from callgate.tools.vault.arguments import (
    DIGEST,
    TEXT,
    NoteFolder,
    NotePath,
    ProjectId,
    Text,
    touching,
)
from callgate.tools.vault.describing import title_of
from callgate.tools.vault.keeping_step import look_up
from callgate.tools.vault.names import EVERYTHING, folder_path, note_path
from callgate.tools.vault.note_index import Listed
from callgate.tools.vault.prose import without_code
from callgate.tools.vault.vaults import Vaults

MOST_LISTED = 1000

_NOTE = fields(
    {
        "path": TEXT,
        "title": TEXT,
        "content": {
            "type": "string",
            "description": "The text below the front matter; all of it where that is broken.",
        },
        "metadata": {"type": "object", "description": "What the front matter says."},
        "metadata_error": {"type": ["string", "null"], "description": "Why the front matter could not be read."},
        "digest": DIGEST,
    }
)
_FOUND = fields(
    {
        "query": TEXT,
        "results": {
            "type": "array",
            "items": fields({"path": TEXT, "title": TEXT, "snippet": TEXT, "score": {"type": "number"}}),
        },
        "count": {"type": "integer"},
    }
)
_LISTED = fields(
    {
        "folder": TEXT,
        "notes": {
            "type": "array",
            "items": fields({"path": TEXT, "title": TEXT, "modified": TEXT, "size": {"type": "integer"}}),
        },
        "count": {"type": "integer"},
        "truncated": {"type": "boolean", "description": f"Whether there are more than {MOST_LISTED}."},
    }
)


def make_read(vaults: Vaults) -> Any:
    """vault_read."""

    @tool(
        effects="read_only",
        scopes=["fs:read"],
        concurrency_safe=True,
        timeout=10,
        output_schema=_NOTE,
        resources=touching(vaults.place),
        reads=what_was_seen,
        examples=[{"path": "welcome.md"}],
    )
    def vault_read(path: NotePath, project_id: ProjectId | None = None, *, ctx: ToolContext) -> dict[str, Any]:
        """Read a note of the vault: its text, its title, and what its front matter says.

        Args:
            path: The note, such as ideas/tea.md.
            project_id: The project whose notes are meant.
            ctx: Whose notes.
        """
        wanted = note_path(path)
        with vaults.reading(ctx, project_id) as project:
            note = None if project is None else project.notes.read(wanted)
        if note is None:
            raise FileNotFoundError(f"there is no note {wanted}; vault_list says which there are")
        try:
            text = note.content.decode()
        except UnicodeDecodeError:
            raise ValueError(f"path {wanted!r} is no UTF-8 text, so it is no note that can be read") from None
        front, body = frontmatter.split(text)
        return {
            "path": wanted,
            "title": title_of(wanted, front=front, prose=without_code(body)).shown,
            "content": body if front.error is None else text,
            "metadata": dict(front.values),
            "metadata_error": front.error,
            "digest": note.digest,
        }

    return vault_read


def make_search(vaults: Vaults) -> Any:
    """vault_search."""

    @tool(
        effects="read_only",
        scopes=["fs:read"],
        concurrency_safe=True,
        timeout=15,
        output_schema=_FOUND,
        resources=touching(vaults.place),
        examples=[{"query": "green tea"}, {"query": '"an exact phrase" word', "limit": 10}],
    )
    def vault_search(
        query: Annotated[Text, Field(min_length=1, max_length=1000)],
        limit: Annotated[int, Field(ge=1, le=20)] = 5,
        *,
        project_id: ProjectId | None = None,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Find notes of the vault by their words, best first, each with a piece of its text.

        Args:
            query: Words, and phrases in quotes. Notes with all of them come; where there are none, those with any.
            limit: At most so many notes.
            project_id: The project whose notes are meant.
            ctx: Whose notes.
        """
        if not query.strip():
            raise ValueError("query has no words in it: name what to look for")
        with vaults.reading(ctx, project_id) as project:
            if project is None:
                return {"query": query, "results": [], "count": 0}
            hits = look_up(project, ctx, work=lambda index: index.search(query, limit))
        results = [{"path": h.path, "title": h.title, "snippet": h.snippet, "score": h.score} for h in hits]
        return {"query": query, "results": results, "count": len(results)}

    return vault_search


def make_list(vaults: Vaults) -> Any:
    """vault_list."""

    @tool(
        effects="read_only",
        scopes=["fs:read"],
        concurrency_safe=True,
        timeout=10,
        output_schema=_LISTED,
        resources=touching(vaults.place),
        examples=[{}, {"folder": "ideas"}],
    )
    def vault_list(
        folder: NoteFolder | None = None, project_id: ProjectId | None = None, *, ctx: ToolContext
    ) -> dict[str, Any]:
        """List the notes of the vault, by path: all of them, or those in a folder and below it.

        Args:
            folder: The folder, such as ideas; all notes when nothing is said.
            project_id: The project whose notes are meant.
            ctx: Whose notes.
        """
        wanted = folder_path(folder)
        with vaults.reading(ctx, project_id) as project:
            found: list[Listed] = []
            if project is not None:
                found = look_up(project, ctx, work=lambda index: index.below(wanted, MOST_LISTED + 1))
        notes = [
            {"path": note.path, "title": note.title, "modified": moment(note.changed / 1e9), "size": note.size}
            for note in found[:MOST_LISTED]
        ]
        return {
            "folder": wanted or EVERYTHING,
            "notes": notes,
            "count": len(notes),
            "truncated": len(found) > MOST_LISTED,
        }

    return vault_list
