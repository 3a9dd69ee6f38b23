"""github_read: one file of a repository."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast
from urllib.parse import quote

import orjson
from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.github.api import JSON, RAW, UNCHANGED, Api, Question
from callgate.tools.github.cache import Drawer, Kept, Shelf
from callgate.tools.github.names import check_branch, check_path, check_repo
from callgate.tools.outbound.client import Limits
from callgate.tools.outbound.schemas import reaches
from callgate.tools.outbound.troubles import AnswerUnfit, NotSetUp, StatusError, TooManyRequests
from callgate.tools.schemas import fields

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

LARGEST_FILE = 5 * 1024 * 1024
_DESCRIBED = Limits(seconds=13, content=3 * 1024 * 1024)
"""A file of up to a megabyte comes with its description, in base64."""
_FETCHED = Limits(seconds=15, content=LARGEST_FILE)
_LONGEST_NAME = 200
_TRIES = 2
"""Looks at a large file: it may be changed between what is said of it and its content."""
_OTHERS = {"dir": "a directory", "submodule": "a submodule", "symlink": "a link that leads out of the repository"}
_TEXT = {"type": "string"}
_READ = fields(
    {
        "success": {"const": True},
        "content": _TEXT,
        "path": _TEXT,
        "repo": _TEXT,
        "branch": _TEXT,
        "size": {"type": "integer", "minimum": 0},
        "sha": _TEXT,
        "from_cache": {"type": "boolean"},
        "source": {"enum": ["api", "raw", "cache"]},
    }
)


class _Described(NamedTuple):
    sha: str
    size: int
    content: bytes | None
    """None: too large to come along."""


class _Got(NamedTuple):
    kept: Kept
    source: str


def make_github_read(api: Api, shelf: Shelf, *, address: str) -> Any:
    """The tool for one GitHub.

    Args:
        api: Asks it.
        shelf: Where files lie that were read before.
        address: Of the API, for the policy.
    """

    @tool(
        effects=["read_only", "network_access"],
        scopes=["net:outbound"],
        connector="github",
        egress=True,
        untrusted_output=True,
        timeout=30,
        resources=reaches([address]),
        output_schema=_READ,
        examples=[{"repo": "octocat/Hello-World", "path": "README", "branch": "master"}],
    )
    async def github_read(  # noqa: D417 - what the gate gives is not for the model
        repo: Annotated[str, Field(max_length=_LONGEST_NAME)],
        path: str,
        *,
        ctx: ToolContext,
        branch: str = "main",
    ) -> dict[str, Any]:
        """Read a text file of a GitHub repository, up to 5 MB.

        Args:
            repo: Owner and name, such as octocat/hello-world.
            path: The file, from the root of the repository.
            branch: A branch, a tag or a commit.
        """
        check_repo(repo)
        check_path(path)
        check_branch(branch)
        question = _question(repo, path, branch=branch)
        token = await api.token(ctx)
        who = (ctx.context.principal, ctx.context.user)
        drawer = Drawer(shelf, token=token, who=who, url=api.url(question.place, question.query))
        got = await _get(api, question, ctx=ctx, token=token, drawer=drawer)
        return {
            "success": True,
            "content": _as_text(got.kept.content, path),
            "path": path,
            "repo": repo,
            "branch": branch,
            "size": len(got.kept.content),
            "sha": got.kept.sha,
            "from_cache": got.source == "cache",
            "source": got.source,
        }

    return github_read


def _question(repo: str, path: str, *, branch: str) -> Question:
    missing = (
        f"there is no {path} in {repo} at {branch}, or the token may not see it; check the spelling, and the branch "
        "(many repositories have master instead of main)"
    )
    place = f"/repos/{repo}/contents/{quote(path)}"
    return Question(kind="read", place=place, query={"ref": branch}, accept=JSON, limits=_DESCRIBED, missing=missing)


async def _get(api: Api, question: Question, *, ctx: ToolContext, token: str, drawer: Drawer) -> _Got:
    known = await asyncio.to_thread(drawer.find)
    try:
        got = await _read(api, question, ctx=ctx, token=token, known=known)
    except (StatusError, NotSetUp) as error:
        if not isinstance(error, TooManyRequests):  # whoever may not read it now has not read it before
            await asyncio.to_thread(drawer.forget)
        raise
    if got.source != "cache":
        await asyncio.to_thread(drawer.keep, got.kept)
    return got


async def _read(api: Api, question: Question, *, ctx: ToolContext, token: str, known: Kept | None) -> _Got:
    for _ in range(_TRIES):
        got = await _look(api, question, ctx=ctx, token=token, known=known)
        if got is not None:
            return got
    raise AnswerUnfit("the file is changed while it is read: its content is not what GitHub says of it; try again")


async def _look(api: Api, question: Question, *, ctx: ToolContext, token: str, known: Kept | None) -> _Got | None:
    """The file, all of it of one version; None where its content is of another than what is said of it."""
    answer = await api.ask(question if known is None else replace(question, etag=known.etag), ctx, token=token)
    if answer.status == UNCHANGED and known is not None:
        return _Got(known, "cache")
    described = await asyncio.to_thread(_describe, answer)
    content, source = described.content, "api"
    if content is None:
        whole = await api.ask(replace(question, accept=RAW, limits=_FETCHED), ctx, token=token)
        content, source = whole.content, "raw"
        if await asyncio.to_thread(_sha_of, content) != described.sha:
            return None
    etag = "" if answer.strayed else answer.header("etag")  # a tag of elsewhere would say nothing to GitHub
    return _Got(Kept(etag=etag, sha=described.sha, content=content), source)


def _sha_of(content: bytes) -> str:
    """What git calls a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _describe(answer: Answer) -> _Described:
    """What the API says of a file, with its content where that came along."""
    try:
        told: Any = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        raise AnswerUnfit("GitHub answered what is no JSON") from None
    listing = {"type": "dir"} if isinstance(told, list) else {}
    said = cast("dict[str, Any]", told) if isinstance(told, dict) else listing
    kind, size, sha = said.get("type"), said.get("size"), said.get("sha")
    if isinstance(kind, str) and kind in _OTHERS:
        raise ValueError(f"path is {_OTHERS[kind]}; name a file, in it or elsewhere")
    if kind != "file" or type(size) is not int or size < 0 or not isinstance(sha, str):
        raise AnswerUnfit("GitHub answered something else than a file")
    if size > LARGEST_FILE:
        raise AnswerUnfit(f"the file has {size} bytes; files up to {LARGEST_FILE} are read")
    return _Described(sha[:_LONGEST_NAME], size, _content(said, size))


def _content(said: dict[str, Any], size: int) -> bytes | None:
    content, encoding = said.get("content"), said.get("encoding")
    if encoding == "none" or (size and not content):
        return None
    if encoding != "base64" or not isinstance(content, str):
        raise AnswerUnfit("GitHub answered with a file in a form that is not known")
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        raise AnswerUnfit("GitHub answered with a file that is no base64") from None


def _as_text(content: bytes, path: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise AnswerUnfit(f"{path} is no text in UTF-8") from None
