"""Embedding server: any that speaks OpenAI's wire format of embeddings. Judges nothing: the client does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import orjson

from callgate.model.tool_context import ToolContext
from callgate.settings.values import LanguageSettings
from callgate.tools.language.vectors import Vector, unit
from callgate.tools.outbound.client import Client, Limits
from callgate.tools.outbound.headers import sendable
from callgate.tools.outbound.keys import read_key
from callgate.tools.outbound.network import Network
from callgate.tools.outbound.troubles import AnswerUnfit, NotSetUp, status_error

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

_LIMITS = Limits(seconds=30, content=16 * 1024 * 1024)
_TEXTS = 32
"""Texts in one request: what the smaller servers take."""
_REQUESTS = 4
"""Requests at once."""
_MOST_NUMBERS = 16_384
_ANSWERED = 200
_NO_KEY = (401, 403)


class EmbeddingServer:
    """Asks one server."""

    def __init__(self, network: Network, settings: LanguageSettings) -> None:
        self._network = network
        self._settings = settings
        self.url = f"{settings.url}/embeddings"

    async def embed(self, texts: Sequence[str], ctx: ToolContext) -> list[Vector]:
        given = {"content-type": "application/json", "accept": "application/json"}
        if self._settings.secret is not None:
            key = await read_key(ctx, self._settings.secret, what="the key of its server")
            given["authorization"] = f"Bearer {key}"
        client, headers, turns = Client(self._network, ctx.grounds()), sendable(given), asyncio.Semaphore(_REQUESTS)

        async def ask(part: Sequence[str]) -> list[Vector]:
            async with turns:
                return await self._ask(client, part, headers=headers)

        asked = [asyncio.ensure_future(ask(part)) for part in _parts(texts)]
        try:
            vectors = list(itertools.chain.from_iterable(await asyncio.gather(*asked)))
        finally:
            for each in asked:
                each.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        if len({len(vector) for vector in vectors}) > 1:
            raise AnswerUnfit(f"{self.url} gave vectors of several dimensions")
        return vectors

    async def _ask(self, client: Client, texts: Sequence[str], *, headers: dict[str, str]) -> list[Vector]:
        body = {"model": self._settings.model, "input": list(texts), "encoding_format": "float"}
        answer = await client.post(self.url, orjson.dumps(body), headers=headers, limits=_LIMITS)
        if answer.status in _NO_KEY:
            raise NotSetUp(f"{self.url} answered {answer.status}: it does not take {self._key()}")
        if answer.status != _ANSWERED:
            raise status_error(answer.status, self.url, retry_after=answer.header("retry-after"))
        if not answer.complete:
            raise AnswerUnfit(f"{self.url} gave too long an answer")
        return await asyncio.to_thread(self._read, answer, len(texts))

    def _key(self) -> str:
        kept = self._settings.secret
        return f"the key {kept}; check it" if kept else "requests without a key; set builtin_tools.language.secret"

    def _read(self, answer: Answer, count: int) -> list[Vector]:
        by_index = dict(_vectors(answer.content))
        if sorted(by_index) != list(range(count)):
            raise AnswerUnfit(f"{self.url} did not give one vector for each text")
        return [by_index[index] for index in range(count)]


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS))


def _vectors(content: bytes) -> Iterator[tuple[int, Vector]]:
    """What the answer has, by the place of the text."""
    try:
        listed: Any = orjson.loads(content)["data"]
    except (orjson.JSONDecodeError, LookupError, TypeError):
        listed = None
    if not isinstance(listed, list):
        raise AnswerUnfit("the server answered something else than vectors")
    for at, each in enumerate(cast("list[Any]", listed)):
        entry = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        yield _whole(entry.get("index", at)), _vector(entry.get("embedding"))


def _whole(index: Any) -> int:
    return index if type(index) is int else -1


def _vector(numbers: Any) -> Vector:
    listed = cast("list[Any]", numbers) if isinstance(numbers, list) else []
    fit = 0 < len(listed) <= _MOST_NUMBERS and all(type(each) in {int, float} for each in listed)
    made = unit(listed) if fit else None
    if made is None:
        raise AnswerUnfit("the server answered with what is no vector")
    return made
