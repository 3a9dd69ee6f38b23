"""The scenes of the demo. Everything that is shown has just happened: real files, real processes, a real store."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import click

from callgate.cli.demo.shop import PAYMENT, RENT, free_agent
from callgate.cli.demo.stage import Stage
from callgate.cli.question import show_question
from callgate.cli.screen import Screen
from callgate.model.approval import Approval, ApprovalState
from callgate.model.context import Context
from callgate.model.levels import Assurance, Autonomy
from callgate.ports import Answer
from callgate.runtime.gate import Callgate
from callgate.runtime.terminal import system_user

_NOVEMBER = {"to": "the landlord", "amount": 650.0}
_WITHIN_SECONDS = 30.0


async def read_passes(stage: Stage, gate: Callgate) -> None:
    """Scene 1."""
    stage.scene("Reading passes", "An agent looks something up. Nothing can break, so nobody is asked.")
    stage.asked("balance", {})
    stage.said(await gate.call("balance"))


async def write_is_previewed(stage: Stage, gate: Callgate) -> None:
    """Scene 2."""
    stage.scene("At A0 an effect is shown, not run", "The tool says what it would do; its handler is not entered.")
    arguments = {"item": "tea", "price": 4.5}
    before = stage.shop.prices.read_text(encoding="utf-8")
    stage.asked("set_price", arguments, how="at autonomy A0")
    stage.said(await gate.call("set_price", arguments, Context(autonomy=Autonomy.A0)))
    same = stage.shop.prices.read_text(encoding="utf-8") == before
    stage.fact("file", "prices.txt is as it was" if same else "prices.txt was changed")


async def payment_waits(stage: Stage, viewer: Viewer) -> None:
    """Scenes 3 and 4."""
    stage.scene("A payment waits for a person", "Approving is bound to this exact call, and runs nothing by itself.")
    mine = Context(idempotency_key="rent-november")
    async with stage.gate(ask=viewer) as gate:
        stage.asked("pay", _NOVEMBER, how=f"key {mine.idempotency_key}")
        outcome = await gate.call("pay", _NOVEMBER, mine)
        stage.said(outcome, why=False)
        decided = (await gate.approvals(states=None))[-1]
        verb = "rejected" if decided.state is ApprovalState.REJECTED else "approved"
        stage.fact("why", f"{decided.decided_by} {verb} it")
        if not outcome.ok:
            stage.fact("then", "Nothing was booked. For the rest of the story somebody else says yes to another try.")
            mine = replace(mine, idempotency_key="rent-november-2")
            await gate.call("pay", _NOVEMBER, mine)
        stage.books()
        stage.scene("The same key again", "A model, a retry or a crash sends the call a second time.")
        stage.asked("pay", _NOVEMBER, how=f"key {mine.idempotency_key}")
        stage.said(await gate.call("pay", _NOVEMBER, mine))
        stage.books()


class Viewer:
    """Lets whoever watches decide; where nobody does, says yes for the story."""

    assurance = Assurance.LOCAL

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._asked = 0

    async def ask(self, approval: Approval) -> Answer:
        """The answer, after the question was shown."""
        self._asked += 1
        if self._asked > 1:
            return Answer("approve", by="somebody else")
        self._stage.screen.say()
        show_question(Screen(sys.stdout, margin=6), approval)
        self._stage.screen.say()
        if not sys.stdin.isatty():
            self._stage.fact("you", "nobody sits here, so the demo says yes")
            return Answer("approve", by="demo")
        yes = _says_yes()
        return Answer("approve", by=system_user()) if yes else Answer("reject", text="not today", by=system_user())

    def tell(self, message: str) -> None:
        """Why the answer did not count."""
        self._stage.fact("but", message)


def _says_yes() -> bool:
    while True:
        click.echo("   You decide: [y] approve  [n] reject, then Enter: ", nl=False)
        line = sys.stdin.readline()
        word = line.strip().lower()
        if not line or word in {"n", "no"}:
            return False
        if word in {"y", "yes"}:
            return True


async def process_dies(stage: Stage) -> None:
    """Scene 5."""
    stage.scene(
        "The process dies in the middle of an effect",
        "Another process pays. The bank has booked it, the answer is not there yet: kill -9.",
    )
    stage.asked("pay", PAYMENT, how=f"key {RENT}, in a process of its own")
    pid = await asyncio.to_thread(_pay_and_kill, stage)
    stage.fact("kill", f"SIGKILL to process {pid}, in the middle of pay", style="red")
    async with stage.gate() as gate:
        outcome = await gate.outcome(RENT)
        if outcome is None:
            raise click.ClickException("the demo did not find its payment in the ledger")
        stage.said(outcome)
        stage.asked("pay", PAYMENT, how="the same call again, after a restart")
        stage.said(await gate.call("pay", PAYMENT, free_agent()))
        answer = await gate.verify_outcome(RENT)
        stage.fact("then", f"`verify` asks the bank for that key: {answer}", style="green")
        stage.asked("pay", PAYMENT, how="the same call once more")
        stage.said(await gate.call("pay", PAYMENT, free_agent()))
    stage.books()


def _pay_and_kill(stage: Stage) -> int:
    """Start a process that pays, wait until the bank has booked it, and kill it there."""
    stage.shop.line_down.touch()
    booked = len(stage.shop.bookings())
    words = [sys.executable, "-m", "callgate.cli.demo.other_process", "pay", str(stage.folder), stage.store]
    process = subprocess.Popen(words)  # noqa: S603 - our own module
    until = time.monotonic() + _WITHIN_SECONDS
    try:
        while len(stage.shop.bookings()) == booked:
            if process.poll() is not None or time.monotonic() > until:
                raise click.ClickException("the demo's second process did not get as far as paying")
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
        stage.shop.line_down.unlink()
    return process.pid


async def record_is_edited(stage: Stage) -> None:
    """Scene 7."""
    stage.scene(
        "Somebody edits the record", "With plain SQL on the database file, to make a payment look ten times smaller."
    )
    forged, refusal = await asyncio.to_thread(_forge, stage)
    stage.fact("sql", "UPDATE events SET payload = …")
    stage.fact("store", f"refuses: {refusal}. So they drop the trigger first, and then it works.")
    async with stage.gate() as gate:
        report = await gate.verify_audit()
    stage.fact("asked", "callgate audit verify", style="bold")
    stage.fact("said", "verified" if report.ok else f"broken: {report.problems[0]}", style="red")
    found = report.broken_at is not None and tuple(report.broken_at) == forged
    stage.fact("check", "that is the row they edited" if found else f"they edited event {forged[1]} of {forged[0]}")


def _forge(stage: Stage) -> tuple[tuple[str, int], str]:
    """Edit a payment's row as somebody with the file could; which row, and what the database said at first."""
    edit = "UPDATE events SET payload = replace(payload, '650.0', '65.0') WHERE position = ?"
    database = sqlite3.connect(stage.folder / "callgate.db", isolation_level=None)
    try:
        stream, sequence, position = database.execute(
            "SELECT stream, sequence, position FROM events"
            " WHERE type = 'tool_call.attempted' AND payload LIKE '%650.0%' ORDER BY position"
        ).fetchone()
        try:
            database.execute(edit, (position,))
            refusal = "nothing"
        except sqlite3.Error as error:
            refusal = str(error)
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute(edit, (position,))
    finally:
        database.close()
    return (stream, sequence), refusal
