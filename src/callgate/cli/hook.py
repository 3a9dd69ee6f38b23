"""`callgate hook`: what coding agents run before and after each tool of their own. Stdout has the answer, nothing else.

The gate is imported under the hook's own deadline; whatever fails is a no.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import click

from callgate.cli.autonomy import autonomy_option
from callgate.cli.place import Place, place_options
from callgate.model.visible import visible
from callgate.runtime.host_arguments import Misread
from callgate.serve.hooks.hosts import HOSTS
from callgate.serve.hooks.moment import EVENT, Host, Kind, Reply

_LARGEST = 32 * 1024 * 1024
_MARGIN = 3.0
"""Seconds that are left to close the gate and answer."""
_BLOCKS = 2


@click.command("hook")
@click.argument("host", type=click.Choice(list(HOSTS)))
@click.option(
    "--deadline",
    type=click.FloatRange(min=1),
    help="Seconds in which it answers, whatever happens; below the time that the host waits. 50 when left out.",
)
@click.option("--root", metavar="DIR", help="The folder that is worked in; what the host says when left out.")
@click.option("--event", metavar="NAME", help="What happens, for a host that does not say so itself: copilot.")
@click.option("--role", default="default", show_default=True, help="The role that the host's calls are made in.")
@autonomy_option
@place_options
@click.pass_obj
def command(place: Place, /, *, host: str, deadline: float | None, event: str | None, **limits: str | None) -> int:
    """Judge what a coding agent is about to do: read its hook's JSON from stdin, answer on stdout.

    Written into the host's settings by `callgate connect`. Denies whenever something fails.
    """
    speaking = HOSTS[host]
    try:
        hook = _Hook(speaking, seconds=deadline or speaking.seconds - 10, event=event)
        return hook.run(place, limits)
    except BaseException:  # noqa: BLE001 - where not even the answer can be given
        return _BLOCKS


class _Hook:
    """One question of a host, answered once."""

    def __init__(self, host: Host, *, seconds: float, event: str | None) -> None:
        self._host = host
        self._event = {} if event is None else {EVENT: event}
        self._until = time.monotonic() + seconds
        self._seconds = seconds
        self._answered = threading.Lock()
        self._told: Mapping[str, Any] = {}
        # While the gate is open, what is printed goes to stderr: the answer has a way of its own.
        self._out = os.dup(1)

    def run(self, place: Place, limits: Mapping[str, Any]) -> int:
        watch = threading.Timer(self._seconds, self._too_late)
        watch.daemon = True
        watch.start()
        try:
            reply = self._decide(place, limits)
        except BaseException as error:  # noqa: BLE001 - nothing may run that the gate did not judge
            reply = self._failed(_why(error))
        watch.cancel()
        return self._give(reply)

    def _decide(self, place: Place, limits: Mapping[str, Any]) -> Reply:
        self._told = self._event
        self._told = {**_read(), **self._event}
        moment = self._host.read(self._told, os.environ)
        if moment.kind is Kind.ELSE or (moment.kind is Kind.PROMPT and not moment.prompt):
            return self._host.quiet
        from callgate.cli.hook_gate import ask  # noqa: PLC0415 - the gate, which takes long, under our deadline

        return ask(place, moment, host=self._host, limits=limits, until=self._until - _MARGIN)

    def _too_late(self) -> None:
        """Where even waiting is stuck: answer and go, before the host goes on without an answer."""
        code = self._give(self._failed(f"the gate did not answer within {self._seconds:g} seconds"))
        os._exit(code)

    def _failed(self, why: str) -> Reply:
        """A no to what is about to run, and to what cannot be read: it may be that."""
        event = self._told.get(EVENT)
        kind = self._host.kinds.get(event) if isinstance(event, str) else None
        # What has happened cannot be taken back, and what the user said waits for nobody.
        if kind is Kind.AFTER:
            return self._host.note(visible(f"Callgate could not record how a tool ended that has run ({why})."))
        if kind is Kind.PROMPT:
            return self._host.note(visible(f"Callgate could not record what you said ({why})."))
        why = f"Not run: the gate could not judge it ({why}). Nothing has happened."
        return self._host.deny(self._told, visible(why))

    def _give(self, reply: Reply) -> int:
        """Write the answer, once; whoever comes second says nothing."""
        if not self._answered.acquire(blocking=False):
            time.sleep(self._seconds)  # the other one ends the process
            return _BLOCKS
        try:
            if reply.out is not None:
                _write(self._out, json.dumps(reply.out))
            if reply.err:
                _write(2, visible(reply.err))
        except OSError:
            return _BLOCKS
        return reply.code


def _read() -> dict[str, Any]:
    raw = sys.stdin.buffer.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise Misread(f"what the host said has more than {_LARGEST} bytes")
    try:
        found = json.loads(raw, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Misread("what the host said is not JSON") from None
    if not isinstance(found, dict):
        raise Misread("what the host said is no JSON object")
    return {str(key): value for key, value in found.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What is said twice has two readings, and the host may have another one than we."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Misread("what the host said names something twice")
    return found


def _no_number(word: str) -> Any:
    raise Misread(f"what the host said has {word} in it")


def _write(descriptor: int, text: str) -> None:
    data = text.encode(errors="backslashreplace") + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _why(error: BaseException) -> str:
    """The reason in one line, where it is one of ours; else only its kind, as it may tell anything."""
    if isinstance(error, Misread):
        return str(error)
    from callgate.errors import CallgateError  # noqa: PLC0415 - only where something went wrong

    if isinstance(error, CallgateError):
        return " ".join(str(error).split())
    return type(error).__name__
