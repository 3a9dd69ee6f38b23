"""get_repo_map: the project on a page, within a budget of tokens."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.intelligence.arguments import INTEGER, LEFT_OUT, STRING, Scope, declared, with_left_out
from callgate.tools.intelligence.mapping import CHARACTERS, Style, fitting, map_files, map_symbols, size_of
from callgate.tools.intelligence.projects import Project, Projects, Unindexed
from callgate.tools.intelligence.ranking import rank
from callgate.tools.schemas import fields

_OUTPUT = fields(
    {
        "map_text": STRING,
        "token_count": {
            "type": "integer",
            "description": "Of the map and the lists beside it, at four characters a token.",
        },
        "max_tokens": INTEGER,
        "files_included": INTEGER,
        "symbols_included": INTEGER,
        "symbols_total": INTEGER,
        "scope": {"type": ["string", "null"]},
    },
    {
        "source": {"const": "filesystem", "description": "There is no index of symbols for this: directories only."},
        "key_files": {"type": "array", "items": STRING, "maxItems": 10},
        "file_types": {"type": "object", "additionalProperties": INTEGER, "maxProperties": 10},
        **LEFT_OUT,
    },
)


def make_map(projects: Projects) -> Any:
    """The tool, over these projects."""

    @tool(**declared(45), output_schema=_OUTPUT, examples=[{}, {"scope": ".", "max_tokens": 1000}])
    def get_repo_map(
        scope: Scope | None = None,
        max_tokens: Annotated[int, Field(ge=500, le=8000)] = 2000,
        *,
        include_signatures: bool = True,
        include_docstrings: bool = False,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Show the project in the working directory on a page: its files with their symbols, the most used ones first.

        Args:
            scope: Only this file or directory.
            max_tokens: How long the map may be with the lists beside it, at four characters a token.
            include_signatures: Show how each symbol is declared, and not only its name.
            include_docstrings: Show the first line of what is written about each.
            ctx: Where it may go.
        """
        style = Style(signatures=include_signatures, docstrings=include_docstrings)
        try:
            with projects.of(ctx) as project:
                return _map(project, scope, max_tokens=max_tokens, style=style)
        except Unindexed:
            with projects.unindexed(ctx) as project:
                return _map(project, scope, max_tokens=max_tokens, style=style)

    return get_repo_map


def _map(project: Project, scope: str | None, *, max_tokens: int, style: Style) -> dict[str, Any]:
    """By symbols where all of them are known, and there are any; by directories else."""
    within = project.within(scope)
    left_out = fitting(list(project.left_out), max_tokens * CHARACTERS // 4)
    beside = size_of(left_out) if left_out else 0
    ranked = rank(project) if project.pending == 0 else []
    shown = [each for each in ranked if each.path.startswith(within)]
    if shown:
        told = map_symbols(shown, max_tokens=max_tokens, style=style, beside=beside)
    else:
        paths = [path for path in project.files if path.startswith(within)]
        told = map_files(paths, max_tokens=max_tokens, beside=beside)
    return with_left_out({**told, "scope": scope}, left_out)
