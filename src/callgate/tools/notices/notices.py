"""Notices: the service behind `notify_self` and `gate.notices()`. Each is handed out once, whoever asks at once.

A notice belongs to the agent that left it, with the user it acts for. It waits for its session; where it is to outlive
that, for any session of theirs once its own is not at work any more: every gate in which somebody came to it is
closed, or nobody came to it for an hour. Who comes to a session, to leave a notice or to ask for them, is written down
beside what waits, and for each gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from callgate.errors import NoEffect
from callgate.events.vocabulary import SELF_NOTIFY, SELF_REMIND
from callgate.model.context import Context
from callgate.model.event import Draft
from callgate.model.ids import uuid7
from callgate.model.levels import Severity
from callgate.model.notice import INJECT_AT, Notice, Waiting
from callgate.pipeline.shield import finish, landed
from callgate.ports import Clock, Document, Reader, Store, Transaction
from callgate.tools.documents import SecretName, keep, kept, nameable, place, struck, under, whose

NOTICES = "notices"
REMINDER = "reminder"
SEVERITIES = {
    "low": Severity.DEBUG,
    "normal": Severity.INFO,
    "high": Severity.WARNING,
    "critical": Severity.ERROR,
}
_ANY_SESSION, _OF_SESSION, _SERVED = "any", "session", "served"
_EVERYBODYS = Context().session
"""The session of whoever names none; it ends with its gate."""
_WAITING_AT_MOST = 100
_OVER_AFTER = 7 * 86400.0
"""Nobody says when a session ends; one that nobody came back to for so long has."""
_AT_WORK = 3600.0
"""How long a session counts as at work after somebody came to it, while that gate is open."""
_NOTED_EVERY = 60.0
"""Coming to a session is written down so often: asking is done in every turn."""
_SEEN, _SEEN_BY = "seen", "seen_by"
"""When somebody last came to the session of a notice, and in which gate."""
_AT_ONCE = 200


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


class _Waiting(NamedTuple):
    """What waits for whoever asks."""

    due: list[Document]
    """To be handed out now, oldest first."""
    on: list[Document]
    """What of their session waits on."""
    news: bool
    """Whether it is worth writing down that somebody came to their session."""


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
        lasting_place, own_place = self._places(context)
        where = lasting_place if left.persist else own_place

        def unit(tx: Transaction) -> Notice:
            own, others = self._of_session(tx, context)
            self._note(tx, own)
            self._note_coming(tx, context)
            if len(own) + (len(others) if left.persist else 0) >= _WAITING_AT_MOST:
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
            keep(tx, NOTICES, f"{where}{notice_id}", asdict(notice) | self._now())
            return notice

        return await kept(self._store, unit)

    async def collect(self, context: Context, *, at: str | None = None) -> tuple[Notice, ...]:
        """What waits for whoever asks, oldest first and at most 100 at once; from now on it waits no more.

        Args:
            context: Who asks.
            at: Only what is to be handed in there: immediate, turn_start or after_tool.

        Raises:
            StoreError: The store cannot be read or written.
        """

        def waiting(reader: Reader) -> _Waiting:
            return self._waiting(reader, context, at=at)

        def unit(tx: Transaction) -> list[Document]:
            found = waiting(tx)
            for each in found.due:
                tx.drop_document(NOTICES, each.key)
            self._note(tx, found.on)
            self._note_coming(tx, context)
            return found.due

        found = await self._store.read(waiting)
        if not found.due and not found.news:
            return ()
        work = self._store.submit(unit)
        if await landed(work):
            # Nobody is there any more to be handed them.
            await finish(self._put_back(work.result()))
            raise asyncio.CancelledError
        return tuple(_notice(each) for each in work.result())

    async def look(self) -> list[Waiting]:
        """What waits, for whomever, oldest first. It goes on waiting, and nobody has come to any session.

        Raises:
            StoreError: The store cannot be read.
        """
        lasting = [each async for each in self._all(under(_ANY_SESSION))]
        own = [each async for each in self._all(under(_OF_SESSION)) if not self._is_over(each)]
        return sorted(map(_of, lasting + own), key=lambda each: each.notice.id)

    async def sweep(self) -> int:
        """Forget what waits for sessions that are over, how many; and who came to those that are not at work."""
        await self._sweep(under(_SERVED), lambda coming: not self._at_work(coming))
        return await self._sweep(under(_OF_SESSION), self._is_over)

    async def _sweep(self, prefix: str, over: Callable[[Document], bool]) -> int:
        keys = [each.key async for each in self._all(prefix) if over(each)]
        for first in range(0, len(keys), _AT_ONCE):
            some = keys[first : first + _AT_ONCE]
            await self._store.write(lambda tx, some=some: [tx.drop_document(NOTICES, key) for key in some])
        return len(keys)

    async def _all(self, prefix: str) -> AsyncIterator[Document]:
        last = ""
        while page := await self._store.read(
            lambda reader, last=last: reader.documents(NOTICES, prefix=prefix, after=last, limit=_AT_ONCE)
        ):
            for each in page:
                yield each
            last = page[-1].key

    async def _put_back(self, documents: list[Document]) -> None:
        await self._store.write(lambda tx: [tx.put_document(NOTICES, each.key, each.body) for each in documents])

    def _waiting(self, reader: Reader, context: Context, *, at: str | None) -> _Waiting:
        own, others = self._of_session(reader, context)
        others = [each for each in others if not self._at_work(each)]
        served = self._served(reader, context) if others else set[str]()
        found = own + [each for each in others if each.body["session"] not in served]
        found = [each for each in found if at in (None, each.body["inject_at"])]
        due = sorted(found, key=lambda each: each.body["id"])[:_WAITING_AT_MOST]
        handed = {each.key for each in due}
        on = [each for each in own if each.key not in handed]
        return _Waiting(due, on, any(map(self._is_news, on)) or self._is_new_coming(reader, context))

    def _served(self, reader: Reader, context: Context) -> set[str]:
        """Sessions of whoever asks that are at work in any gate."""
        comings = reader.documents(NOTICES, prefix=under(_SERVED, context.principal, *whose(context)))
        return {each.body["session"] for each in comings if self._at_work(each)}

    def _of_session(self, reader: Reader, context: Context) -> tuple[list[Document], list[Document]]:
        """What waits for the session of whoever asks, and lasting ones of their other sessions."""
        lasting, own = (reader.documents(NOTICES, prefix=where) for where in self._places(context))
        own += [each for each in lasting if self._is_of(context, each)]
        return own, [each for each in lasting if not self._is_of(context, each)]

    def _note(self, tx: Transaction, documents: list[Document]) -> None:
        """Write down that somebody came to the session of these."""
        for each in documents:
            if self._is_news(each):
                tx.put_document(NOTICES, each.key, each.body | self._now())

    def _note_coming(self, tx: Transaction, context: Context) -> None:
        """Write down that somebody came to the session in this gate, where it is a session of several gates."""
        if self._is_new_coming(tx, context):
            tx.put_document(NOTICES, self._coming(context), {"session": context.session} | self._now())

    def _is_new_coming(self, reader: Reader, context: Context) -> bool:
        if context.session == _EVERYBODYS or not _is_nameable(context):
            return False
        body = reader.document(NOTICES, self._coming(context))
        return body is None or self._clock.now() - body[_SEEN] > _NOTED_EVERY

    def _coming(self, context: Context) -> str:
        return place(_SERVED, context.principal, *whose(context), context.session, self._store.owner)

    def _is_of(self, context: Context, lasting: Document) -> bool:
        """Whether a lasting notice was left in the session of whoever asks."""
        named = context.session != _EVERYBODYS
        return lasting.body["session"] == context.session and (named or _seen_by(lasting) == self._store.owner)

    def _at_work(self, document: Document) -> bool:
        """Whether who came last is there still: to the session of a lasting notice, or in one gate."""
        owner = _seen_by(document)
        return bool(owner) and self._store.owner_alive(owner) and self._clock.now() - _seen(document) <= _AT_WORK

    def _is_news(self, document: Document) -> bool:
        """Whether it is worth writing down that somebody came to its session."""
        return _seen_by(document) != self._store.owner or self._clock.now() - _seen(document) > _NOTED_EVERY

    def _now(self) -> dict[str, Any]:
        return {_SEEN: self._clock.now(), _SEEN_BY: self._store.owner}

    def _is_over(self, document: Document) -> bool:
        """Whether the session that it waits for is."""
        owner = document.key.split("/")[1]
        return self._clock.now() - _seen(document) > _OVER_AFTER or (bool(owner) and not self._store.owner_alive(owner))

    def _places(self, context: Context) -> tuple[str, str]:
        """Where lasting notices of whoever asks wait, and where those of this session do."""
        asker = (context.principal, *whose(context))
        # The session of whoever names none is a different one in every gate.
        owner = self._store.owner if context.session == _EVERYBODYS else ""
        return under(_ANY_SESSION, *asker), under(_OF_SESSION, owner, context.session, *asker)


def _is_nameable(context: Context) -> bool:
    try:
        nameable(principal=context.principal, user=context.user, session=context.session)
    except SecretName:
        return False
    return True


def _seen(document: Document) -> float:
    return document.body[_SEEN] if _SEEN in document.body else document.body["time"]


def _seen_by(document: Document) -> str:
    return document.body.get(_SEEN_BY, "")


def _notice(document: Document) -> Notice:
    return Notice(**{name: value for name, value in document.body.items() if name not in (_SEEN, _SEEN_BY)})


def _of(document: Document) -> Waiting:
    """For whom it waits, as its key has it: agent, kind and name of the one it acts for, and the notice's id."""
    principal, kind, name, _ = map(unquote, document.key.split("/")[-4:])
    return Waiting(notice=_notice(document), principal=principal, user=name if kind == "user" else None)


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
