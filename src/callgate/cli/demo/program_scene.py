"""The scene of the demo with a program: it begins in one process, sleeps in the store, and goes on in others."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import click

from callgate.cli.demo.shop import PROGRAM
from callgate.cli.demo.stage import Stage

_WITHIN_SECONDS = 60.0
_NEXT = ("a second process", "a third process")


async def program_sleeps(stage: Stage) -> None:
    """Scene 6."""
    stage.scene(
        "A program waits for a person, and wakes in another process",
        "A model writes Python over its tools. Every call in it is judged like any other; there is no other way out.",
    )
    if find_spec("pydantic_monty") is None:
        stage.fact("but", "the sandbox is not installed here: pip install 'callgate[programs]'")
        return
    stage.screen.say(PROGRAM.rstrip(), indent=10, mark="| ")
    run = await _told(stage, "run")
    for process in _NEXT:
        [question] = run["waiting_for"]
        stage.fact("said", f"{run['state']}: {question['tool']} needs a person; the process ends", style="yellow")
        async with stage.gate() as gate:
            approval = await gate.approve(question["approval_id"], by="you")
        exact = ", ".join(line.strip() for line in approval.what.splitlines()[1:])
        stage.fact("you", f"approve exactly that: {approval.tool} {exact}")
        stage.fact("then", f"{process} takes the program up where it slept")
        run = await _told(stage, "resume")
    stage.fact("said", f"{run['state']}: {run.get('value')}", style="green")
    stage.books()


async def _told(stage: Stage, part: str) -> dict[str, Any]:
    """What a process of its own says of the program."""
    words = [sys.executable, "-m", "callgate.cli.demo.other_process", part, str(stage.folder), stage.store]
    done = await asyncio.to_thread(
        subprocess.run, words, capture_output=True, text=True, check=False, timeout=_WITHIN_SECONDS
    )
    if done.returncode != 0:
        raise click.ClickException(f"the demo's other process failed: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)
