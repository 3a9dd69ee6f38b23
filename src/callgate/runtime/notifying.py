"""Notifying: tells people who are not looking that somebody has to decide. What fails is tried again, and recorded."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.errors import CallgateError
from callgate.events.vocabulary import KINDS, NOTIFICATION_FAILED
from callgate.model.approval import ApprovalState
from callgate.model.event import Draft, Event
from callgate.observe.webhook import message_of, signed
from callgate.pipeline.deciding import reread
from callgate.runtime.named_address import grounds_of_named
from callgate.tools.outbound.client import Client, Limits
from callgate.tools.outbound.network import Network

if TYPE_CHECKING:
    from callgate.model.approval import Approval
    from callgate.runtime.opened import Opened
    from callgate.settings.values import NotifySettings

_LIMITS = Limits(seconds=10.0, content=64 * 1024)
_TRIES = (1.0, 5.0, 30.0, 120.0)
"""Seconds before each further try."""
_TAKEN = range(200, 300)
_COMMAND_SECONDS = 30.0
_AT_ONCE = 8
_AT_CLOSE = 5.0
"""Seconds that a message has to arrive when the gate closes."""
_PLANS = 1000
"""Plans that are remembered, so that people are told of each once."""
_KEPT = ("PATH", "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""What a program of the desktop needs of the environment; keys and secrets are not among it."""


class _NotTaken(Exception):
    """A message did not arrive; the message says why and holds nothing of anybody's."""


class Notifier:
    """Tells of the questions that one open gate asks. What is under way when the gate closes gets a moment to end.

    Args:
        opened: The gate.
        places: Who is told.
        network: What requests go out through.
        tries: Seconds before each further try.
    """

    def __init__(
        self,
        opened: Opened,
        places: Sequence[NotifySettings],
        *,
        network: Network | None = None,
        tries: Sequence[float] = _TRIES,
    ) -> None:
        self._opened = opened
        self._places = places
        self._network = network or Network()
        self._tries = tries
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._closing = asyncio.Event()
        self._sending: set[asyncio.Timeout] = set()
        self._plans: deque[str] = deque(maxlen=_PLANS)

    def start(self) -> None:
        """Begin to tell."""
        self._opened.bus.on("gate.required", self._asked)
        self._opened.loop(self._until_it_closes())

    async def _until_it_closes(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self._closing.set()
            for limit in self._sending:
                limit.reschedule(_soon())

    def _asked(self, event: Event) -> None:
        which = (event.payload or {}).get("approval_id")
        if isinstance(which, str):
            self._opened.background(self._tell_all(which))

    async def _tell_all(self, which: str) -> None:
        question = await self._decidable(which)
        if question is not None:
            await asyncio.gather(*(self._tell(question, place, number) for number, place in enumerate(self._places)))

    async def _decidable(self, which: str) -> str | None:
        """The question that people answer: of a call of a plan, the plan; None where it was told of already."""
        approval = await reread(self._opened.parts, which)
        if approval.part is None:
            return which
        plan = approval.part.plan_id
        if plan in self._plans:
            return None
        self._plans.append(plan)
        return plan

    async def _tell(self, which: str, place: NotifySettings, number: int) -> None:
        reason, tries = "", 0
        for pause in (0.0, *self._tries):
            if tries and await self._closes_within(pause):
                reason += "; the process ended before it was tried again"
                break
            approval = await reread(self._opened.parts, which)
            if approval.state is not ApprovalState.PENDING:
                return  # somebody looked without being told
            tries += 1
            try:
                await self._send_in_time(approval, place)
            except _NotTaken as error:
                reason = str(error)
            except (CallgateError, OSError, ValueError) as error:
                reason = type(error).__name__
            else:
                return
        await self._record(which, number, reason=reason, tries=tries)

    async def _closes_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._closing.wait()
        except TimeoutError:
            return False

    async def _send_in_time(self, approval: Approval, place: NotifySettings) -> None:
        async with self._room, asyncio.timeout_at(_soon() if self._closing.is_set() else None) as limit:
            self._sending.add(limit)
            try:
                await self._send(approval, place)
            finally:
                self._sending.discard(limit)

    async def _send(self, approval: Approval, place: NotifySettings) -> None:
        message = message_of(approval, url=self._opened.served_at)
        if place.command:
            await _run(place.command, json.dumps(message).encode())
            return
        parts = self._opened.parts
        connector, _, name = (place.secret or "").partition("/")
        key = await asyncio.to_thread(parts.secrets.source, connector, name)
        try:
            body, headers = signed(message, message_id=approval.id, at=parts.clock.now(), key=key)
        except ValueError as error:
            raise _NotTaken(str(error)) from None
        client = Client(self._network, grounds_of_named(private_addresses=place.private_addresses))
        answer = await client.post(place.webhook or "", body, headers=headers, limits=_LIMITS)
        if answer.status not in _TAKEN:
            raise _NotTaken(f"the webhook answered {answer.status}")

    async def _record(self, which: str, number: int, *, reason: str, tries: int) -> None:
        parts, kind = self._opened.parts, KINDS[NOTIFICATION_FAILED]
        trace = (await reread(parts, which)).trace_id
        payload = {"approval_id": which, "notify": number, "reason": reason, "tries": tries}
        parts.store.behind(
            Draft(type=kind.name, time=parts.clock.now(), trace=trace, severity=kind.severity, payload=payload)
        )


def _soon() -> float:
    return asyncio.get_running_loop().time() + _AT_CLOSE


async def _run(command: tuple[str, ...], message: bytes) -> None:
    """Run the operator's program with the message on its standard input, and nothing of Callgate's environment."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=kept,
        start_new_session=True,
    )
    try:
        await asyncio.wait_for(process.communicate(message), _COMMAND_SECONDS)
    except TimeoutError:
        raise _NotTaken(f"the program took more than {_COMMAND_SECONDS:g} seconds") from None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)  # with whatever it started: it has a group of its own
            await process.wait()
    if process.returncode:
        raise _NotTaken(f"the program ended with {process.returncode}")
