"""github_search: code in repositories."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any, cast

import orjson
from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.github.api import MATCHES, Api, Question
from callgate.tools.github.names import search_words
from callgate.tools.outbound.client import Limits
from callgate.tools.outbound.schemas import reaches
from callgate.tools.outbound.troubles import AnswerUnfit
from callgate.tools.schemas import fields

_LIMITS = Limits(seconds=40, content=8 * 1024 * 1024)
_LONGEST = 1000
_MOST_SNIPPETS = 3
_LONGEST_SNIPPET = 500
_TEXT = {"type": "string"}
_FOUND = fields(
    {
        "query": _TEXT,
        "total_count": {"type": "integer", "minimum": 0},
        "results": {
            "type": "array",
            "items": fields(
                {
                    **dict.fromkeys(("repo", "path", "name", "sha", "url"), _TEXT),
                    "snippets": {"type": "array", "items": _TEXT},
                }
            ),
        },
        "incomplete": {"type": "boolean"},
    }
)


def make_github_search(api: Api, *, address: str) -> Any:
    """The tool for one GitHub.

    Args:
        api: Asks it.
        address: Of the API, for the policy.
    """

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        connector="github.search",
        egress=True,
        untrusted_output=True,
        timeout=45,
        resources=reaches([address]),
        output_schema=_FOUND,
        examples=[{"query": "def main", "repo": "octocat/Hello-World", "language": "Python", "limit": 5}],
    )
    async def github_search(  # noqa: D417 - what the gate gives is not for the model
        query: Annotated[str, Field(pattern=r"\S", max_length=_LONGEST)],
        *,
        ctx: ToolContext,
        repo: str | None = None,
        language: str | None = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        """Search the code of GitHub repositories for words.

        Args:
            query: Words, or a "phrase"; path:, filename: and extension: narrow it.
            repo: Only in this one, owner and name such as octocat/hello-world.
            language: Only in this language, such as Python.
            limit: How many results at most, 1 to 100.
        """
        words = search_words(query, repo=repo, language=language)
        question = Question(
            kind="search",
            place="/search/code",
            query={"q": words, "per_page": str(limit)},
            accept=MATCHES,
            limits=_LIMITS,
            missing="there is no search here; check builtin_tools.github.api",
        )
        answer = await api.ask(question, ctx, token=await api.token(ctx))
        said = await asyncio.to_thread(_read, answer.content)
        # Whatever the words made of the search: what is not of that repository was not asked for.
        found = [hit for hit in _hits(said["items"]) if repo is None or hit["repo"].lower() == repo.lower()]
        return {
            "query": query,
            "total_count": said["total_count"],
            "results": found[:limit],
            "incomplete": said["incomplete_results"],
        }

    return github_search


def _read(content: bytes) -> dict[str, Any]:
    try:
        told: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise AnswerUnfit("GitHub answered what is no JSON") from None
    said = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    count = said.get("total_count")
    fit = type(count) is int and count >= 0 and isinstance(said.get("items"), list)
    if not fit or not isinstance(said.get("incomplete_results"), bool):
        raise AnswerUnfit("GitHub answered something else than results")
    return said


def _hits(items: list[Any]) -> Iterator[dict[str, Any]]:
    for item in (_object(each) for each in items):
        repo, path = _text(_object(item.get("repository")), "full_name"), _text(item, "path")
        if repo and path:
            yield {
                "repo": repo,
                "path": path,
                "name": _text(item, "name"),
                "sha": _text(item, "sha"),
                "url": _text(item, "html_url"),
                "snippets": list(_snippets(item.get("text_matches"))),
            }


def _snippets(matches: Any) -> Iterator[str]:
    listed = cast("list[Any]", matches) if isinstance(matches, list) else []
    for match in listed[:_MOST_SNIPPETS]:
        fragment = _object(match).get("fragment")
        if isinstance(fragment, str) and fragment:
            yield fragment[:_LONGEST_SNIPPET]


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(holder: dict[str, Any], name: str) -> str:
    value = holder.get(name)
    return value[:_LONGEST] if isinstance(value, str) else ""
