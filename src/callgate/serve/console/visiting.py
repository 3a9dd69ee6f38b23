"""Who looks: from a cookie to a person, what they may do here, and whether a form is really of their own page."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.datastructures import FormData
from starlette.requests import Request

from callgate.errors import CallgateError, EntryRefused
from callgate.model.credential import Right, Visit
from callgate.runtime.gate import Callgate

COOKIE = "callgate_visit"
_LONGEST = 4096
_FIELDS = 200


class NotVisiting(CallgateError):
    """A page is asked for by somebody who has not signed in."""


class ForeignForm(CallgateError):
    """A form was sent that no page of this visit carried."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person at the console."""

    visit: Visit
    cookie: str
    position: int
    """How far the record was when they asked: their page hears of everything after it, and misses nothing."""

    @property
    def name(self) -> str:
        """By which their decisions are recorded."""
        return self.visit.credential.name

    @property
    def stamp(self) -> str:
        """What their forms carry."""
        return self.visit.stamp

    def may(self, right: Right | str) -> bool:
        """Whether they have this right."""
        return self.visit.credential.may(Right(right))


@dataclass(frozen=True, slots=True)
class Sent:
    """A form that a visitor sent from a page of theirs."""

    visitor: Visitor
    form: FormData

    def text(self, name: str) -> str:
        """What was written into a field; empty if there is none of that name."""
        value = self.form.get(name)
        # Browsers send line ends as CR LF, whatever was typed.
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def gate_of(request: Request) -> Callgate:
    """The gate that this console stands in front of."""
    return request.app.state.gate


async def visiting(request: Request, *rights: Right) -> Visitor:
    """Who asks for a page; they have one of these rights, where any are named.

    Raises:
        NotVisiting: Nobody has signed in with this browser.
        EntryRefused: They have none of these rights.
    """
    cookie = request.cookies.get(COOKIE, "")[:_LONGEST]
    gate = gate_of(request)
    visit = await gate.visit(cookie) if cookie else None
    if visit is None:
        raise NotVisiting("sign in first")
    newest = await gate.newest_events(1)
    found = Visitor(visit, cookie, newest[-1].position if newest else 0)
    if rights and not any(found.may(right) for right in rights):
        named = " or ".join(rights)
        raise EntryRefused(f"this takes the right to {named}, which {found.name} does not have")
    return found


async def sent(request: Request, *rights: Right) -> Sent:
    """The form that was sent, and by whom.

    Raises:
        NotVisiting: Nobody has signed in with this browser.
        EntryRefused: They have none of these rights.
        ForeignForm: It does not carry the stamp of this visit.
    """
    visitor = await visiting(request, *rights)
    form = await request.form(max_files=0, max_fields=_FIELDS)
    stamp = form.get("stamp")
    shown = stamp if isinstance(stamp, str) else ""
    if not hmac.compare_digest(shown.encode(), visitor.stamp.encode()):
        raise ForeignForm("this form is of another visit, or of no page of ours; load the page again")
    return Sent(visitor, form)
