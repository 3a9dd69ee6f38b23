"""Who asks: from what a request shows to a credential, and what that may do here. Nothing else of a request counts."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from callgate.errors import CallgateError, EntryRefused
from callgate.model.credential import Credential, CredentialKind, Right
from callgate.runtime.gate import Callgate
from callgate.serve.oauth import ResourceServer
from callgate.serve.problems import problem

_SCHEME = "bearer"
_LONGEST = 16_384


class NobodySignedIn(CallgateError):
    """A request shows nothing that lets anybody in."""


async def bearer(gate: Callgate, request: HTTPConnection, *, oauth: ResourceServer | None) -> Credential:
    """Whose token the request shows: one of ours, or an access token of the authorization server that was named.

    Raises:
        NobodySignedIn: It shows none, or one that opens nothing.
    """
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    shown = token.strip() if scheme.lower() == _SCHEME else ""
    if not shown:
        raise NobodySignedIn("show a token: Authorization: Bearer TOKEN; `callgate tokens agent NAME` makes one")
    found = await gate.identify(shown[:_LONGEST])
    if found is None:
        found = None if oauth is None or len(shown) > _LONGEST else await oauth.credential(shown)
    if found is None:
        raise NobodySignedIn("this token opens nothing; it may have ended, or never was")
    return found


def not_signed_in(error: Exception, oauth: ResourceServer | None, *, url: str) -> JSONResponse:
    """What is answered to who shows nothing that lets anybody in."""
    where = "" if oauth is None else oauth.asked_for(url)
    shown = {"WWW-Authenticate": f'Bearer realm="callgate"{where}'}
    return problem(401, str(error), code="not_signed_in", headers=shown)


def need_agent(found: Credential) -> Credential:
    """An agent's credential: only agents call.

    Raises:
        EntryRefused: It is a person's.
    """
    if found.kind is not CredentialKind.AGENT:
        raise EntryRefused("this takes an agent's credential; a person's decides and reads, and never calls")
    return found


def need_right(found: Credential, right: Right) -> Credential:
    """A person's credential with this right.

    Raises:
        EntryRefused: It is an agent's, or a person's without it.
    """
    if found.kind is not CredentialKind.PERSON:
        raise EntryRefused("this takes a person's credential; an agent cannot decide, administer or read the record")
    if not found.may(right):
        raise EntryRefused(f"this takes the right to {right}, which this person does not have")
    return found
