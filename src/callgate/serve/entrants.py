"""What handlers of requests are given: the gate, and who asks, already let in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request

from callgate.model.credential import Credential, Right
from callgate.runtime.gate import Callgate
from callgate.serve.who import bearer, need_agent, need_right


def gate_of(request: Request) -> Callgate:
    """The gate that this server stands in front of."""
    return request.app.state.gate


Gate = Annotated[Callgate, Depends(gate_of)]


async def _shown(request: Request, gate: Gate) -> Credential:
    """Whose token the request shows; every request of theirs counts."""
    found = await bearer(gate, request, oauth=request.app.state.oauth)
    request.app.state.rates.take(found.id)
    return found


Anyone = Annotated[Credential, Depends(_shown)]


async def _agent(shown: Anyone) -> Credential:
    return need_agent(shown)


def person(right: Right) -> Callable[[Credential], Awaitable[Credential]]:
    """A dependency: a person with this right."""

    async def found(shown: Anyone) -> Credential:
        return need_right(shown, right)

    return found


Agent = Annotated[Credential, Depends(_agent)]
Reader = Annotated[Credential, Depends(person(Right.READ))]
Decider = Annotated[Credential, Depends(person(Right.DECIDE))]
Administrator = Annotated[Credential, Depends(person(Right.ADMINISTER))]
