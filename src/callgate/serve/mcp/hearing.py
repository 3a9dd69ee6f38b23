"""Hearing: streams that are open for news only. They end with the credential that opened them, or with the server."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from callgate.errors import CallgateError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from callgate.model.credential import Credential
    from callgate.runtime.gate import Callgate

_BODY = "http.response.body"
_LAST_WORD = 1.0
LOOK_AGAIN = 15.0
"""Seconds after which it is found out again whether a credential counts: other processes end them, too."""


async def still_counts(gate: Callgate, credential: Credential) -> bool:
    """Whether who showed this credential may still hear; nobody may where that cannot be found out."""
    try:
        return await gate.still_counts(credential)
    except CallgateError:
        return False


async def until_ended(gate: Callgate, credential: Credential) -> None:
    """Wait until who showed this credential may not hear any more."""
    with contextlib.suppress(CallgateError):
        await gate.until_ended(credential, every=LOOK_AGAIN)


class Streams:
    """The streams of one server.

    Args:
        gate: An open gate.
    """

    def __init__(self, gate: Callgate) -> None:
        self._gate = gate
        self._open: set[asyncio.Task[None]] = set()

    def end(self) -> None:
        """End all of them."""
        for task in self._open:
            task.cancel()

    async def serve(self, app: ASGIApp, scope: Scope, *, receive: Receive, send: Send, credential: Credential) -> None:
        """Serve one, and ask before each thing that is sent whether its credential still counts."""
        began = False

        async def send_on(message: Message) -> None:
            nonlocal began
            if message["type"] == _BODY and not await still_counts(self._gate, credential):
                task.cancel()
                await asyncio.Event().wait()  # until that reaches us: this may be a task below it
            began = True
            await send(message)

        task = asyncio.ensure_future(app(scope, receive, send_on))
        watching = asyncio.ensure_future(self._end_with(credential, task))
        self._open.add(task)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                task.cancel()
                raise
            # We end it, and not who reads it: it comes to its end as it should, if that is still read.
            if began:
                await _last_word(send)
        finally:
            watching.cancel()
            self._open.discard(task)

    async def _end_with(self, credential: Credential, task: asyncio.Task[None]) -> None:
        await until_ended(self._gate, credential)
        task.cancel()


async def _last_word(send: Send) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORD):
            await send({"type": _BODY, "body": b"", "more_body": False})
