"""search_code: symbols and text of the project that fit a name or some words."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.intelligence.arguments import (
    INTEGER,
    LEFT_OUT,
    PENDING,
    STRING,
    Words,
    declared,
    with_left_out,
)
from callgate.tools.intelligence.languages import languages_meant
from callgate.tools.intelligence.projects import Project, Projects
from callgate.tools.intelligence.searching import Hit, Query, search, snippet
from callgate.tools.schemas import fields

_RESULT = fields(
    {
        "path": STRING,
        "line": INTEGER,
        "end_line": INTEGER,
        "kind": {"type": "string", "description": "Of symbol it is, or text."},
        "language": STRING,
        "match": {"enum": ["exact", "prefix", "words", "text"]},
        "score": {"type": "number"},
        "snippet": STRING,
    },
    {"name": STRING, "signature": STRING},
)
_OUTPUT = fields(
    {"query": STRING, "results": {"type": "array", "items": _RESULT}, "count": INTEGER, "pending": PENDING},
    LEFT_OUT,
)


def make_search(projects: Projects) -> Any:
    """The tool, over these projects."""

    @tool(
        **declared(30),
        output_schema=_OUTPUT,
        examples=[{"query": "main"}, {"query": "read the configuration file", "limit": 3, "language": "python"}],
    )
    def search_code(
        query: Words,
        limit: Annotated[int, Field(ge=1, le=20)] = 5,
        *,
        language: Annotated[str, Field(min_length=1, max_length=40, json_schema_extra={"format": "text"})]
        | None = None,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Find code in the working directory by a name or by words: symbols before text, best first.

        Names are found by their parts, too: "http request" finds parseHttpRequest. search_files takes patterns.

        Args:
            query: A name, part of one, or words that say what the code does.
            limit: At most so many results.
            language: Only files in python, javascript, typescript, tsx, go, rust, java, c, cpp, ruby or text.
            ctx: Where it may go.
        """
        languages = () if language is None else languages_meant(language)
        words = Query.read(query)
        with projects.of(ctx) as project:
            hits = search(project, query, limit=limit, languages=languages)
            results = [_result(project, hit, words=words) for hit in hits]
            told = {"query": query, "results": results, "count": len(results), "pending": project.pending}
            return with_left_out(told, project.left_out)

    return search_code


def _result(project: Project, hit: Hit, *, words: Query) -> dict[str, Any]:
    line, text = snippet(project, hit, query=words)
    named = {"name": hit.qualified, "signature": hit.signature} if hit.name else {}
    return {
        "path": hit.path,
        "line": line,
        "end_line": hit.last,
        "kind": hit.kind,
        "language": hit.language,
        "match": hit.match.word,
        "score": hit.score,
        "snippet": text,
        **named,
    }
