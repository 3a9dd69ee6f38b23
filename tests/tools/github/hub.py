"""A GitHub of the tests, on loopback: the parts of its REST API that the tools ask, in its shapes."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import orjson

from callgate import Callgate
from callgate.testing import HandClock
from tests.tools.outbound.site import Asked, Raw, Site, page, serving

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
VARIABLE = "CALLGATE_SECRET_GITHUB_TOKEN"
MEGABYTE = 1024 * 1024


def sha_of(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def as_json(value: Any, status: str = "200 OK", more: str = "") -> bytes:
    return page(orjson.dumps(value), "application/json; charset=utf-8", status=status, more=more)


def limited(status: str = "403 Forbidden", more: str = "", message: str = "API rate limit exceeded") -> bytes:
    told = {"message": message, "documentation_url": "https://docs.example/rest#limits"}
    return as_json(told, status=status, more=more)


@dataclass(slots=True)
class Hub:
    """Files by repository, branch and path; every request needs one of the tokens."""

    site: Site
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    more: str = "x-ratelimit-remaining: 4999\r\n"
    """Headers of every answer."""

    def file(self, repo: str, path: str, content: bytes, *, branch: str = "main") -> str:
        """Put a file there; its digest."""
        place = f"/repos/{repo}/contents/{quote(path)}"
        self.site.answers[place] = self._speaking(lambda asked: self._file(asked, path, content, branch=branch))
        return sha_of(content)

    def before(self, place: str, happens: Callable[[Asked], bytes | None]) -> None:
        """Let something happen before what is there now is answered; what that gives is answered instead."""
        usual = self.site.answers[place]

        async def speak(writer: asyncio.StreamWriter) -> None:
            assert not isinstance(usual, bytes)
            instead = happens(self.site.asked[-1])
            if instead is None:
                await usual(writer)
            else:
                writer.write(instead)
                await writer.drain()

        self.site.answers[place] = speak

    def found(self, *items: dict[str, Any], total: int | None = None, incomplete: bool = False) -> None:
        """What the search finds."""
        count = len(items) if total is None else total
        told = {"total_count": count, "incomplete_results": incomplete, "items": list(items)}
        self.site.answers["/search/code"] = self._speaking(lambda _: as_json(told, more=self.more))

    def _speaking(self, answer: Callable[[Asked], bytes]) -> Raw:
        async def speak(writer: asyncio.StreamWriter) -> None:
            asked = self.site.asked[-1]
            known = asked.headers.get("authorization", "").removeprefix("Bearer ") in self.tokens
            refused = as_json({"message": "Bad credentials"}, status="401 Unauthorized")
            writer.write(answer(asked) if known else refused)
            await writer.drain()

        return speak

    def _file(self, asked: Asked, path: str, content: bytes, *, branch: str) -> bytes:
        if parse_qs(urlsplit(asked.target).query)["ref"] != [branch]:
            return as_json({"message": "No commit found for the ref"}, status="404 Not Found")
        sha, accept = sha_of(content), asked.headers["accept"]
        more = f'etag: W/"{sha}"\r\n{self.more}'
        if asked.headers.get("if-none-match") == f'W/"{sha}"':
            return f"HTTP/1.1 304 Not Modified\r\n{more}\r\n".encode()
        if "raw" in accept:
            return page(content, f"{accept}; charset=utf-8", more=more)
        small = len(content) < MEGABYTE
        told = {
            "type": "file",
            "name": path.rsplit("/", 1)[-1],
            "path": path,
            "sha": sha,
            "size": len(content),
            "encoding": "base64" if small else "none",
            "content": base64.encodebytes(content).decode() if small else "",
        }
        return as_json(told, more=more)


def hit(repo: str, path: str, *fragments: str) -> dict[str, Any]:
    """One thing that a search finds."""
    return {
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": "5" * 40,
        "html_url": f"https://github.example/{repo}/blob/main/{path}",
        "score": 1.0,
        "repository": {"full_name": repo, "private": True},
        "text_matches": [{"fragment": fragment, "property": "content"} for fragment in fragments],
    }


@asynccontextmanager
async def hub_open(tmp_path: Path, clock: HandClock | None = None) -> AsyncGenerator[tuple[Hub, Callgate]]:
    """A GitHub, and a gate whose tools ask it."""
    async with serving() as site, gate_for(site, tmp_path, clock=clock) as gate:
        yield Hub(site), gate


@asynccontextmanager
async def gate_for(
    site: Site, tmp_path: Path, *, store: str = "memory://", clock: HandClock | None = None
) -> AsyncGenerator[Callgate]:
    """A gate whose tools ask the GitHub that is served there."""
    config = tmp_path / "callgate.yaml"
    config.write_text(
        "scopes: {net: {private_addresses: true}}\n"
        f'builtin_tools: {{enable: [github], github: {{api: "{site.url("")}/"}}}}\n'
    )
    async with Callgate.open(store, config, working_directory=tmp_path, clock=clock) as gate:
        yield gate
