"""Calls that wait for a person: held for a while, then told where to decide, and collected later by who asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from callgate.errors import Conflict, NotFound
from callgate.formats import mcp
from callgate.model.outcome import Outcome, Pending
from callgate.serve.showing import Show, show_here

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from callgate.model.context import Context
    from callgate.runtime.gate import Callgate
    from callgate.serve.mcp.progress import Teller

COLLECT = "approval_result"
"""The tool with which a call that waited for too long is collected."""
HOLD = 45.0
"""Seconds a request is held while a person thinks; many clients give up after sixty."""
_SAY_EVERY = 10.0
WAIT = "callgate/wait"
"""The key of `_meta` under which a call says that it is to be held for fewer seconds."""

DEFINITION: dict[str, Any] = {
    "name": COLLECT,
    "description": "Collect the result of a call that waits for a person: it runs once the person has allowed it.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The approval that the call waits for."},
            "wait": {"type": "number", "description": f"Seconds to wait for the person, {HOLD:g} at most."},
        },
        "required": ["id"],
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
}


class Waiting:
    """How a door waits for people.

    Args:
        gate: Whose questions these are.
        url: Where people decide; None where there is no console.
        show: How people find a question where there is none.
        hold: Seconds a request is held at most.
    """

    def __init__(self, gate: Callgate, *, url: str | None, show: Show = show_here, hold: float = HOLD) -> None:
        self._gate = gate
        self._url = url
        self._show = show
        self._hold = hold

    async def held(self, pending: Pending, context: Context, *, teller: Teller, wish: Any = None) -> Outcome:
        """What became of it within the time a request may take, or wishes; Pending if nobody decided.

        Raises:
            NotFound: The question is not there any more.
            Conflict: Its call is not there any more.
        """
        work = self._gate.resume(pending.approval_id, context, wait=self._seconds(wish))
        return await _saying(work, teller, note=f"waiting for a person to decide: {self.where(pending.approval_id)}")

    async def collected(self, arguments: dict[str, Any], context: Context, *, teller: Teller) -> Outcome | str:
        """What became of a call that waited, for who asked; or why there is nothing."""
        approval_id, wait = arguments.get("id"), arguments.get("wait")
        if not isinstance(approval_id, str):
            return "Not run (invalid_arguments): id is the approval that the call waits for."
        try:
            work = self._gate.resume(approval_id, context, wait=self._seconds(wait))
            return await _saying(work, teller, note=f"waiting for a person to decide: {self.where(approval_id)}")
        except (Conflict, NotFound) as error:
            return f"There is nothing to collect: {error}"

    def _seconds(self, wish: Any) -> float:
        if isinstance(wish, int | float) and not isinstance(wish, bool):
            return min(max(0.0, wish), self._hold)
        return self._hold

    def where(self, approval_id: str) -> str:
        """Where a person decides about it."""
        if self._url is None:
            return self._show(approval_id)
        return f"{self._url}/approvals/{approval_id}"

    def told(self, outcome: Outcome) -> str:
        """What is said after the text of a call that still waits."""
        if not isinstance(outcome, Pending):
            return ""
        # What people copy stands at the end, with nothing behind it.
        then = f" Once a person has decided, {COLLECT} with this id makes the call and gives its result."
        place = "They find it with" if self._url is None else "They decide at"
        return f"{then} {place}: {self.where(outcome.approval_id)}"


async def _saying(work: Awaitable[Outcome], teller: Teller, *, note: str) -> Outcome:
    """Wait for the work, and say now and then that it is waited for: a silent request looks dead."""

    async def say() -> None:
        while True:
            teller.say(None, note)
            await asyncio.sleep(_SAY_EVERY)

    saying = asyncio.ensure_future(say())
    try:
        return await work
    finally:
        saying.cancel()


def nothing(text: str) -> dict[str, Any]:
    """The result where there is nothing to collect."""
    return mcp.result(text, is_error=True)
