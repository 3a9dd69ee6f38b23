"""vault_move: another path for a note, and every link to it follows."""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import Any

from callgate.adapters.function import tool
from callgate.model.artifact import WithArtifact
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.tools.file_facts import digest_of
from callgate.tools.foreseen import foreseen
from callgate.tools.replacing import shown
from callgate.tools.schemas import fields
from callgate.tools.vault.arguments import DIGEST, TEXT, NotePath, ProjectId, touching
from callgate.tools.vault.keeping_step import keep_step, look_up
from callgate.tools.vault.links import Form
from callgate.tools.vault.moving import carry_out, refuse_endless, refuse_protected
from callgate.tools.vault.names import note_path
from callgate.tools.vault.planning import Plan, plan_move
from callgate.tools.vault.resolving import refuse_unlinkable
from callgate.tools.vault.vaults import Project, Vaults

MOST_TOLD = 99
"""What a model would do with the digests of hundreds, nobody knows."""
_MOVED = fields(
    {
        "status": {"const": "ok"},
        "old_path": TEXT,
        "new_path": TEXT,
        "links_updated": {"type": "integer"},
        "notes_updated": {"type": "integer", "description": "How many notes had such links."},
        "updated": {
            "type": "object",
            "description": f"Their digests now, by path; of the first {MOST_TOLD}.",
            "additionalProperties": TEXT,
        },
        "digest": DIGEST,
    }
)
_BRACKETS = {Form.WIKI: ("[[", "]]"), Form.PLAIN: ("(", ")"), Form.ANGLED: ("<", ">")}
_SOON = 0.5
"""Seconds; after a move that took longer, the index is left for the next call to bring in step."""
_SHOWN_LINKS = 20
"""Of one note."""


def what_was_moved(_arguments: dict[str, Any], output: dict[str, Any], updated: dict[str, str]) -> dict[str, str]:
    """The note at its new path, and all whose links followed: nobody is told that these were changed by another."""
    return {output["new_path"]: output["digest"], **updated}


def make_move(vaults: Vaults) -> Any:
    """vault_move."""

    @foreseen()
    def would_move(arguments: dict[str, Any], ctx: ToolContext) -> Preview:
        old, new = _paths(arguments["old_path"], arguments["new_path"])
        with vaults.reading(ctx, arguments.get("project_id")) as project:
            if project is None:
                raise FileNotFoundError(f"there is no note {old}")
            plan = _plan(project, ctx, old=old, new=new)
        return Preview(text=show(plan), state=plan.state)

    @tool(
        effects="modifies_files",
        scopes=["fs:write"],
        risk="medium",
        destructive=True,
        idempotent=False,
        concurrency_safe=False,
        timeout=10,
        output_schema=_MOVED,
        preview=would_move,
        resources=touching(vaults.place),
        reads=what_was_moved,
        marks_effect=True,
        examples=[{"old_path": "tea.md", "new_path": "drinks/green tea.md"}],
    )
    def vault_move(
        old_path: NotePath, new_path: NotePath, *, project_id: ProjectId | None = None, ctx: ToolContext
    ) -> WithArtifact:
        """Move or rename a note of the vault. Links in other notes follow, with their headings and aliases.

        Args:
            old_path: The note now.
            new_path: Where it goes; nothing may be there, and folders are made.
            project_id: The project whose notes are meant.
            ctx: Whose notes.
        """
        begun = time.monotonic()
        old, new = _paths(old_path, new_path)
        with vaults.writing(ctx, project_id, make=False) as project:
            plan = _plan(project, ctx, old=old, new=new)
            if not ctx.is_as_shown(plan.state):
                raise PermissionError("what this move changes is not what was approved; ask again")
            links = carry_out(project.notes, plan, ctx=ctx)
            moved = project.notes.read(new)
            if time.monotonic() - begun < _SOON:
                with contextlib.suppress(OSError, ValueError):  # it is done, and the next call will bring it in step
                    keep_step(project, ctx)
        digest = digest_of(b"") if moved is None else moved.digest
        updated = {rewriting.path: rewriting.after for rewriting in plan.rewritings if rewriting.path != new}
        output = {
            "status": "ok",
            "old_path": old,
            "new_path": new,
            "links_updated": links,
            "notes_updated": len(plan.rewritings),
            "updated": dict(itertools.islice(updated.items(), MOST_TOLD)),
            "digest": digest,
        }
        return WithArtifact(output, updated)

    return vault_move


def show(plan: Plan) -> str:
    """What a move changes, for people, note by note."""
    lines = [f"move {plan.old} to {plan.new}; {plan.links} links in {len(plan.rewritings)} notes follow"]
    for rewriting in plan.rewritings:
        lines.append(f"{rewriting.path}:")
        for spelling, new in list(rewriting.changes.items())[:_SHOWN_LINKS]:
            before, after = _BRACKETS[spelling.form]
            lines += (f"- {before}{spelling.target}{after}", f"+ {before}{new}{after}")
        if len(rewriting.changes) > _SHOWN_LINKS:
            lines.append(f"… {len(rewriting.changes) - _SHOWN_LINKS} more")
    return shown("\n".join(lines))


def _paths(old_path: str, new_path: str) -> tuple[str, str]:
    old, new = note_path(old_path, argument="old_path"), note_path(new_path, argument="new_path")
    refuse_unlinkable(new, argument="new_path")
    if old == new:
        raise ValueError("old_path and new_path are the same; there is nothing to move")
    return old, new


def _plan(project: Project, ctx: ToolContext, *, old: str, new: str) -> Plan:
    plan = look_up(project, ctx, work=lambda index: plan_move(project.notes, index, old=old, new=new))
    refuse_endless(plan)
    refuse_protected(project.notes, plan)
    return plan
