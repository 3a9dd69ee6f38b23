"""Judging without running: steps 1 to 6 for a tool its host runs, and the host's report that settles it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.errors import OutcomeConflict, OutcomeNotFound, StoreError
from callgate.events.vocabulary import ATTEMPTED, DEDUPED, FAILED, SETTLED_LATE, SUCCEEDED, UNKNOWN
from callgate.ledger.transitions import Answer, Settle, move
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.event import Draft
from callgate.model.levels import Category, Happened, Origin, Severity
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Succeeded
from callgate.pipeline.pipeline import permit_or_stop
from callgate.pipeline.record import record
from callgate.pipeline.recorded import json_bytes, redacted_view, struck_output
from callgate.pipeline.row_change import write_row
from callgate.pipeline.seal import unseal
from callgate.pipeline.stopped import Stopped, refused
from callgate.pipeline.stored_outcome import read_outcome, recorded_body, stored

if TYPE_CHECKING:
    from callgate.model.decision import Decision
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Asked, Parts
    from callgate.ports import Reader, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether the host may run its tool. `id` is what `report` takes."""

    id: str
    allowed: bool
    decision: Decision | None
    outcome: Outcome | None = None
    """What to tell the model when it is not allowed."""
    deadline: float | None = None
    """Seconds since the epoch; silence until then becomes Unknown."""
    key: str | None = None
    edited: dict[str, Any] | None = None
    """What the host has to run it with instead, where a person changed the arguments."""


async def judge(parts: Parts, asked: Asked) -> Judgement:
    """Decide and write the intent; the host runs it."""
    try:
        _need_host(parts, asked)
        permit = await permit_or_stop(parts, asked)
    except (Stopped, StoreError) as stop:
        before = await _said_before(parts, asked, stop)
        if before is not None:
            return before
        outcome = await record(parts, asked, stop)
        return Judgement(id=asked.call_id, allowed=False, decision=outcome.decision, outcome=outcome, key=outcome.key)
    deadline = permit.row.deadline if permit.row is not None else None
    return Judgement(
        id=asked.call_id,
        allowed=True,
        decision=permit.decision,
        deadline=deadline,
        key=permit.key,
        edited=dict(permit.arguments) if permit.edited else None,
    )


async def _said_before(parts: Parts, asked: Asked, stop: Stopped | StoreError) -> Judgement | None:
    """The yes to this very use, while its host has not said how it ended: two hooks may ask about one."""
    if isinstance(stop, StoreError) or not asked.again or asked.key is None:
        return None
    if stop.outcome.error is None or stop.outcome.error.code != "in_flight":
        return None
    key = AttemptKey(asked.context.principal, asked.context.session, asked.key)
    row = await parts.store.read(lambda reader: reader.attempt(key))
    # A person's yes is for one: a use with another id may have taken it.
    if row is None or row.state is not AttemptState.STARTED or row.approval_id is not None:
        return None
    if (row.deadline or 0.0) <= parts.clock.now():  # pragma: no cover - the moment between its end and its burial
        return None
    payload = {"tool": row.tool, "key": row.key.key, "original_call": row.call_id}
    await record(parts, asked, Stopped(stop.outcome, event=DEDUPED, payload=payload))
    return Judgement(id=row.call_id, allowed=True, decision=None, deadline=row.deadline, key=row.key.key)


def _need_host(parts: Parts, asked: Asked) -> None:
    """What the gate can run itself is called, and not judged: else somebody could say of it that it ran.

    Raises:
        Stopped: tool_unavailable.
    """
    tool = _tool_of(parts, asked.call.tool)
    if tool is not None and tool.handler is not None and tool.source is not Origin.HOST:
        text = f"{tool.name} is run by the gate and by nobody else: call it instead of judging it"
        raise refused(asked, "tool_unavailable", text, tool=tool)


def _tool_of(parts: Parts, name: str) -> Tool | None:
    return parts.unlisted.get(name) or parts.registry.snapshot.find(name)


async def report(parts: Parts, judgement_id: str, *, ok: bool, output: Any = None, error: str | None = None) -> Outcome:
    """What the host says became of a judged call.

    Raises:
        OutcomeNotFound: No judged call has that id.
        OutcomeConflict: It was settled otherwise already.
        StoreError: The record could not be written; report again.
    """
    row = await parts.store.read(lambda reader: reader.attempt_of_call(judgement_id) or _earlier(reader, judgement_id))
    if row is None or not await _was_judged(parts, judgement_id):
        message = f"no judged call has the id {judgement_id}"
        raise OutcomeNotFound(message)
    outcome = _reported(parts, row, ok=ok, output=output, error=error)
    now = parts.clock.now()
    fact = Settle(
        call_id=row.call_id,
        owner=row.owner,
        fence=row.fence,
        state=AttemptState.SUCCEEDED if ok else AttemptState.FAILED,
        now=now,
        happened=None if ok else outcome.happened if isinstance(outcome, Failed) else Happened.POSSIBLE,
        outcome=stored(outcome, json_bytes(outcome.output)),
    )

    def unit(tx: Transaction) -> tuple[Answer, Attempt | None]:
        step = move(tx.attempt(row.key), fact)
        if step.changed and step.row is not None:
            late = step.answer is Answer.LATE
            told = _closing(parts, step.row, outcome, now, SETTLED_LATE if late else None)
            write_row(parts, tx, step.row, told, step.answer)
        elif step.row is not None and step.row.call_id != row.call_id and not _told_late(tx, row):
            # The key is another use's by now: what became of this one is a fact all the same.
            tx.append(_closing(parts, row, outcome, now, SETTLED_LATE))
        return step.answer, step.row

    answer, fresh = await parts.store.write(unit)
    if answer is Answer.STALE:
        if fresh is not None and fresh.call_id != row.call_id:
            return outcome
        if fresh is not None and _says(fresh, fact):
            return read_outcome(fresh)
        state = fresh.state.value if fresh is not None else "gone"
        raise OutcomeConflict(f"{row.tool} under key {row.key.key} is {state} already; the report came too late")
    return outcome if fresh is None or fresh.state is fact.state else read_outcome(fresh)


def _earlier(reader: Reader, call_id: str) -> Attempt | None:
    """A use whose key another has taken since, as the events and the key's row have it."""
    for event in reader.events(call=call_id, types=(ATTEMPTED,), limit=1):
        said = event.payload or {}
        names = [said.get(name) for name in AttemptKey._fields]
        row = reader.attempt(AttemptKey(*map(str, names))) if None not in names else None
        if row is not None:
            return row._replace(call_id=call_id, trace_id=event.trace, started_at=event.time, happened=None)
    return None


def _told_late(tx: Transaction, row: Attempt) -> bool:
    """Whether its late end is told already: a host that was not answered reports again."""
    return bool(tx.events(call=row.call_id, types=(SETTLED_LATE,), limit=1))


def _says(row: Attempt, fact: Settle) -> bool:
    """Whether the row says of this call what the report does: a host that was not answered reports again."""
    if (row.call_id, row.state, row.happened) != (fact.call_id, fact.state, fact.happened):
        return False
    told = (recorded_body(each) for each in (row, row._replace(outcome=fact.outcome)))
    one, other = ({name: value for name, value in body.items() if name != "duration_ms"} for body in told)
    return one == other


async def _was_judged(parts: Parts, call_id: str) -> bool:
    """Whether a host runs it. What the gate itself runs is settled by nobody's word."""
    # A judged call is sealed under its own id.
    sealed = await unseal(parts, call_id)
    return sealed is not None and sealed.extra.get("judged") is True


def _reported(parts: Parts, row: Attempt, *, ok: bool, output: Any, error: str | None) -> Outcome:
    common: dict[str, Any] = {"tool": row.tool, "call_id": row.call_id, "trace_id": row.trace_id, "key": row.key.key}
    common["duration_ms"] = round((parts.clock.now() - row.started_at) * 1000, 3)
    if ok:
        return Succeeded(value=struck_output(parts, output)[0], **common)
    text = parts.striker.strike_text(error or f"{row.tool} failed at its host")
    info = ErrorInfo(code="handler_failed", message=text, category=Category.RUNTIME, tool=row.tool)
    tool = _tool_of(parts, row.tool)
    # What was judged may have become another tool since, whose word does not count for it.
    only_read = tool is not None and tool.read_only and tool.definition_hash == row.definition_hash
    return Failed(error=info, happened=Happened.NONE if only_read else Happened.POSSIBLE, **common)


def _shown_output(parts: Parts, row: Attempt, outcome: Outcome) -> Any:
    """What the event keeps of the output. What may be shown of it, the tool that was judged says, and nobody else."""
    tool = _tool_of(parts, row.tool)
    if tool is None or tool.definition_hash != row.definition_hash:
        return "<withheld: the tool that was judged is gone, and with it what may be recorded of its output>"
    return redacted_view(tool, outcome.output)


def _closing(parts: Parts, row: Attempt, outcome: Outcome, now: float, event: str | None) -> Draft:
    payload: dict[str, Any] = {"tool": row.tool, "duration_ms": outcome.duration_ms, "reported": True}
    if outcome.error is None:
        payload["output"] = _shown_output(parts, row, outcome)
    else:
        payload |= {"error": outcome.error.to_json(), "effect": (row.happened or Happened.POSSIBLE).value}
    kind = event or (SUCCEEDED if outcome.ok else FAILED)
    if event is None and row.state is AttemptState.UNKNOWN:
        # It failed, and a use before it under this key may have taken effect.
        kind, payload["cause"] = UNKNOWN, row.cause
    severity = Severity.DEBUG if outcome.ok else Severity.WARNING
    return Draft(type=kind, time=now, trace=row.trace_id, call=row.call_id, severity=severity, payload=payload)
