"""Resolving an Unknown: by the tool's `verify`, or by a person. Never by an agent, never by guessing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from callgate.errors import OutcomeConflict, OutcomeNotFound
from callgate.events.recordable import recordable_bytes
from callgate.events.vocabulary import RESOLVED
from callgate.ledger.transitions import Answer, Resolve, move
from callgate.model.attempt import Attempt
from callgate.model.event import Draft
from callgate.model.outcome import ErrorInfo
from callgate.model.person import is_own_agent, person_key
from callgate.pipeline.hooks import run_hook
from callgate.pipeline.recorded import struck_output
from callgate.pipeline.row_change import write_row
from callgate.pipeline.seal import open_blob
from callgate.pipeline.stored_outcome import error_body, read_outcome

if TYPE_CHECKING:
    from callgate.approvals.decide import Decider
    from callgate.model.attempt import AttemptKey
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Parts
    from callgate.ports import Transaction

_SECONDS = 30.0
_ANSWERS = frozenset({"happened", "absent", "cannot_tell"})


async def resolve_by_person(
    parts: Parts,
    key: AttemptKey,
    by: Decider,
    *,
    happened: bool,
    call_id: str | None = None,
    note: str = "",
    output: Any = None,
) -> Outcome:
    """A person looked and says whether it happened.

    Raises:
        OutcomeNotFound: The ledger has no such key.
        OutcomeConflict: There is nothing to resolve, it may still happen, the agent itself tried, or another call ran
            under the key than the one that was looked at.
    """
    if is_own_agent(by.name, key.principal) or not person_key(by.name):
        raise OutcomeConflict(f"{by.name or 'nobody'} cannot resolve this: it takes a person, not the agent that asked")
    body = _happened(struck_output(parts, output)[1]) if happened else _absent(key, by.name)
    fact = Resolve(happened=happened, by=by.name, now=parts.clock.now(), outcome=body, call_id=call_id)
    text = parts.striker.strike_text(note)
    return await _apply(parts, key, fact, {"by": by.name, "assurance": by.assurance.label, "note": text})


async def verify(parts: Parts, row: Attempt) -> str:
    """Ask the tool whether an unknown effect happened; the answer: happened, absent, cannot_tell."""
    tool = parts.registry.snapshot.find(row.tool)
    if tool is None or tool.hooks.verify is None or row.sealed_id is None:
        return "cannot_tell"
    if tool.definition_hash != row.definition_hash:
        return "cannot_tell"
    asked_at = parts.clock.now()
    answer = await _ask_tool(parts, tool, row)
    now = parts.clock.now()
    if answer == "happened":
        body = recordable_bytes({"side_effects": sorted(tool.effects)})
        fact = Resolve(happened=True, by="verify", now=now, outcome=body, call_id=row.call_id)
    elif answer == "absent":
        body = _absent(row.key, "verify")
        fact = Resolve(happened=False, by="verify", now=now, asked_at=asked_at, outcome=body, call_id=row.call_id)
    else:
        return "cannot_tell"
    try:
        await _apply(parts, row.key, fact, {"by": "verify", "answer": answer})
    except OutcomeConflict:
        return "cannot_tell"
    return answer


async def _ask_tool(parts: Parts, tool: Tool, row: Attempt) -> str:
    hook, sealed_id = tool.hooks.verify, row.sealed_id
    assert hook is not None  # noqa: S101 - asked by the caller
    assert sealed_id is not None  # noqa: S101 - as above
    blob = await parts.store.read(lambda reader: reader.sealed(sealed_id))
    if blob is None:
        return "cannot_tell"
    try:
        sealed = open_blob(parts, sealed_id, blob)
        answer = await run_hook(parts, tool, hook, sealed.arguments, row.key.key, seconds=_SECONDS)
    except Exception:  # noqa: BLE001 - a verify that fails cannot tell
        return "cannot_tell"
    # Whatever else it gives back may not even be comparable.
    return answer if isinstance(answer, str) and answer in _ANSWERS else "cannot_tell"


async def _apply(parts: Parts, key: AttemptKey, fact: Resolve, facts: dict[str, Any]) -> Outcome:
    def unit(tx: Transaction) -> tuple[Answer, Attempt]:
        row = tx.attempt(key)
        if row is None:
            message = f"the ledger has no key {key.key} of {key.principal} in session {key.session}"
            raise OutcomeNotFound(message)
        step = move(row, fact)
        if not step.changed or step.row is None:
            return step.answer, row
        payload = {"tool": row.tool, "key": key.key, "state": step.row.state.value, "was": row.cause, **facts}
        payload["ended_at"] = row.ended_at
        told = Draft(type=RESOLVED, time=fact.now, trace=row.trace_id, call=row.call_id, payload=payload)
        write_row(parts, tx, step.row, told, step.answer)
        return step.answer, step.row

    answer, row = await parts.store.write(unit)
    if answer is Answer.RUNNING:
        raise OutcomeConflict(f"{row.tool} may still take effect; *absent* does not count yet")
    if answer is Answer.STALE:
        raise OutcomeConflict(_nothing_to_resolve(row, fact))
    return read_outcome(row)


def _nothing_to_resolve(row: Attempt, fact: Resolve) -> str:
    key = row.key.key
    if fact.call_id not in {None, row.call_id}:
        return f"call {fact.call_id} is not the last one under key {key}, which is {row.call_id}: look at that one"
    if fact.call_id is None and row.open_question:
        return f"{row.tries} calls were made under key {key}: say that this is about the last one, {row.call_id}"
    return f"the outcome of key {key} is {row.state.value}; there is nothing to resolve"


def _happened(output: bytes) -> bytes:
    return recordable_bytes({"side_effects": [], "output": orjson.Fragment(output)})


def _absent(key: AttemptKey, by: str) -> bytes:
    error = ErrorInfo(
        code="handler_failed",
        message=f"it did not happen, says {by}",
        retryable=True,
        suggestion="It may be called again with the same key.",
    )
    return recordable_bytes({"side_effects": [], "error": error_body(error), "key": key.key})
