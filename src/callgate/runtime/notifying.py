"""Notifying: tells people who are not looking that somebody has to decide. What fails is tried again, and recorded."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from callgate.errors import CallgateError
from callgate.events.vocabulary import KINDS, NOTIFICATION_FAILED
from callgate.model.event import Draft, Event
from callgate.model.grounds import Grounds
from callgate.observe.webhook import message_of, signed
from callgate.pipeline.deciding import reread
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
_PLANS = 1000
"""Plans that are remembered, so that people are told of each once."""
_KEPT = ("PATH", "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""What a program of the desktop needs of the environment; keys and secrets are not among it."""


class Notifier:
    """Tells of the questions of one open gate.

    Args:
        opened: The gate.
        places: Who is told.
        network: What requests go out through.
        pause: Waits between tries.
    """

    def __init__(
        self,
        opened: Opened,
        places: Sequence[NotifySettings],
        *,
        network: Network | None = None,
        pause: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        self._opened = opened
        self._places = places
        self._network = network or Network()
        self._pause = pause
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._plans: deque[str] = deque(maxlen=_PLANS)

    def start(self) -> None:
        """Begin to tell."""
        self._opened.bus.on("gate.required", self._asked)

    def _asked(self, event: Event) -> None:
        which = (event.payload or {}).get("approval_id")
        if isinstance(which, str):
            self._opened.loop(self._tell_all(which))

    async def _tell_all(self, which: str) -> None:
        approval = await self._decidable(which)
        if approval is None:
            return
        await asyncio.gather(*(self._tell(approval, place, number) for number, place in enumerate(self._places)))

    async def _decidable(self, which: str) -> Approval | None:
        """The question that people answer: of a call of a plan, the plan; None where it was told of already."""
        approval = await reread(self._opened.parts, which)
        if approval.part is None:
            return approval
        plan = approval.part.plan_id
        if plan in self._plans:
            return None
        self._plans.append(plan)
        return await reread(self._opened.parts, plan)

    async def _tell(self, approval: Approval, place: NotifySettings, number: int) -> None:
        reason = ""
        for pause in (0.0, *_TRIES):
            await self._pause(pause)
            try:
                async with self._room:
                    await self._send(approval, place)
            except (CallgateError, OSError, ValueError) as error:
                reason = type(error).__name__
            else:
                return
        self._record(approval, number, reason=reason)

    async def _send(self, approval: Approval, place: NotifySettings) -> None:
        message = message_of(approval, url=self._opened.served_at)
        if place.command:
            await _run(place.command, json.dumps(message).encode())
            return
        parts = self._opened.parts
        connector, _, name = (place.secret or "").partition("/")
        key = parts.secrets.source(connector, name)
        body, headers = signed(message, message_id=approval.id, at=parts.clock.now(), key=key)
        client = Client(self._network, _grounds(place, parts.working_directory))
        answer = await client.post(place.webhook or "", body, headers=headers, limits=_LIMITS)
        if answer.status not in _TAKEN:
            raise OSError(f"the webhook answered {answer.status}")

    def _record(self, approval: Approval, number: int, *, reason: str) -> None:
        parts = self._opened.parts
        payload = {"approval_id": approval.id, "notify": number, "reason": reason, "tries": len(_TRIES) + 1}
        kind = KINDS[NOTIFICATION_FAILED]
        parts.store.behind(
            Draft(
                type=kind.name, time=parts.clock.now(), trace=approval.trace_id, severity=kind.severity, payload=payload
            )
        )


def _grounds(place: NotifySettings, directory: str) -> Grounds:
    """The operator named the address, and nothing is sent on from there: where it leads is all that is judged."""
    return Grounds(
        directory=directory,
        roots=(),
        closed=(),
        git=(),
        code=(),
        private_addresses=place.private_addresses,
        path_refused=lambda _path, _found: "a webhook touches no file",
        host_refused=lambda _place: None,
    )


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
        raise OSError(f"the program took more than {_COMMAND_SECONDS:g} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise OSError(f"the program ended with {process.returncode}")
