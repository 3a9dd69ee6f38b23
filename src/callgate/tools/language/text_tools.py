"""embed_text, similarity_search and classify_text: what vectors of texts are good for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Unpack

from pydantic import Field

from callgate.adapters.declare import Fields
from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.language.vectors import Embedder, Vector, shares, similarity
from callgate.tools.schemas import fields

_LONGEST_TEXT = 100_000
_LONGEST_ITEM = 20_000
_LONGEST_CATEGORY = 200
_MOST_ITEMS = 1000
_MOST_CATEGORIES = 100
_DIGITS = 6
_NUMBER = {"type": "number"}
_NEAR = {"type": "number", "minimum": -1, "maximum": 1}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_VECTOR = {"type": "array", "items": _NUMBER, "minItems": 1}
_FOUND = {
    "type": "array",
    "items": fields({"item": {"type": "string"}, "score": _NEAR, "index": {"type": "integer", "minimum": 0}}),
}
_CLASSIFIED = fields(
    {
        "category": {"type": "string"},
        "confidence": _SHARE,
        "scores": {"type": "object", "additionalProperties": _SHARE},
    }
)
_Text = Annotated[str, Field(pattern=r"\S", max_length=_LONGEST_TEXT)]
_Item = Annotated[str, Field(max_length=_LONGEST_ITEM)]
_Category = Annotated[str, Field(max_length=_LONGEST_CATEGORY)]


def make_text_tools(embedder: Embedder, declared: Fields) -> list[Any]:
    """The tools over one model.

    Args:
        embedder: Makes the vectors.
        declared: What using it means: whether it asks a server, and which.
    """

    @tool(**_with(declared, output_schema=_VECTOR, examples=[{"text": "The cat sat on the mat."}]))
    async def embed_text(text: _Text, *, ctx: ToolContext) -> list[float]:  # noqa: D417 - ctx is not the model's
        """Turn a text into a vector of length 1; texts of like meaning have vectors that lie close together.

        Args:
            text: The text.
        """
        [vector] = await embedder.embed([text], ctx)
        return [round(number, _DIGITS + 1) for number in vector]

    @tool(
        **_with(
            declared,
            output_schema=_FOUND,
            examples=[{"query": "a pet", "items": ["The cat sleeps.", "Shares fell.", "My dog barks."], "top_k": 2}],
        )
    )
    async def similarity_search(  # noqa: D417 - what the gate gives is not for the model
        query: _Text,
        items: Annotated[list[_Item], Field(min_length=1, max_length=_MOST_ITEMS)],
        *,
        ctx: ToolContext,
        top_k: Annotated[int, Field(ge=1, le=_MOST_ITEMS)] = 5,
    ) -> list[dict[str, Any]]:
        """Find the texts of a list that come nearest to a query in meaning, the nearest first.

        Args:
            query: What to look for.
            items: The texts to look through.
            top_k: How many to give at most; all of them where there are fewer.
        """
        _refuse_empty("items", items)
        asked, *vectors = await embedder.embed([query, *items], ctx)
        ranked = await asyncio.to_thread(_rank, asked, vectors)
        return [{"item": items[index], "score": score, "index": index} for score, index in ranked[:top_k]]

    @tool(
        **_with(
            declared,
            output_schema=_CLASSIFIED,
            examples=[{"text": "The striker scored twice.", "categories": ["sports", "politics", "cooking"]}],
        )
    )
    async def classify_text(  # noqa: D417 - what the gate gives is not for the model
        text: _Text,
        categories: Annotated[list[_Category], Field(min_length=2, max_length=_MOST_CATEGORIES)],
        *,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Choose the category that a text comes nearest to, with the score of each; the scores add up to 1.

        Args:
            text: The text.
            categories: Names or short descriptions, each once; words that say what belongs there work best.
        """
        _refuse_empty("categories", categories)
        _refuse_twins(categories)
        asked, *vectors = await embedder.embed([text, *categories], ctx)
        scores = shares([similarity(asked, vector) for vector in vectors])
        best = max(range(len(scores)), key=scores.__getitem__)
        told = {name: round(score, _DIGITS) for name, score in zip(categories, scores, strict=True)}
        return {"category": categories[best], "confidence": told[categories[best]], "scores": told}

    return [embed_text, similarity_search, classify_text]


def _with(declared: Fields, **more: Unpack[Fields]) -> Fields:
    return {**declared, "timeout": 60, **more}


def _rank(asked: Vector, vectors: Sequence[Vector]) -> list[tuple[float, int]]:
    """Scores and places, the best first; of equals the one that came first."""
    scored = ((round(similarity(asked, vector), _DIGITS), index) for index, vector in enumerate(vectors))
    return sorted(scored, key=lambda each: (-each[0], each[1]))


def _refuse_empty(argument: str, texts: Sequence[str]) -> None:
    for at, text in enumerate(texts):
        if not text.strip():
            raise ValueError(f"{argument}[{at}] is empty; leave it out")


def _refuse_twins(categories: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in categories:
        plain = " ".join(name.split()).casefold()
        if plain in seen:
            raise ValueError(f"categories has {seen[plain]!r} twice; name each once")
        seen[plain] = name
