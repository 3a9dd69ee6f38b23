"""Step 4, recall: has the caller's key been used? Read only, and before anybody is asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import orjson

from callgate.events.vocabulary import DEDUPED
from callgate.ledger.transitions import Answer, look
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.outcome import Outcome
from callgate.model.pauses import pauses
from callgate.model.tool import Tool
from callgate.pipeline.authorize import Authorized
from callgate.pipeline.owners import bury, give_up, time_to_bury
from callgate.pipeline.parts import Parts
from callgate.pipeline.recorded import who
from callgate.pipeline.stopped import Stopped, refused
from callgate.pipeline.stored_outcome import read_outcome
from callgate.pipeline.time_limit import time_limit

_RUNNING = Answer.RUNNING
_CLAIMED = Answer.CLAIMED
_RECORDED = Answer.RECORDED
_CONFLICT = Answer.CONFLICT


def attempt_key(authorized: Authorized, key: str) -> AttemptKey:
    """The ledger's key for this call."""
    return AttemptKey(authorized.asked.context.principal, authorized.asked.context.session, key)


@dataclass(slots=True)
class Recalled:
    """A call that the ledger does not answer: it may go on."""

    authorized: Authorized


async def recall(parts: Parts, authorized: Authorized, *, looking: bool = False) -> Recalled:
    """The call, if it may go on; `looking` waits for nobody and gives nobody up.

    Raises:
        Stopped: The recorded outcome; or idempotency_conflict, in_flight, outcome_unknown.
    """
    asked = authorized.asked
    if not authorized.has_row:
        return Recalled(authorized)
    if asked.key is None and parts.settings.require_keys:
        message = f"{authorized.tool.name} changes something, and this gate wants a key for that: set idempotency_key"
        raise refused(asked, "invalid_arguments", message, tool=authorized.tool)
    # What a dead process was doing is unknown from its death on, and not from when somebody finds out.
    if not looking and time_to_bury(parts):
        await bury(parts)
    refuse_secrets(parts, authorized, asked.key)
    context, fingerprint = asked.context, authorized.fingerprint
    key = AttemptKey(context.principal, context.session, asked.key or "")
    since = parts.clock.now() - parts.settings.risk.repeat_window
    row, unresolved, authorized.repeated = await parts.store.peek(lambda reader: reader.past(key, fingerprint, since))
    if row is not None:
        await _meet_row(parts, authorized, row, looking=looking)
    if unresolved is not None and not authorized.tool.read_only:
        await _meet_unknown(parts, authorized, unresolved, looking=looking)
    return Recalled(authorized)


def refuse_secrets(parts: Parts, authorized: Authorized, key: str | None) -> None:
    """The ledger keeps a row under these names as they are, while events tell them struck: the two would not agree.

    Raises:
        Stopped: invalid_arguments.
    """
    context, striker = authorized.asked.context, parts.striker
    authorized.looked_through = striker.known
    names = (context.principal, context.session, key or "")
    # Mostly they are the names of calls before: looked through once.
    if not striker.suspects_shared(orjson.dumps(names)):
        return
    for what, name in zip(("principal", "session", "key"), names, strict=True):
        if striker.strike_text(name) != name:
            message = f"the {what} of this call is a secret, or looks like one, and would be kept openly; use another"
            raise refused(authorized.asked, "invalid_arguments", message, tool=authorized.tool)


def repeatable(tool: Tool) -> bool:
    """Whether running it twice does no more than running it once."""
    return tool.idempotent or tool.read_only


def only_reads(tool: Tool) -> bool:
    """Whether that is so only because it reads, and so no longer where something inside of it took effect."""
    return tool.read_only and not tool.idempotent


def met(authorized: Authorized, row: Attempt) -> Answer:
    """What a claim of this call would answer."""
    tool = authorized.tool
    return look(row, authorized.fingerprint, idempotent=repeatable(tool), only_reads=only_reads(tool))


async def meet(parts: Parts, authorized: Authorized, key: str, *, looking: bool = False) -> None:
    """Deal with whatever the ledger has under this key; return when the key is free to claim.

    Raises:
        Stopped: As `recall`.
    """
    row_key = attempt_key(authorized, key)
    row = await parts.store.peek(lambda reader: reader.attempt(row_key))
    if row is not None:
        await _meet_row(parts, authorized, row, looking=looking)


async def _meet_row(parts: Parts, authorized: Authorized, row: Attempt, *, looking: bool) -> None:
    answer = met(authorized, row)
    if answer is _CLAIMED:
        return
    if answer is _RUNNING and not looking and not authorized.asked.again:
        row = await _wait(parts, authorized, row)
        answer = met(authorized, row)
        if answer is _CLAIMED:
            return
    raise stopped_by(authorized, row, answer)


async def _wait(parts: Parts, authorized: Authorized, row: Attempt) -> Attempt:
    """Wait for a twin to end, up to the call's own limit; a twin whose process is gone becomes unknown."""
    limit = time_limit(
        authorized.tool, authorized.asked.context, parts.settings, per_call=authorized.asked.call.timeout
    )
    until = parts.clock.monotonic() + limit
    pause = pauses(0.002, 0.1)
    while True:
        if row.deadline is None and not parts.store.owner_alive(row.owner):
            await give_up(parts, row.owner)
        elif parts.clock.monotonic() >= until:
            return row
        else:
            await asyncio.sleep(next(pause))
        fresh = await _reread(parts, row.key)
        if fresh is None or met(authorized, fresh) is not _RUNNING:
            return fresh or row
        row = fresh


async def _reread(parts: Parts, key: AttemptKey) -> Attempt | None:
    return await parts.store.peek(lambda reader: reader.attempt(key))


async def _meet_unknown(parts: Parts, authorized: Authorized, found: Attempt, *, looking: bool) -> None:
    """An equal call whose outcome nobody knows: refused under another key, gone on with under its own.

    One that shall happen all the same is weighed as one that may happen twice.
    """
    if found.key.key == authorized.asked.key:
        return
    if authorized.asked.call.distinct:
        authorized.unknown = found.key.key
        return
    same = found.fingerprint == authorized.fingerprint
    if authorized.asked.key is None and authorized.tool.idempotent and same:
        # The same downstream key as before is what makes repeating it harmless.
        await meet(parts, authorized, found.key.key, looking=looking)
        authorized.asked.key = found.key.key
        return
    raise same_as_unknown(authorized, found)


def same_as_unknown(authorized: Authorized, row: Attempt) -> Stopped:
    """The refusal of a new key for a call whose equal may already have happened."""
    again = row.state is AttemptState.STARTED
    message = (
        f"an equal call of {row.tool} under key {row.key.key} has an unknown outcome"
        f"{' and is being tried again; wait for' if again else '; resolve'} that one first, "
        "or say distinct=True if this is meant to happen again"
    )
    details = {"unknown_key": row.key.key, "unknown_call": row.call_id}
    return refused(authorized.asked, "outcome_unknown", message, tool=authorized.tool, details=details)


def stopped_by(authorized: Authorized, row: Attempt, answer: Answer) -> Stopped:
    """The end of a call that met a row it cannot pass."""
    asked, key = authorized.asked, row.key.key
    if answer is _RECORDED:
        context = asked.context
        payload = {"tool": row.tool, "key": key, "original_call": row.call_id, **who(context)}
        outcome = read_outcome(row, call_id=asked.call_id, trace_id=context.trace_id, deduped=True)
        return Stopped(outcome, event=DEDUPED, payload=payload)
    if answer is _CONFLICT:
        message = f"key {key} was used for {row.tool} with other arguments; use a new key for a new call"
        return refused(asked, "idempotency_conflict", message, tool=authorized.tool, key=key)
    if answer is _RUNNING:
        message = f"a call with key {key} is still running"
        return refused(asked, "in_flight", message, tool=authorized.tool, key=key)
    message = (
        f"the last attempt of {row.tool} under key {key} ended without a known outcome ({row.cause}); resolve it first"
    )
    return refused(asked, "outcome_unknown", message, tool=authorized.tool, key=key)


async def recorded_outcome(parts: Parts, key: AttemptKey) -> Outcome | None:
    """What the ledger says of a key: None for a free one."""
    row = await parts.store.read(lambda reader: reader.attempt(key))
    if row is None or (row.state is AttemptState.FAILED and look(row, row.fingerprint, idempotent=False) is _CLAIMED):
        return None
    return read_outcome(row)
