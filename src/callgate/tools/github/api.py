"""Api: requests to GitHub's REST API with a token, and what its refusals mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from callgate.model.tool_context import ToolContext
from callgate.settings.values import GithubSettings
from callgate.tools.github.allowance import Allowance
from callgate.tools.outbound.client import Client, Limits
from callgate.tools.outbound.headers import sendable
from callgate.tools.outbound.keys import read_key
from callgate.tools.outbound.network import Network
from callgate.tools.outbound.troubles import AccessRefused, AnswerUnfit, NotSetUp, PageNotFound, status_error

if TYPE_CHECKING:
    from callgate.tools.outbound.transport import Answer

JSON = "application/vnd.github+json"
RAW = "application/vnd.github.raw+json"
MATCHES = "application/vnd.github.text-match+json"
ANSWERED, UNCHANGED = 200, 304
_NO_TOKEN, _FORBIDDEN, _ABSENT, _EMPTY, _UNFIT = 401, 403, 404, 409, 422


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request."""

    kind: str
    """What GitHub counts it as: `read` or `search`."""
    place: str
    """After the address of the API, in the form of a URL."""
    query: Mapping[str, str]
    accept: str
    limits: Limits
    missing: str
    """What a 404 means."""
    etag: str | None = None
    """Of what is known already."""


class Api:
    """Asks one GitHub."""

    def __init__(self, network: Network, settings: GithubSettings, *, allowance: Allowance) -> None:
        self._network = network
        self._settings = settings
        self._allowance = allowance

    def url(self, place: str, query: Mapping[str, str]) -> str:
        """The whole address."""
        return f"{self._settings.api}{place}?{urlencode(query)}"

    async def token(self, ctx: ToolContext) -> str:
        """The token, right before its use.

        Raises:
            NotSetUp: There is none; the message says how to keep one.
        """
        return await read_key(ctx, self._settings.secret, what="a GitHub token")

    async def ask(self, question: Question, ctx: ToolContext, *, token: str) -> Answer:
        """What GitHub says; 304 where a tag was given, and it says itself that nothing changed.

        Raises:
            NotSetUp: The token is not taken.
            StatusError: It says no, or (RateLimited) not now.
            ValueError: It cannot understand what is asked.
            OSError: It could not be reached or read.
        """
        self._allowance.refuse(token, question.kind)
        given = {"accept": question.accept, "authorization": f"Bearer {token}"}
        if question.etag is not None:
            given["if-none-match"] = question.etag
        url = self.url(question.place, question.query)
        client = Client(self._network, ctx.grounds())
        answer = await client.get(url, headers=sendable(given), limits=question.limits)
        if not answer.strayed:
            self._allowance.note(token, question.kind, answer=answer)
        if answer.status == ANSWERED or (answer.status == UNCHANGED and _was_asked(question, answer)):
            return self._whole(answer)
        raise self._trouble(answer, question)

    def _whole(self, answer: Answer) -> Answer:
        if not answer.complete and answer.status == ANSWERED:
            raise AnswerUnfit("GitHub gave a longer answer than can be read")
        return answer

    def _trouble(self, answer: Answer, question: Question) -> Exception:
        if answer.strayed:
            return status_error(answer.status, f"{urlsplit(answer.url).hostname}, where GitHub leads to,")
        status, kept = answer.status, self._settings.secret
        if status == _NO_TOKEN:
            return NotSetUp(f"GitHub does not take the token {kept}; keep a valid one in its place")
        if status == _FORBIDDEN:
            signing = " until it is authorized for the organisation" if answer.header("x-github-sso") else ""
            return AccessRefused(f"GitHub answered 403: the token {kept} may not read that{signing}", status_code=403)
        if status == _ABSENT:
            return PageNotFound(f"GitHub answered 404: {question.missing}", status_code=404)
        if status == _EMPTY:
            return PageNotFound("GitHub answered 409: the repository is empty", status_code=409)
        if status == _UNFIT:
            return ValueError("query or repo: GitHub cannot search for that; is there such a repository?")
        return status_error(status, self._settings.api)


def _was_asked(question: Question, answer: Answer) -> bool:
    """Whether it got the tag: nobody else can know that nothing has changed."""
    return question.etag is not None and not answer.strayed
