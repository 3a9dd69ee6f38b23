"""Running a chain: wave by wave, each call an ordinary one, until all are made or one does not succeed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.errors import StoreError
from callgate.events.vocabulary import CHAIN_ENDED, CHAIN_STARTED
from callgate.flows.batch import run_wave
from callgate.flows.chain.chain import SEQ, Chain, Step
from callgate.flows.chain.values import NotThere, look_up, results_in
from callgate.flows.waves import one_by_one
from callgate.model.call import Call
from callgate.model.event import Draft
from callgate.model.outcome import Succeeded
from callgate.model.shapes import own_copy
from callgate.model.step_key import numbered_key
from callgate.pipeline.record import record
from callgate.pipeline.recorded import json_form, who
from callgate.pipeline.stopped import refused
from callgate.runtime.entering import as_asked, enter

if TYPE_CHECKING:
    from callgate.flows.chain.analysis import Analysis, Link
    from callgate.flows.chain.script import Script
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.runtime.opened import Opened

_INTERRUPTED = "interrupted"
_CHANGED = "a tool of the chain was changed while it ran; the rest is made in sequence"


class ChainRun:
    """One chain on its way."""

    def __init__(self, opened: Opened, chain: Chain, context: Context, analysis: Analysis) -> None:
        self._opened = opened
        self._chain = chain
        self._context = context
        self._analysis = analysis
        self._results: dict[int, Any] = {}
        self._wait: float | None = None
        chain.waves = analysis.waves
        chain.steps = [self._step(index, made) for index, made in enumerate(analysis.links)]
        if analysis.fallback is not None:
            self._fall_back(analysis.fallback)

    def _step(self, index: int, made: Link) -> Step:
        at, key = made.written, numbered_key("chain", self._chain.key, place=index)
        return Step(index=index, tool=made.tool.name, line=at.line, column=at.column, key=key)

    async def make(self, script: Script, *, wait: float | None, at_once: int) -> Chain:
        """Make the calls; what is recorded of the chain says how it ended, also for whoever lets go of it."""
        chain, clock, self._wait = self._chain, self._opened.parts.clock, wait
        begun, status = clock.monotonic(), _INTERRUPTED
        self._note(CHAIN_STARTED, status="started")
        try:
            await self._run(at_once)
            status = chain.status
        finally:
            chain.elapsed_ms = (clock.monotonic() - begun) * 1000
            self._note(CHAIN_ENDED, status=status)
        self._tell(script)
        return chain

    async def _run(self, at_once: int) -> None:
        made: list[tuple[int, ...]] = []
        waiting = list(self._analysis.waves)
        while waiting:
            waiting = self._still_holding(waiting)
            wave = waiting.pop(0)
            made.append(wave)
            self._chain.waves = (*made, *waiting)
            ended = await run_wave(wave, self._make, at_once=at_once)
            for found in ended.values():
                if isinstance(found, BaseException):
                    raise found
            if not all(isinstance(self._chain.steps[index].outcome, Succeeded) for index in wave):
                return

    def _still_holding(self, waiting: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The waves that are left; in sequence, as written, where declarations they rest on are no longer so."""
        left = sorted(index for wave in waiting for index in wave)
        if self._chain.mode_used == SEQ or all(self._is_as_it_was(index) for index in left):
            return waiting
        self._fall_back(_CHANGED)
        return list(one_by_one([left]))

    def _is_as_it_was(self, index: int) -> bool:
        tool = self._analysis.links[index].tool
        found = self._opened.parts.registry.snapshot.find(tool.name)
        return found is not None and found.definition_hash == tool.definition_hash

    def _fall_back(self, why: str) -> None:
        self._chain.mode_used, self._chain.fallback_to_seq, self._chain.fallback_reason = SEQ, True, why

    async def _make(self, index: int) -> Outcome:
        step, made = self._chain.steps[index], self._analysis.links[index]
        context = replace(self._context, chain_index=index, idempotency_key=None)
        try:
            # A copy for each call: what a handler does to its arguments is nothing to the calls after it.
            arguments = own_copy({name: look_up(value, self._results) for name, value in made.arguments})
        except NotThere as error:
            step.outcome = await self._refuse(step, context, str(error))
            return step.outcome
        step.outcome = await enter(
            self._opened, Call(made.tool.name, arguments, key=step.key), context, wait=self._wait
        )
        if isinstance(step.outcome, Succeeded):
            # As the ledger would give it back, so that a chain that goes on elsewhere goes on with the same values.
            self._results[index] = json_form(step.outcome.value)
        return step.outcome

    async def _refuse(self, step: Step, context: Context, message: str) -> Outcome:
        parts = self._opened.parts
        asked = as_asked(Call(step.tool, {}, key=step.key), context, None)
        return await record(parts, asked, refused(asked, "invalid_arguments", message, faults=(message,)))

    def _tell(self, script: Script) -> None:
        """Put in what the names stand for, and what stopped it."""
        chain = self._chain
        stopped = None if chain.ok else next(step for step in chain.steps if step.status == chain.status)
        if stopped is not None and stopped.outcome is not None:
            told = stopped.outcome.to_human()
            chain.error = f"call {stopped.index + 1} ({stopped.tool}, line {stopped.line}): {told}"
        for name, value in script.names.items():
            if all(index in self._results for index in results_in(value)):
                with suppress(NotThere):
                    chain.values[name] = look_up(value, self._results)

    def _note(self, event: str, **more: Any) -> None:
        note_chain(self._opened, self._chain, self._context, event, **more)


def note_chain(opened: Opened, chain: Chain, context: Context, event: str, **more: Any) -> None:
    """Record something of a chain. The calls have their own records, so that a store that fails stops those."""
    parts = opened.parts
    draft = Draft(
        type=event,
        time=parts.clock.now(),
        trace=context.trace_id,
        payload=who(context) | chain.record | more,
        redact=parts.striker,
    )
    with suppress(StoreError):
        parts.store.behind(draft)
