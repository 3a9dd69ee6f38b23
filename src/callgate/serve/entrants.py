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


async def _agent(request: Request, gate: Gate) -> Credential:
    return need_agent(await bearer(gate, request))


def person(right: Right) -> Callable[[Request, Callgate], Awaitable[Credential]]:
    """A dependency: a person with this right."""

    async def found(request: Request, gate: Gate) -> Credential:
        return need_right(await bearer(gate, request), right)

    return found


Agent = Annotated[Credential, Depends(_agent)]
Reader = Annotated[Credential, Depends(person(Right.READ))]
Decider = Annotated[Credential, Depends(person(Right.DECIDE))]
Administrator = Annotated[Credential, Depends(person(Right.ADMINISTER))]
