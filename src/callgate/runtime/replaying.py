"""Replaying: the face of a gate that decides recorded calls anew, by the policy as it is. Runs and records nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.errors import StoreError, ToolNotFoundError
from callgate.model.call import Call
from callgate.model.ids import uuid7
from callgate.model.levels import Verdict
from callgate.pipeline.explain import would_decide
from callgate.pipeline.looking import authorized_looking
from callgate.pipeline.parts import Asked
from callgate.pipeline.seal import Sealed, open_blob
from callgate.pipeline.stopped import Stopped
from callgate.runtime.reviewing import Reviewing

if TYPE_CHECKING:
    from callgate.model.decision import Decision
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader

_AT_A_STRETCH = 20
"""Calls that are decided before others have their turn."""
_NO_DECISION = frozenset({"deduped", "resumed"})
"""A call that the ledger answered, and one that a later call went on with: the other one tells what was decided."""
_NOT_KEPT = (
    "its exact arguments were not kept: only those of calls that may change something, or were asked about, are sealed"
)
_NOT_BEGUN = {
    "refused": "it was refused, so its exact arguments were not sealed",
    "previewed": "it was only shown, so its exact arguments were not sealed",
}
_NO_TOOL = "no tool of that name is here"
_GONE = "its sealed arguments are gone: the time they are kept for is over, or they were erased"
_NOT_HERE = frozenset({"tool_not_found", "tool_unavailable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A recorded call, and what would be decided about it now."""

    call: str
    tool: str
    asked_at: float
    was: str | None
    """What was decided then; in observe mode, what would have been."""
    now: str | None
    """allow, confirm, preview or deny; None where it is undecidable."""
    why: str
    """What decides, or why that is undecidable."""
    unasked: bool = False
    """Whether it ran in observe mode though somebody should have been asked."""

    @property
    def changed(self) -> bool:
        """Whether it would be decided otherwise."""
        return self.now is not None and self.was is not None and self.now != self.was


class Replaying(Reviewing):
    """Recorded calls under the present policy."""

    async def replay(
        self, *, since: float | None = None, until: float | None = None, limit: int | None = None
    ) -> list[Replayed]:
        """Decide again what was called in that time, oldest first; with `limit`, of the newest so many calls.

        An observe mode does not count.

        Where the exact arguments were not kept, or are gone, or their tool is not here, it is undecidable, and that
        is what is said.
        """
        parts = self._open().parts
        made: list[Replayed] = []
        for number, each in enumerate(await self.calls_since(since or 0.0, until=until, limit=limit), 1):
            if each["status"] not in _NO_DECISION:
                made.append(await _again(parts, each))
            if number % _AT_A_STRETCH == 0:
                # Deciding waits for nothing, and everybody else's calls are on the same loop.
                await asyncio.sleep(0)
        return made


async def _again(parts: Parts, entry: dict[str, Any]) -> Replayed:
    now, why = await _decided(parts, entry)
    return Replayed(
        call=entry["call"],
        tool=entry.get("tool", ""),
        asked_at=entry["asked_at"],
        was=entry.get("observed") or entry.get("verdict") or ("deny" if entry["status"] == "refused" else None),
        now=now,
        why=parts.striker.strike_text(why),
        unasked=entry.get("observed") is not None,
    )


async def _decided(parts: Parts, entry: dict[str, Any]) -> tuple[str | None, str]:
    try:
        sealed = await parts.store.read(lambda reader: _sealed(parts, reader, entry))
    except StoreError as error:
        return None, str(error)
    if isinstance(sealed, str):
        return None, sealed
    call = Call(entry.get("tool", ""), sealed.extra.get("asked", sealed.arguments))
    # Whether its host runs it or we do is no question here.
    asked = Asked(call, sealed.context, uuid7(), None, None, judged=True)
    try:
        authorized = await authorized_looking(parts, asked)
        # It would count as a repetition of itself.
        authorized.repeated = False
        decision = await would_decide(parts, authorized)
    except Stopped as stop:
        error = stop.outcome.error
        assert error is not None  # noqa: S101 - nothing here but a refusal stops
        return (None if error.code in _NOT_HERE else Verdict.DENY.label), error.message
    return _verdict(decision)


def _verdict(decision: Decision) -> tuple[str, str]:
    verdict = decision.verdict if decision.observed is None else decision.observed
    speaking = [reason.text for reason in decision.reasons if reason.verdict is verdict]
    return verdict.label, "; ".join(dict.fromkeys(speaking))


def _sealed(parts: Parts, reader: Reader, entry: dict[str, Any]) -> Sealed | str:
    """The exact call: where it was attempted, with its row; else with the question about it. Or why there is none."""
    row = reader.attempt_of_call(entry["call"])
    approval = reader.approval(entry["approval_id"]) if entry.get("approval_id") else None
    known = [each for each in (row and row.sealed_id, approval and approval.sealed_id) if each]
    for sealed_id in known:
        blob = reader.sealed(sealed_id)
        if blob is not None:
            return open_blob(parts, sealed_id, blob)
    return _GONE if known else _never_sealed(parts, entry)


def _never_sealed(parts: Parts, entry: dict[str, Any]) -> str:
    never_there = entry.get("error_code") == ToolNotFoundError.code
    if never_there and parts.registry.snapshot.find(entry.get("tool", "")) is None:
        return _NO_TOOL
    return _NOT_BEGUN.get(entry["status"], _NOT_KEPT)
