"""Notices: the service behind `notify_self` and `gate.notices()`. Each is handed out once, whoever asks at once.

A notice belongs to the agent that left it, with the user it acts for. It waits for its session, or where it is to
outlive that, for any session of theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from callgate.errors import NoEffect
from callgate.events.vocabulary import SELF_NOTIFY, SELF_REMIND
from callgate.model.context import Context
from callgate.model.event import Draft
from callgate.model.ids import uuid7
from callgate.model.levels import Severity
from callgate.model.notice import INJECT_AT, Notice
from callgate.pipeline.shield import finish, landed
from callgate.ports import Clock, Document, Reader, Store, Transaction
from callgate.tools.documents import keep, kept, nameable, struck, under, whose

NOTICES = "notices"
REMINDER = "reminder"
SEVERITIES = {
    "low": Severity.DEBUG,
    "normal": Severity.INFO,
    "high": Severity.WARNING,
    "critical": Severity.ERROR,
}
_ANY_SESSION, _OF_SESSION = "any", "session"
_EVERYBODYS = Context().session
"""The session of whoever names none; it ends with its gate."""
_WAITING_AT_MOST = 100
_OVER_AFTER = 7 * 86400.0
"""Nobody says when a session ends; one that nobody came back to for so long has."""
_SWEPT = 200


class TooManyWait(NoEffect, ValueError):
    """So many notices wait already that another one would be lost among them; nothing was left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What somebody wants to leave."""

    message: str
    priority: str = "normal"
    category: str = "context"
    deliver_at: str = "next_turn"
    persist: bool = False
    """Whether it outlives its session."""


class Notices:
    """Notices of whoever asks."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def leave(self, context: Context, left: Left, *, call: str) -> Notice:
        """Keep a notice, and record its event in the same unit.

        Args:
            context: Who leaves it.
            left: What.
            call: The call that does.

        Raises:
            SecretName: Who leaves it has the name of a secret.
            TooManyWait: Nobody collects them.
            NotKept: The store could not take it.
        """
        nameable(principal=context.principal, user=context.user, session=context.session)
        notice_id, now = uuid7(), self._clock.now()
        where = self._place(context, persist=left.persist)

        def unit(tx: Transaction) -> Notice:
            if len(tx.documents(NOTICES, prefix=where, limit=_WAITING_AT_MOST)) == _WAITING_AT_MOST:
                raise TooManyWait(f"{_WAITING_AT_MOST} notices wait already; they go to the next turn that asks")
            draft = _draft(context, left, notice_id, call=call, now=now)
            tx.append(draft)
            notice = Notice(
                id=notice_id,
                message=struck(left.message),
                priority=left.priority,
                category=left.category,
                inject_at=INJECT_AT[left.deliver_at],
                time=now,
                event_id=tx.events(call=call, types=[draft.type])[-1].id,
                trace_id=context.trace_id,
                session=context.session,
                persistence_id=notice_id if left.persist else None,
            )
            keep(tx, NOTICES, f"{where}{notice_id}", asdict(notice))
            return notice

        return await kept(self._store, unit)

    async def collect(self, context: Context, *, at: str | None = None) -> tuple[Notice, ...]:
        """What waits for whoever asks, oldest first; from now on it waits no more.

        Args:
            context: Who asks.
            at: Only what is to be handed in there: immediate, turn_start or after_tool.

        Raises:
            StoreError: The store cannot be read or written.
        """
        places = [self._place(context, persist=persist) for persist in (True, False)]

        def waiting(reader: Reader) -> list[Document]:
            found = (each for where in places for each in reader.documents(NOTICES, prefix=where))
            return [each for each in found if at in (None, each.body["inject_at"])]

        def unit(tx: Transaction) -> list[Document]:
            found = waiting(tx)
            for each in found:
                tx.drop_document(NOTICES, each.key)
            return found

        if not await self._store.read(waiting):
            return ()
        work = self._store.submit(unit)
        if await landed(work):
            # Nobody is there any more to be handed them.
            await finish(self._put_back(work.result()))
            raise asyncio.CancelledError
        return tuple(sorted((Notice(**each.body) for each in work.result()), key=lambda notice: notice.id))

    async def sweep(self) -> int:
        """Forget what waits for sessions that are over; how many."""
        swept, last = 0, ""
        while page := await self._store.read(
            lambda reader, last=last: reader.documents(NOTICES, prefix=under(_OF_SESSION), after=last, limit=_SWEPT)
        ):
            over, last = list(self._over(page)), page[-1].key
            swept += len(over)
            if over:
                await self._store.write(lambda tx, over=over: [tx.drop_document(NOTICES, key) for key in over])
        return swept

    async def _put_back(self, documents: list[Document]) -> None:
        await self._store.write(lambda tx: [tx.put_document(NOTICES, each.key, each.body) for each in documents])

    def _over(self, documents: list[Document]) -> Iterator[str]:
        now = self._clock.now()
        for each in documents:
            owner = each.key.split("/")[1]
            if now - each.body["time"] > _OVER_AFTER or (owner and not self._store.owner_alive(owner)):
                yield each.key

    def _place(self, context: Context, *, persist: bool) -> str:
        asker = (context.principal, *whose(context))
        if persist:
            return under(_ANY_SESSION, *asker)
        # The session of whoever names none is a different one in every gate.
        owner = self._store.owner if context.session == _EVERYBODYS else ""
        return under(_OF_SESSION, owner, context.session, *asker)


def _draft(context: Context, left: Left, notice_id: str, *, call: str, now: float) -> Draft:  # noqa: PLR0917
    facts = {
        "principal": context.principal,
        "user": context.user,
        "session": context.session,
        "message": left.message,
        "priority": left.priority,
        "category": left.category,
        "deliver_at": left.deliver_at,
        "inject_at": INJECT_AT[left.deliver_at],
        "persist_cross_session": left.persist,
        "persistence_id": notice_id if left.persist else None,
    }
    return Draft(
        type=SELF_REMIND if left.category == REMINDER else SELF_NOTIFY,
        time=now,
        trace=context.trace_id,
        call=call,
        severity=SEVERITIES[left.priority],
        payload=struck(facts),
    )
