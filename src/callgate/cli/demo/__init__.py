"""`callgate demo`: what Callgate does, told in about a minute by doing it, in a folder and with a key of its own."""

from __future__ import annotations

import asyncio

import click

from callgate.cli.demo import scenes
from callgate.cli.demo.program_scene import program_sleeps
from callgate.cli.demo.stage import Stage, staged
from callgate.cli.document import refuse_json


@click.command("demo")
@click.option("--fast", is_flag=True, help="Leave no time to read.")
@click.option("--keep", is_flag=True, help="Keep the folder, to look around in it.")
def command(*, fast: bool, keep: bool) -> None:
    """See it at work, in about a minute: no model, no network, nothing of yours is touched.

    Press Enter to go on sooner.
    """
    refuse_json("demo")
    with staged(fast=fast, keep=keep) as stage:
        stage.screen.say("Callgate stands between an AI agent and its tools. Seven things it does:", style="bold")
        asyncio.run(_play(stage))
        _end(stage, keep=keep)


async def _play(stage: Stage) -> None:
    async with stage.gate() as gate:
        await scenes.read_passes(stage, gate)
        await scenes.write_is_previewed(stage, gate)
    await scenes.payment_waits(stage, scenes.Viewer(stage))
    await scenes.process_dies(stage)
    await program_sleeps(stage)
    await scenes.record_is_edited(stage)


def _end(stage: Stage, *, keep: bool) -> None:
    screen = stage.screen
    stage.pause(2)
    screen.say()
    screen.say("Where to go next", style="bold")
    ways = [
        ("your first tool", "README.md"),
        ("every command", "callgate --help, docs/cli.md"),
        ("is all well here", "callgate doctor"),
    ]
    if keep:
        around = f"XDG_CONFIG_HOME={stage.folder / 'config'} callgate audit list --store {stage.store}"
        ways.append(("look around", around))
    screen.facts(ways, indent=3)
