"""The console's app: its addresses, and what people are told where something goes wrong."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from callgate.errors import CallgateError
from callgate.runtime.gate import Callgate
from callgate.serve.addresses import Addresses
from callgate.serve.console import (
    approvals,
    asked,
    calls,
    coverage,
    entering,
    evidence,
    health,
    live,
    outcomes,
    policy,
    replay,
    review,
    tools,
)
from callgate.serve.console.limits import Tries
from callgate.serve.console.own_name import OwnName
from callgate.serve.console.pages import STATIC, Headers, page
from callgate.serve.console.visiting import ForeignForm, NotVisiting
from callgate.serve.listening import Listening
from callgate.serve.problems import SAID, code_of, problem, status_of
from callgate.serve.whole_record import WholeRecord

_READ = ["GET"]
_SEND = ["POST"]


class Console:
    """The console in front of an open gate.

    Args:
        gate: Whose calls it shows.
        addresses: How it is reached.
        listening: Who listens to what is recorded; open pages do.
        record: What reads all that was recorded.
    """

    def __init__(self, gate: Callgate, *, addresses: Addresses, listening: Listening, record: WholeRecord) -> None:
        self._ending = asyncio.Event()
        known = routes()
        pages = [each for each in known if isinstance(each, Route)]
        app = Starlette(
            routes=known,
            middleware=[Middleware(Headers), Middleware(OwnName, addresses=addresses, pages=pages)],
            exception_handlers={
                NotVisiting: _sign_in,
                ForeignForm: _foreign,
                CallgateError: _refused,
                HTTPException: _no_such,
                Exception: _our_fault,
            },
        )
        app.state.gate = gate
        app.state.addresses = addresses
        app.state.listening = listening
        app.state.whole_record = record
        app.state.tries = Tries()
        app.state.recent = health.Recent()
        app.state.ending = self._ending
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def end_streams(self) -> None:
        """Let open pages go: they would not leave by themselves, and ask again when somebody serves again."""
        self._ending.set()


def routes() -> list[BaseRoute]:
    """Every address of the console."""
    return [
        Route("/", approvals.inbox, methods=_READ),
        Route("/approvals/{id}", approvals.show, methods=_READ),
        Route("/approvals/{id}", approvals.decide, methods=_SEND),
        Route("/approvals/{id}/standing", approvals.standing, methods=_READ),
        Route("/asked", asked.asked, methods=_READ),
        Route("/calls", calls.calls, methods=_READ),
        Route("/calls/{id}", calls.story, methods=_READ),
        Route("/outcomes", outcomes.outcomes, methods=_READ),
        Route("/outcomes/{call}", outcomes.show, methods=_READ),
        Route("/outcomes/{call}", outcomes.settle, methods=_SEND),
        Route("/tools", tools.tools, methods=_READ),
        Route("/tools/{name}", tools.tool, methods=_READ),
        Route("/tools/{name}", tools.attempt, methods=_SEND),
        Route("/tools/{name}/distrust", tools.distrust, methods=_SEND),
        Route("/tries/{id}", tools.run_decided, methods=_SEND),
        Route("/review", review.review, methods=_READ),
        Route("/review/accept", review.accept, methods=_SEND),
        Route("/review/{name}", review.show, methods=_READ),
        Route("/review/{name}", review.trust, methods=_SEND),
        Route("/policy", policy.policy, methods=_READ),
        Route("/policy/replay", replay.replay, methods=_READ),
        Route("/coverage", coverage.coverage, methods=_READ),
        Route("/health", health.health, methods=_READ),
        Route("/health/figures", health.figures, methods=_READ),
        Route("/evidence", evidence.evidence, methods=_READ),
        Route("/evidence", evidence.verify, methods=_SEND),
        Route("/evidence/export", evidence.export, methods=_SEND),
        Route("/live", live.live, methods=_READ),
        Route("/enter", entering.enter, methods=_READ),
        Route("/sign-in", entering.show, methods=_READ),
        Route("/sign-in", entering.sign_in, methods=_SEND),
        Route("/sign-out", entering.sign_out, methods=_SEND),
        Mount("/static", _Static(directory=STATIC)),
    ]


class _Static(StaticFiles):
    """Files of ours; their addresses change with them, so browsers may keep them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return answer


async def _sign_in(request: Request, _error: Exception) -> Response:
    return entering.to_sign_in(request)


async def _foreign(request: Request, error: Exception) -> Response:
    return _told(request, 403, str(error), code="foreign_form")


async def _refused(request: Request, error: Exception) -> Response:
    return _told(request, status_of(error), str(error), code=code_of(error))


async def _no_such(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    text, code = SAID.get(status, SAID[400])
    return _told(request, status, text, code=code)


async def _our_fault(request: Request, _error: Exception) -> Response:
    text, code = SAID[500]
    return _told(request, 500, text, code=code)


def _told(request: Request, status: int, text: str, *, code: str) -> Response:
    """A page for who looks, a problem for who asks as a program does."""
    if "text/html" in request.headers.get("accept", ""):
        return page(request, "trouble.html", status=status, text=text)
    return problem(status, text, code=code)
