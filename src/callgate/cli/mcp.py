"""`callgate mcp`: the gate as an MCP server of a client on this machine, over stdio."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import click

from callgate.cli.asking import asker_context
from callgate.cli.autonomy import autonomy_option
from callgate.cli.event_loop import run_serving
from callgate.cli.exit_codes import ExitCode
from callgate.cli.opening import Need, Tools, gate_of, settings_of
from callgate.cli.place import Place, place_options
from callgate.cli.stopping import ending_signals
from callgate.cli.streams import stdout_kept
from callgate.cli.trouble import wrong
from callgate.runtime.observing import spans_around

if TYPE_CHECKING:
    from callgate.serve.mcp.stdio import Client, Wire


@click.command("mcp")
@click.option("--role", default="default", show_default=True, help="The role its calls are made in.")
@autonomy_option
@click.option("--session", default="default", show_default=True, help="The run that keys and approvals belong to.")
@click.option("--principal", default="agent", show_default=True, help="The agent that acts.")
@click.option("--user", metavar="NAME", help="For whom it acts; your user name when left out.")
@click.option("--read-only", is_flag=True, help="Only tools that change nothing.")
@click.option("--source", metavar="NAME", help="Only the tools of this source, under its own names.")
@click.option("--attended", is_flag=True, help="A person sits at the client and may be asked through it.")
@click.option(
    "--permission-prompt", is_flag=True, help="Answer the host about its own tools, too (`permission_prompt`)."
)
@place_options
@click.pass_obj
def command(place: Place, /, **options: Any) -> ExitCode:
    """Be an MCP server for a client that starts this command: its tools are yours, called through the gate.

    Speaks the protocol on stdin and stdout until the client closes them. Everything else goes to stderr.
    """
    try:
        from callgate.serve.mcp.stdio import Client, Wire  # noqa: PLC0415 - only where something is served
    except ImportError:
        wrong("this needs the extras `serve` and `mcp`: pip install 'callgate[serve,mcp]'")
    settings = settings_of(place).serve
    client = Client(
        context=asker_context(options | {"key": None}).narrow(read_only=options["read_only"]),
        attended=options["attended"],
        source=options["source"],
        url=settings.url,
        show=place.show,
        prompts=options["permission_prompt"],
    )
    wire = Wire.take()
    with stdout_kept():
        return run_serving(_serve(place, client, wire=wire))


async def _serve(place: Place, client: Client, *, wire: Wire) -> ExitCode:
    from callgate.runtime.gate import Callgate  # noqa: PLC0415 - as above
    from callgate.serve.mcp.asking_back import SoleClient  # noqa: PLC0415 - as above
    from callgate.serve.mcp.stdio import serve_stdio  # noqa: PLC0415 - as above

    loop = asyncio.get_running_loop()
    opened = gate_of(
        place,
        need=Need.MAKE,
        tools=Tools.LOADED,
        context=client.context,
        unnamed=("read_only",),
        around=spans_around(),
    )
    # What is started in this block can ask the client back, also a program that does not say for which call.
    with Callgate.asked_back(SoleClient()):
        async with opened as gate:
            serving = asyncio.ensure_future(serve_stdio(gate, client, wire=wire))
            for number in (signal.SIGINT, *ending_signals()):
                loop.add_signal_handler(number, serving.cancel)
            await asyncio.wait({serving})
            if not serving.cancelled():
                serving.result()
    return ExitCode.SUCCEEDED
