"""Signing in and out: a link that works once, or a password. What stays is a cookie that no script can read."""

from __future__ import annotations

import math
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from callgate.model.person import person_key
from callgate.runtime.entrance import VISIT_SECONDS
from callgate.serve.console.limits import Tries
from callgate.serve.console.pages import page
from callgate.serve.console.visiting import COOKIE, gate_of, sent

_LONGEST = 1024


async def enter(request: Request) -> Response:
    """Exchange a link's code for a cookie; what is left in the address bar is the console's own address."""
    cookie = await gate_of(request).enter_by_link(request.query_params.get("code", "")[:_LONGEST])
    if cookie is None:
        return page(request, "sign_in.html", status=403, wrong=_OVER, next="/", name="")
    return _let_in(request, cookie, "/")


async def show(request: Request) -> Response:
    """The form for name and password."""
    return page(request, "sign_in.html", wrong="", next=_own(request.query_params.get("next", "/")), name="")


async def sign_in(request: Request) -> Response:
    """Let somebody in with a password, if they have not tried too often."""
    form = await request.form(max_files=0, max_fields=10)
    name, password, to = (_text(form.get(field)) for field in ("name", "password", "next"))
    tries: Tries = request.app.state.tries
    whose = (f"name {person_key(name)}", f"address {request.client.host if request.client else ''}")
    wait = math.ceil(tries.take(*whose))
    if wait:
        wrong = f"Too many tries. Wait {wait} seconds, or come in with a link: callgate tokens link NAME"
        answer = page(request, "sign_in.html", status=429, wrong=wrong, next=_own(to), name=name)
        answer.headers["Retry-After"] = str(wait)
        return answer
    cookie = await gate_of(request).enter_by_password(name, password)
    if cookie is None:
        return page(request, "sign_in.html", status=403, wrong=_NOBODY, next=_own(to), name=name)
    tries.came_in(*whose)
    return _let_in(request, cookie, _own(to))


async def sign_out(request: Request) -> Response:
    """End the visit, here and in the store."""
    found = await sent(request)
    await gate_of(request).leave(found.visitor.cookie)
    answer = RedirectResponse("/sign-in", status_code=303)
    answer.delete_cookie(COOKIE, path="/")
    return answer


def to_sign_in(request: Request) -> Response:
    """Where somebody is sent who has not signed in; with the page they wanted, where that is one to look at."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    where = "/sign-in" if request.method != "GET" or wanted == "/" else f"/sign-in?next={quote(wanted)}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": "/sign-in"})
    return RedirectResponse(where, status_code=303)


def _let_in(request: Request, cookie: str, to: str) -> Response:
    answer = RedirectResponse(to, status_code=303)
    secure = request.app.state.addresses.console.startswith("https:") or request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, cookie, max_age=int(VISIT_SECONDS), path="/", httponly=True, samesite="lax", secure=secure
    )
    return answer


def _own(path: str) -> str:
    """A path of this console; whatever could lead elsewhere is its front page."""
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"


def _text(value: object) -> str:
    return value[:_LONGEST] if isinstance(value, str) else ""


_OVER = "This link lets nobody in: it was used already, or is older than ten minutes. Make another one."
_NOBODY = "That name and password let nobody in."
