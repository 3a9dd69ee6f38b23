"""`callgate serve`: one gate in front of everybody's agents, and a console for the people who answer for them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from callgate.cli.event_loop import run_serving
from callgate.cli.exit_codes import ExitCode
from callgate.cli.logs import log_serving
from callgate.cli.observing import observed, observing
from callgate.cli.opening import Need, Tools, gate_of, settings_of
from callgate.cli.place import Place, place_options
from callgate.cli.screen import Screen
from callgate.cli.stopping import ending_signals
from callgate.cli.streams import stdout_kept
from callgate.cli.trouble import wrong
from callgate.model.credential import ALL_RIGHTS, Credential
from callgate.runtime.host_tools import every_host_tool
from callgate.runtime.observing import spans_around
from callgate.runtime.terminal import system_user
from callgate.serve.addresses import MCP

if TYPE_CHECKING:
    from callgate.runtime.gate import Callgate
    from callgate.settings.values import Observe, ServeSettings


@click.command("serve")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port to listen on; 0 is any that is free.")
@click.option("--observe", is_flag=True, help="Decide and record, and run all the same, for 7 days; a deny stays one.")
@click.option(
    "--log",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How it is logged.",
)
@place_options
@click.pass_obj
def command(place: Place, /, *, port: int | None, observe: bool, log: str) -> ExitCode:
    """Serve this place: console, HTTP API and MCP on one port of this machine.

    Prints a link that opens the console signed in, once. Stop it with Ctrl-C: what runs has 30 seconds to end first.
    """
    log_serving(as_json=log == "json")
    settings = settings_of(place).serve
    chosen = settings if port is None else replace(settings, port=port)
    with stdout_kept():
        return run_serving(_serve(place, chosen, observe=observing() if observe else None))


async def _serve(place: Place, settings: ServeSettings, *, observe: Observe | None) -> ExitCode:
    try:
        from callgate.serve.server import serving  # noqa: PLC0415 - only where something is served
    except ImportError:
        wrong("serving needs the extra `serve`: pip install 'callgate[serve]'")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, *ending_signals()):
        loop.add_signal_handler(number, stop.set)
    served = gate_of(
        place, need=Need.MAKE, tools=Tools.LOADED, unnamed=("read_only",), around=spans_around(), observe=observe
    )
    async with served as gate, serving(gate, settings) as where:
        code, count = await _link(gate), len(gate.tools())
        # Hooks judge them elsewhere; here people answer for them, and an answer may be an edit, which is judged again.
        gate.add(*every_host_tool(), update=True)
        screen = Screen(sys.stderr)
        screen.say(f"Callgate serves {count} tools at {where.url}")
        screen.say(f"Console, signed in, once, within ten minutes:  {where.console}/enter?code={code}")
        if sys.platform == "darwin" and settings.url is None:  # pragma: no cover - macOS
            screen.say("Safari does not find this name: use another browser, or set serve.url (docs/console.md).")
        screen.say(f"API {where.url}/api/v1   MCP {where.url}{MCP}   Stop with Ctrl-C.")
        if observe is not None:
            screen.say(observed(observe), style="yellow")
        await stop.wait()
        with contextlib.suppress(OSError):  # nobody reads it where the terminal was closed
            screen.say("Stopping: what runs is let end first.")
    return ExitCode.SUCCEEDED


async def _link(gate: Callgate) -> str:
    """A link for whoever started the server: they are let in as this machine's user."""
    name = system_user()
    known = [each for each in await gate.credentials() if each.name == name and _lasts(each)]
    person = known[-1] if known else (await gate.admit_person(name, by=name))[0]
    return await gate.sign_in_link(person.id)


def _lasts(credential: Credential) -> bool:
    """Whether this is a person who is let in for good, with every right."""
    return credential.rights == ALL_RIGHTS and credential.revoked_at is None and credential.expires_at is None
