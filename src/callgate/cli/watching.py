"""`callgate approvals watch`: shows each question as it comes, and asks for an answer where somebody sits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import click

from callgate.cli.approval_text import approval_document
from callgate.cli.document import json_option, print_document
from callgate.cli.exit_codes import ExitCode
from callgate.cli.opening import Need, Tools, gate_of, stdin_is_terminal
from callgate.cli.person import by_option, person
from callgate.cli.place import Place, place_options
from callgate.cli.question import show_question, terminal_asker
from callgate.cli.screen import Screen
from callgate.errors import ApprovalConflict, ApprovalNotFound, Refusal
from callgate.model.approval import Approval
from callgate.model.levels import Assurance
from callgate.ports import Answer
from callgate.runtime.gate import Callgate
from callgate.runtime.terminal import TerminalAsker

_EVERY_SECONDS = 0.5
_LEFT = {0: "nothing waits any more", 1: "1 question waits"}
_NOTHING = "nothing waits for a person; callgate approvals watch asks as soon as something does"


@click.command("watch")
@click.option("--for", "seconds", type=click.FloatRange(min=0, min_open=True), help="Stop after so many seconds.")
@by_option
@place_options
@json_option
@click.pass_obj
def watch(place: Place, /, *, seconds: float | None, by: str | None, as_json: bool) -> ExitCode:
    """Show questions as they come, until Ctrl-C; at a terminal, answer them one by one.

    With --json each question is one document on a line of its own.
    """
    watcher = _Watcher(person(by), as_json=as_json)

    async def watching() -> None:
        async with gate_of(place, need=Need.EXISTING, tools=watcher.needs_tools) as gate:
            await watcher.follow(gate, seconds)

    try:
        asyncio.run(watching())
    except KeyboardInterrupt:
        Screen(sys.stderr).say("stopped watching")
    return ExitCode.SUCCEEDED


def go_through(place: Place, *, by: str) -> None:
    """Ask whoever sits here about everything that waits now, the oldest first, and say what is left."""
    watcher = _Watcher(by, as_json=False)

    async def going() -> None:
        async with gate_of(place, need=Need.EXISTING, tools=watcher.needs_tools) as gate:
            await watcher.once(gate)

    try:
        asyncio.run(going())
    except KeyboardInterrupt:
        Screen(sys.stderr).say("the rest stays open")


class _Watcher:
    def __init__(self, name: str, *, as_json: bool) -> None:
        self._name = name
        self._as_json = as_json
        self._asker = None if as_json or not stdin_is_terminal() else terminal_asker()
        self._err = Screen(sys.stderr)
        # Only an answer that edits a call needs its tool.
        self.needs_tools = Tools.NONE if self._asker is None else Tools.LOADED

    async def follow(self, gate: Callgate, seconds: float | None) -> None:
        self._err.say("watching for questions; Ctrl-C ends it", style="dim")
        try:
            async with asyncio.timeout(seconds):
                async for approval in _coming(gate):
                    await self._meet(gate, approval)
        except TimeoutError:
            return

    async def once(self, gate: Callgate) -> None:
        waiting = await gate.approvals()
        for place, approval in enumerate(waiting, start=1):
            if len(waiting) > 1:
                self._err.say(f"question {place} of {len(waiting)}", style="dim")
            await self._meet(gate, approval)
        left = len(await gate.approvals())
        self._err.say(_LEFT.get(left, f"{left} questions wait") if waiting else _NOTHING)

    async def _meet(self, gate: Callgate, approval: Approval) -> None:
        if self._as_json:
            print_document(approval_document(approval), indented=False)
        elif self._asker is None:
            show_question(Screen(sys.stdout), approval)
        else:
            talk = _Talk(gate, approval)
            while not await self._decide(talk, asker=self._asker):
                pass

    async def _decide(self, talk: _Talk, *, asker: TerminalAsker) -> bool:
        """Ask and decide; False where it is asked again: an edit is shown first, and a faulty one can be mended."""
        answer = await asker.ask(talk.shown)
        try:
            decided = await talk.take(answer, by=self._name)
        except Refusal as error:
            return not asker.tell(str(error))
        except (ApprovalConflict, ApprovalNotFound) as error:
            self._err.say(f"not decided: {error}", style="red")
            return True
        if decided is not None:
            self._err.say(f"{decided.state.value}: {decided.tool}", style="green")
        return decided is not None or answer.kind == "wait"


class _Talk:
    """A question as it is put to somebody, with the edit that it shows by now."""

    def __init__(self, gate: Callgate, approval: Approval) -> None:
        self._gate = gate
        self._edit: dict[str, Any] | None = None
        self.shown = approval

    async def take(self, answer: Answer, *, by: str) -> Approval | None:
        """Decide by this answer; None where nothing is decided yet, or there is something else to be seen first."""
        edit = answer.arguments if answer.kind == "edit" else self._edit
        if edit is not None and answer.kind in {"edit", "approve"}:
            now = await self._gate.preview_edit(self.shown.id, edit)
            seen = answer.kind == "approve" and now.digest == self.shown.digest
            self.shown, self._edit = now, edit
            if not seen:
                return None
        return await _apply(self._gate, self.shown, answer=answer._replace(arguments=edit), by=by)


async def _coming(gate: Callgate) -> AsyncIterator[Approval]:
    """Every question that waits, once, as they come; other processes ask them, so the store is looked at anew."""
    seen: set[str] = set()
    while True:
        for approval in await gate.approvals():
            if approval.id not in seen:
                seen.add(approval.id)
                yield approval
        await asyncio.sleep(_EVERY_SECONDS)


async def _apply(gate: Callgate, shown: Approval, *, answer: Answer, by: str) -> Approval | None:
    local = Assurance.LOCAL
    if answer.kind == "approve":
        return await gate.approve(shown.id, by=by, arguments=answer.arguments, assurance=local, digest=shown.digest)
    if answer.kind == "reject":
        return await gate.reject(shown.id, by=by, why=answer.text, assurance=local)
    if answer.kind == "respond":
        return await gate.respond(shown.id, by=by, text=answer.text, assurance=local)
    return None
