"""The way a run took: what a skill or a tree went past although it had not succeeded, told again when it is run again.

A call that failed without effect, was refused or was let go leaves its key free. Whoever went on past it took another
way for that reason; were it made in a second run, that run would do what the first one did otherwise. So the ends
that a run goes past are kept, durable before the next call. The last one is not: nothing came after it, and a run
that goes on may try it anew.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.errors import StoreError
from callgate.events.vocabulary import DEDUPED
from callgate.ledger.transitions import Answer, look
from callgate.model.attempt import AttemptKey
from callgate.model.canonical import dumps, loads
from callgate.model.levels import Happened
from callgate.model.outcome import ErrorInfo, Failed, Outcome, Refused, Unknown
from callgate.model.step_key import step_key
from callgate.pipeline.record import record
from callgate.pipeline.stopped import Stopped, refused
from callgate.pipeline.stored_outcome import read_outcome
from callgate.runtime.entering import as_asked, enter

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.ports import Reader, Transaction
    from callgate.runtime.opened import Opened

_CONFLICT = "idempotency_conflict"


class End(NamedTuple):
    """How a call ended that left its key free."""

    asked: str
    """Digest of the tool and its arguments; only the same call is told the same."""
    code: str | None = None
    """Of a refusal; None where the ledger has what there is to tell."""
    message: str = ""


Ends = defaultdict[str, list[End]]
"""Under each key, in the order in which a run met them."""


class WayTaken:
    """The calls of one run, on the gate's loop.

    Args:
        opened: The gate.
        flow: What kind of flow it is.
        who: Who asks.
        key: The key or the name of the run.
    """

    def __init__(self, opened: Opened, flow: str, who: Context, *, key: str) -> None:
        self._opened = opened
        self._name = step_key("way", flow, who.principal, who.session, key)
        self._left: list[tuple[str, End]] = []
        """Ends of this run that nothing has gone past yet."""
        self._before: Ends | None = None
        """Those that an earlier run went past, as far as they were not told again; None until they are read."""
        self._one = asyncio.Lock()

    async def call(self, call: Call, context: Context, *, wait: float | None = None) -> Outcome:
        """Make the next call of the run, or tell how it ended before."""
        opened, parts = self._opened, self._opened.parts
        assert call.key is not None  # noqa: S101 - the calls of a run have keys
        try:
            ends = await self._go_on()
            end, row = await self._met(ends[call.key], AttemptKey(context.principal, context.session, call.key))
        except StoreError as error:
            outcome = await record(parts, as_asked(call, context, wait), error)
        else:
            if end is not None:
                return await enter(opened, call, context, core=partial(self._again, end, row))
            outcome = await enter(opened, call, context, wait=wait)
        if _leaves_free(outcome):
            self._leave(call, outcome)
        return outcome

    def let_go(self, call: Call) -> None:
        """The run lets go of a call that has not ended. From any thread."""
        self._leave(call, None)

    def _leave(self, call: Call, outcome: Outcome | None) -> None:
        error = outcome.error if isinstance(outcome, Refused) else None
        asked = _digest(call)
        if call.key is not None and asked is not None:
            end = End(asked) if error is None else End(asked, error.code, error.message)
            self._left.append((call.key, end))

    async def _go_on(self) -> Ends:
        """What an earlier run went past; from here on, this one has gone past whatever it met so far."""
        if self._before is None or self._left:
            async with self._one:
                if self._before is None:
                    self._before = await self._opened.parts.store.peek(self._kept)
                if self._left:
                    met = tuple(self._left)
                    await self._opened.parts.store.write(partial(self._keep, met))
                    del self._left[: len(met)]
        return self._before

    async def _met(self, ends: list[End], key: AttemptKey) -> tuple[End | None, Attempt | None]:
        """How the call ended before, if its key is still free; and the row of its last attempt."""
        if not ends:
            return None, None
        row = await self._opened.parts.store.peek(lambda reader: reader.attempt(key))
        free = row is None or look(row, row.fingerprint, idempotent=False) is Answer.CLAIMED
        return (ends.pop(0), row) if free else (None, row)

    async def _again(self, end: End, row: Attempt | None, call: Call, context: Context) -> Outcome:
        parts = self._opened.parts
        asked = as_asked(call, context, None)
        if end.asked != _digest(call):
            message = f"key {call.key} was used for another call, which an earlier run went past; use a new key"
            return await record(parts, asked, refused(asked, _CONFLICT, message))
        if end.code is not None:
            return await record(parts, asked, refused(asked, end.code, end.message))
        payload = {"tool": call.tool, "key": call.key}
        if row is not None:
            told = read_outcome(row, call_id=asked.call_id, trace_id=context.trace_id, deduped=True)
            payload["original_call"] = row.call_id
        else:
            told = _let_go(call, asked.call_id, context)
        return await record(parts, asked, Stopped(told, event=DEDUPED, payload=payload))

    def _kept(self, reader: Reader) -> Ends:
        blob = reader.sealed(self._name)
        ends: Ends = defaultdict(list)
        if blob is not None:
            body: dict[str, Any] = loads(self._opened.parts.keys.unseal(blob, bound_to=self._name.encode()))
            ends.update((key, [End(*each) for each in kept]) for key, kept in body.items())
        return ends

    def _keep(self, met: tuple[tuple[str, End], ...], tx: Transaction) -> None:
        ends = self._kept(tx)
        for key, end in met:
            ends[key].append(end)
        text = dumps({key: [list(end) for end in kept] for key, kept in ends.items()})
        # For as long as the ledger's rows, which are what it is about.
        tx.put_sealed(self._name, self._opened.parts.keys.seal(text, bound_to=self._name.encode()), keep_until=None)


def _leaves_free(outcome: Outcome) -> bool:
    """Whether the same call could be made under its key, now or once somebody has looked; a question is no end."""
    if isinstance(outcome, Failed):
        return outcome.happened is Happened.NONE
    if isinstance(outcome, Refused):
        return outcome.error is None or outcome.error.code != _CONFLICT
    return isinstance(outcome, Unknown)


def _let_go(call: Call, call_id: str, context: Context) -> Failed:
    text = f"an earlier run let go of {call.tool} and went on without it"
    error = ErrorInfo(code="cancelled", message=text, tool=call.tool)
    return Failed(
        tool=call.tool,
        call_id=call_id,
        trace_id=context.trace_id,
        key=call.key,
        error=error,
        happened=Happened.NONE,
        deduped=True,
    )


def _digest(call: Call) -> str | None:
    """None for what is no JSON: that is refused for what it is, however often it is asked for."""
    try:
        return hashlib.sha256(dumps([call.tool, dict(call.arguments)])).hexdigest()
    except Exception:  # noqa: BLE001 - arguments may be objects of anybody's class
        return None
