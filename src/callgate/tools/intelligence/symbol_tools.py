"""find_definition and find_references: where a symbol is defined, and where it is used."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.intelligence.arguments import (
    BOOLEAN,
    INTEGER,
    LEFT_OUT,
    PENDING,
    STRING,
    Kind,
    ReferenceType,
    Scope,
    Symbol,
    declared,
    with_left_out,
)
from callgate.tools.intelligence.defining import find_definitions
from callgate.tools.intelligence.finding import Definition, known_definitions
from callgate.tools.intelligence.naming import read_symbol
from callgate.tools.intelligence.projects import Project, Projects
from callgate.tools.intelligence.referring import Reference, places_of
from callgate.tools.intelligence.similar import similar_names
from callgate.tools.schemas import fields

_MOST_CANDIDATES = 10

_DEFINITION = {
    "path": STRING,
    "line": INTEGER,
    "end_line": INTEGER,
    "kind": STRING,
    "name": STRING,
    "qualified_name": STRING,
    "language": STRING,
    "signature": STRING,
    "doc": {"type": "string", "description": "The first line of what is written about it."},
}
_FOUND = fields(
    {
        "symbol": STRING,
        "found": BOOLEAN,
        "count": {"type": "integer", "description": "How many definitions fit."},
        "candidates": {"type": "array", "items": fields(_DEFINITION), "description": "The others, the best first."},
        "pending": PENDING,
    },
    {**_DEFINITION, "message": STRING, "similar": {"type": "array", "items": STRING}, **LEFT_OUT},
)
_REFERENCE = fields(
    {
        "path": STRING,
        "line": INTEGER,
        "kind": {"enum": ["definition", "call", "import", "attribute", "type", "inherit", "name"]},
        "text": STRING,
        "within": {"type": "string", "description": "What it stands in; empty at the top of a file."},
        "resolved": {"type": "boolean", "description": "Known to mean this symbol, not only something of its name."},
    }
)
_REFERRED = fields(
    {
        "symbol": STRING,
        "references": {"type": "array", "items": _REFERENCE},
        "count": INTEGER,
        "total": {"type": "integer", "description": "How many places have the name."},
        "pending": PENDING,
    },
    LEFT_OUT,
)


def make_find_definition(projects: Projects) -> Any:
    """The tool, over these projects."""

    @tool(
        **declared(30),
        output_schema=_FOUND,
        examples=[{"symbol": "main"}, {"symbol": "Parser.parse", "kind": "method"}],
    )
    def find_definition(
        symbol: Symbol, scope: Scope | None = None, *, kind: Kind | None = None, ctx: ToolContext
    ) -> dict[str, Any]:
        """Find where a symbol of the project in the working directory is defined; the other candidates follow.

        Args:
            symbol: A name, plain or dotted: parse, Parser.parse, package.module.Class.method.
            scope: Only in this file or directory.
            kind: Only this kind of symbol.
            ctx: Where it may go.
        """
        asked = read_symbol(symbol)
        with projects.of(ctx) as project:
            found = find_definitions(project, asked, scope=project.within(scope), kind=kind)
            told = {"symbol": symbol, "found": bool(found), "count": len(found), "pending": project.pending}
            told = with_left_out(told, project.left_out)
            if not found:
                return told | {"candidates": [], **_nothing(project, asked.name, symbol=symbol)}
            best, *others = [each.to_json() for each in found[: _MOST_CANDIDATES + 1]]
            return told | best | {"candidates": others}

    return find_definition


def _nothing(project: Project, name: str, *, symbol: str) -> dict[str, Any]:
    later = f"; {project.pending} files are not indexed yet, ask again" if project.pending else ""
    return {
        "message": f"{symbol} is defined nowhere here ({len(project.files)} files were looked at){later}",
        "similar": similar_names(project, name),
    }


def make_find_references(projects: Projects) -> Any:
    """The tool, over these projects."""

    @tool(
        **declared(30),
        output_schema=_REFERRED,
        examples=[{"symbol": "main"}, {"symbol": "Parser.parse", "limit": 10, "reference_type": "call"}],
    )
    def find_references(
        symbol: Symbol,
        limit: Annotated[int, Field(ge=1, le=50)] = 20,
        *,
        include_definition: bool = False,
        reference_type: ReferenceType = "all",
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Find where a symbol of the project in the working directory is used: calls, imports, types, bases and others.

        Args:
            symbol: A name, plain or dotted: parse, Parser.parse.
            limit: At most so many places.
            include_definition: Also where it is defined, first.
            reference_type: Only this kind of use.
            ctx: Where it may go.
        """
        asked = read_symbol(symbol)
        with projects.of(ctx) as project:
            meant = (find_definitions if asked.dotted or include_definition else known_definitions)(project, asked)
            found = places_of(project, asked, kind=reference_type, limit=limit, meant=meant)
            shown = [_defined(project, each) for each in meant] if include_definition else []
            shown += [_used(project, each) for each in found.references]
            told = {
                "symbol": symbol,
                "references": shown[:limit],
                "count": len(shown[:limit]),
                "total": found.total,
                "pending": project.pending,
            }
            return with_left_out(told, project.left_out)

    return find_references


def _defined(project: Project, each: Definition) -> dict[str, Any]:
    return {
        "path": each.path,
        "line": each.line,
        "kind": "definition",
        "text": project.line(each.path, each.line),
        "within": each.qualified.rpartition(".")[0],
        "resolved": True,
    }


def _used(project: Project, each: Reference) -> dict[str, Any]:
    around = project.index.rows(
        "SELECT s.qualified FROM symbols s JOIN files f ON f.id = s.file"
        " WHERE f.path = ? AND s.line <= ? AND s.last >= ?"
        " AND s.kind NOT IN ('field', 'variable', 'constant') ORDER BY s.last - s.line LIMIT 1",
        (each.path, each.line, each.line),
    )
    return {
        "path": each.path,
        "line": each.line,
        "kind": each.kind,
        "text": project.line(each.path, each.line),
        "within": around[0][0] if around else "",
        "resolved": each.resolved,
    }
