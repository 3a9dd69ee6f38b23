"""Programs: the face of a gate that runs what models write. Every call a program makes is an ordinary governed call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from callgate.errors import ProgramConflict, ProgramNotFound, Refusal
from callgate.events import vocabulary
from callgate.flows.program.functions import Functions
from callgate.flows.program.running import Asking
from callgate.model.approval import Approval, ApprovalState
from callgate.model.call import Call
from callgate.model.context import Context, numbering
from callgate.model.decision import Decision
from callgate.model.ids import uuid7
from callgate.model.levels import Autonomy, Caller, Verdict
from callgate.model.outcome import Outcome
from callgate.model.program import OVER, ProgramEntry, ProgramError, ProgramLimits, ProgramRun, ProgramState, Waiting
from callgate.model.tool import Tool
from callgate.pipeline.deciding import reread
from callgate.runtime.entering import enter, without_secrets
from callgate.runtime.opened import Opened
from callgate.runtime.program_asked import asker, check_covers, check_same, check_text, fingerprint
from callgate.runtime.program_forms import Program, Standing
from callgate.runtime.program_plan import AsPlanned, DryRun, Make, denied, refusal
from callgate.runtime.program_rows import Rows, effect_key
from callgate.runtime.program_run import Manner, ProgramOnItsWay, Proposal
from callgate.runtime.program_tool import RUN, make_program_tool
from callgate.runtime.turns import Turns
from callgate.runtime.under_way import UnderWay

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STATES = {
    vocabulary.PROGRAM_STARTED: ProgramState.RUNNING,
    vocabulary.PROGRAM_WOKE: ProgramState.RUNNING,
    vocabulary.PROGRAM_SLEPT: ProgramState.SLEEPING,
    vocabulary.PROGRAM_PROPOSED: ProgramState.PROPOSED,
    vocabulary.PROGRAM_FINISHED: ProgramState.FINISHED,
    vocabulary.PROGRAM_FAILED: ProgramState.FAILED,
    vocabulary.PROGRAM_INTERRUPTED: ProgramState.INTERRUPTED,
}


class Programs(Turns):
    """Running programs."""

    async def run_program(
        self,
        source: str,
        context: Context | None = None,
        *,
        inputs: Mapping[str, Any] | None = None,
        wait: float | None = None,
        limits: ProgramLimits | None = None,
        program_id: str | None = None,
        dry_run: bool = False,
    ) -> ProgramRun:
        """Run a program: Python whose only functions, beside its own, are the tools this asker may use in flows.

        Args:
            source: The program. Calls are awaited, and `asyncio.gather` makes them at the same time; a program without
                any `await` calls plainly. The value of its last expression is the program's.
            context: Who asks; the gate's own when left out.
            inputs: Names it begins with, and their values.
            wait: Seconds to wait for a person where one has to decide; else the program sleeps at once.
            limits: What it may use.
            dry_run: Make only its reads, and answer each effect with a stand-in of the declared shape. The program is
                then `proposed`, with the ordered list of its effects and, where they need a person, one question about
                all of them; `resume_program` runs it in earnest, and it stops where it comes to another effect. Asked
                for again, a dry run gives what it found.
            program_id: Made when left out. With the id of a program that is there already and is the same, it goes on,
                if the context may do what the program may.

        Returns:
            How far it came. A program that needs a person is `sleeping`: decide, and `resume_program` it, here or in
            any other process.

        Raises:
            ConfigurationError: The sandbox is not installed.
            ProgramConflict: The id is another program's, the context may do less than it, somebody else runs it, or
                what was kept of it was changed.
            ValueError: The source, the inputs or the id cannot be.
        """
        opened = self._open()
        who = without_secrets(opened.parts, context or opened.default_context)
        ground = replace(who, caller=Caller.CHAIN, idempotency_key=None)
        given = check_text(source, inputs or {})
        name = program_id or uuid7()
        if not _ID.fullmatch(name):
            message = f"a program's id has letters, digits, '-' and '_', 64 at most, not {name!r}"
            raise ValueError(message)
        program = Program(
            id=name,
            source=source,
            inputs=given,
            context=replace(ground, chain_id=name),
            limits=limits or ProgramLimits(),
            dry_run=dry_run,
            started_at=opened.parts.clock.now(),
        )
        rows = Rows(opened.parts, name)
        if name not in opened.programs:
            with _held(opened, name):
                standing = await rows.create(program, digest=fingerprint(opened.parts.keys, program))
                if standing is not None:
                    return await self._go(opened, rows, program, standing, wait)
        try:
            return await self._go_on(opened, rows, same_as=program, wait=wait)
        except ProgramNotFound:
            raise ProgramConflict(f"program {name} is just being begun by somebody else") from None

    async def resume_program(
        self, program_id: str, context: Context | None = None, *, wait: float | None = None
    ) -> ProgramRun:
        """Let a program go on that slept or was interrupted, under its asker's own context. One that is over is told.

        Args:
            program_id: Which one.
            context: Who lets it go on: its asker, who may do at least what the program may. Left out, it is whoever has
                the gate, for its asker.
            wait: Seconds to wait for a person where one has to decide; else the program sleeps at once.

        Raises:
            ProgramNotFound: No such program, or another asker's.
            ProgramConflict: Somebody runs it, the context may do less than the program's own, or what was kept of it
                was changed.
        """
        opened = self._open()
        rows = Rows(opened.parts, program_id)
        if context is not None:
            check_covers(context, await self._of_asker(rows, context))
        return await self._go_on(opened, rows, same_as=None, wait=wait, under=context)

    async def find_program(self, program_id: str, context: Context | None = None) -> ProgramRun:
        """How far a program has come.

        Raises:
            ProgramNotFound: No such program, or another asker's.
            ProgramConflict: What was kept of it was changed.
        """
        opened = self._open()
        rows = Rows(opened.parts, program_id)
        if context is not None:
            await self._of_asker(rows, context)
        standing = await rows.standing()
        return replace(standing, state=_state_now(opened, program_id, standing)).shown(program_id)

    async def program_source(self, program_id: str) -> str:
        """The text of a program.

        Raises:
            ProgramNotFound: No such program.
            ProgramConflict: What was kept of it was changed.
        """
        return (await Rows(self._open().parts, program_id).program()).source

    async def programs(self, *, limit: int = 100) -> list[ProgramEntry]:
        """The programs of this store, the newest first."""
        opened = self._open()
        await opened.parts.store.flush()
        events = await opened.parts.store.scan(lambda reader: reader.events(types=("program.*",)))
        entries: dict[str, ProgramEntry] = {}
        for event in events:
            facts: dict[str, Any] = event.payload or {}
            name = str(facts.get("program_id", ""))
            before = entries.get(name)
            entries[name] = ProgramEntry(
                id=name,
                state=_STATES[event.type],
                principal=str(facts.get("principal", "")),
                session=str(facts.get("session", "")),
                started_at=event.time if before is None else before.started_at,
                calls=int(facts.get("calls", 0)),
            )
        newest = sorted(entries.values(), key=lambda entry: entry.started_at, reverse=True)[: max(0, limit)]
        return [await self._looked_at(opened, entry) for entry in newest]

    def add_programs(self, *, name: str = RUN) -> Tool:
        """Add a tool with which a model runs programs of its own, over the tools it may use in flows.

        Raises:
            ConfigurationError: The name is none, or taken.
        """
        made = make_program_tool(self, name=name)
        self._registry.add(made)
        return made

    def program_stubs(self, context: Context | None = None, *, plain: bool = False) -> str:
        """The functions a program of this asker may call, as Python stubs: to be told to who writes one."""
        ground = replace(context or self._open().default_context, caller=Caller.CHAIN)
        return Functions(self.pool(ground), plain=plain).stubs

    async def _looked_at(self, opened: Opened, entry: ProgramEntry) -> ProgramEntry:
        if entry.state in OVER:
            return entry
        try:
            standing = await Rows(opened.parts, entry.id).standing()
        except (ProgramNotFound, ProgramConflict):
            return entry
        return replace(entry, state=_state_now(opened, entry.id, standing), waiting=standing.waiting)

    async def _of_asker(self, rows: Rows, context: Context) -> Program:
        program = await rows.program()
        if asker(program.context) != asker(context):
            raise ProgramNotFound(f"Unknown program: {rows.id}")
        return program

    async def _go_on(
        self,
        opened: Opened,
        rows: Rows,
        *,
        same_as: Program | None,
        wait: float | None,
        under: Context | None = None,
    ) -> ProgramRun:
        program = await rows.program()
        if same_as is not None:
            check_same(same_as, program)
            under = same_as.context
        if under is not None:
            program = replace(program, context=program.context.through(under))
        standing = await rows.standing()
        if standing.state in OVER:
            return standing.shown(rows.id)
        if _state_now(opened, rows.id, standing) is ProgramState.RUNNING:
            raise ProgramConflict(f"program {rows.id} is running")
        if same_as is not None and program.dry_run and standing.real:
            # Asking for the dry run again is no yes to its list: only `resume_program` goes on in earnest.
            return standing.shown(rows.id)
        with _held(opened, rows.id):
            question = await self._question(standing)
            if question is not None and question.state is ApprovalState.PENDING:
                return standing.shown(rows.id)
            no = None if question is None else refusal(question)
            if no is not None:
                return await self._refuse(rows, program, standing, opened.parts.striker.strike_text(no))
            # The journal of a dry run holds stand-ins, and what was shown for them is not in it.
            anew = not standing.real or standing.state is ProgramState.PROPOSED
            taken = await rows.take(program, standing, anew=anew)
            return await self._go(opened, rows, program, taken, wait)

    async def _refuse(self, rows: Rows, program: Program, standing: Standing, why: str) -> ProgramRun:
        """One answer decides the whole list: after a no nothing of it is made, also what needed nobody."""
        error = ProgramError(kind="refused", message=why)
        over = replace(standing, state=ProgramState.FAILED, error=error, waiting=())
        ended, let_go = await rows.rest(program, over, vocabulary.PROGRAM_FAILED)
        if let_go:
            raise asyncio.CancelledError
        return ended.shown(rows.id)

    async def _go(
        self, opened: Opened, rows: Rows, program: Program, standing: Standing, wait: float | None
    ) -> ProgramRun:
        ground = program.context
        numbered = numbering(ground)

        async def make(asking: Asking) -> Outcome:
            key = None if asking.tool.read_only else effect_key(program, asking.ordinal)
            call = Call(asking.tool.name, asking.arguments, key=key)
            return await enter(opened, call, numbered(asking.ordinal), wait=wait)

        run = ProgramOnItsWay(
            opened.parts,
            rows,
            program,
            standing,
            tools=self.pool(ground),
            direct=lambda: self.pool(replace(ground, caller=Caller.DIRECT)),
            manner=self._manner(opened, program, standing, make=make, wait=wait),
        )
        with UnderWay(opened):
            return await run.go(opened.sandboxes)

    def _manner(
        self, opened: Opened, program: Program, standing: Standing, *, make: Make, wait: float | None
    ) -> Manner:
        if not standing.real:
            dry = self._dry_run(opened, program, wait)
            return Manner(dry.make, propose=partial(self._propose, program, dry), stood_in=dry.stood_in)
        if program.dry_run:
            planned = AsPlanned(standing.exact, make)
            return Manner(planned.make, planned.check)
        return Manner(make)

    def _dry_run(self, opened: Opened, program: Program, wait: float | None) -> DryRun:
        reading = numbering(program.context.narrow(read_only=True))

        async def read(asking: Asking) -> Outcome:
            # The gate itself refuses an effect here, also one that was a read when the program began.
            return await enter(opened, Call(asking.tool.name, asking.arguments), reading(asking.ordinal), wait=wait)

        async def explain(asking: Asking) -> Decision:
            return await self.explain(asking.tool.name, asking.arguments, program.context)

        async def show(asking: Asking) -> Outcome:
            # At A0 the gate itself sees to it that nothing happens.
            context = program.context.narrow(autonomy=Autonomy.A0)
            return await enter(opened, Call(asking.tool.name, asking.arguments), context)

        return DryRun(read=read, explain=explain, show=show, striker=opened.parts.striker)

    async def _propose(self, program: Program, dry: DryRun) -> Proposal:
        """One question about everything the dry run came to, where any of it needs a person.

        Raises:
            Refusal: A call of it would be refused: nobody is asked about such a list, and none of it is made.
        """
        listed = sorted(dry.planned.items())
        calls = [Call(plan.tool, arguments, key=effect_key(program, ordinal)) for ordinal, (plan, arguments) in listed]
        asked = await self.plan(calls, program.context, ask=True) if calls else None
        if asked is not None and asked.verdict is Verdict.DENY:
            raise Refusal(denied(asked))
        waiting: tuple[Waiting, ...] = ()
        if asked is not None and asked.approval_id is not None:
            question = await reread(self._open().parts, asked.approval_id)
            waiting = (Waiting(tool=question.tool, approval_id=question.id, expires_at=question.expires_at),)
        exact = tuple(
            {"ordinal": ordinal, "tool": plan.tool, "arguments": arguments} for ordinal, (plan, arguments) in listed
        )
        return Proposal(tuple(plan for _, (plan, _) in listed), exact, waiting)

    async def _question(self, standing: Standing) -> Approval | None:
        """The question about the list of a proposed program, where it needs a person."""
        if standing.state is not ProgramState.PROPOSED or not standing.waiting:
            return None
        return await reread(self._open().parts, standing.waiting[0].approval_id)


@contextmanager
def _held(opened: Opened, program_id: str) -> Generator[None]:
    """One at a time in this process, from before it is taken up until it rests."""
    if program_id in opened.programs:
        raise ProgramConflict(f"program {program_id} is running")
    opened.programs.add(program_id)
    try:
        yield
    finally:
        opened.programs.discard(program_id)


def _state_now(opened: Opened, program_id: str, standing: Standing) -> ProgramState:
    """One that this process runs no more, whatever its row says, stopped on the way."""
    mine = standing.owner == opened.parts.store.owner
    stopped = standing.state is ProgramState.RUNNING and mine and program_id not in opened.programs
    return ProgramState.INTERRUPTED if stopped else standing.state
