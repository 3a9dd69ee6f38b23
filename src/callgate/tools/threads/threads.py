"""Threads: the service behind the tools. Entries in the store, numbered without a gap whoever pushes at once.

An entry lies under its owner's own count, so that what is new is found by going on from the last number; a thread has
a place for each of its entries that names that count.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from callgate.errors import NoEffect, NothingThere
from callgate.model.ids import uuid7
from callgate.ports import Clock, Document, Reader, Store, Transaction
from callgate.tools.documents import keep, kept, nameable, place, struck, under
from callgate.tools.moments import moment
from callgate.tools.threads.words import Indexed, WordIndex

THREADS = "threads"
ENTRIES = "thread_entries"
PLACES = "thread_places"
PUSHES = "thread_pushes"

ACTIVE = "active"
ARCHIVED = "archived"

Body = dict[str, Any]
Owner = tuple[str, ...]
"""For whom threads are kept; the beginning of every place."""

_AT_ONCE = 100
"""Entries that are read where everybody waits."""
_PAGE = 500
_SEARCHED = 50_000
"""Entries of one owner that are searched: the newest."""
_OWNERS = 16
"""Whose words are remembered at a time."""


class OtherProject(NoEffect, ValueError):
    """The thread belongs to another project; nothing was pushed."""


class Pushed(NamedTuple):
    """Where a new entry is."""

    thread_id: str
    entry_id: str
    sequence_id: int


class Threads:
    """Threads of whoever asks. An owner's are nobody else's."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._indexes: OrderedDict[Owner, WordIndex] = OrderedDict()

    async def push(  # noqa: PLR0917 - where, and what
        self,
        owner: Owner,
        thread_id: str,
        content: str,
        *,
        entry_type: str = "thought",
        project_id: str | None = None,
        author: str = "",
        once: Sequence[str] = (),
    ) -> Pushed:
        """Put an entry at the end of a thread, which is made if it is not there. An archived one is active again.

        Args:
            owner: Whose thread.
            thread_id: Which one.
            content: What it says.
            entry_type: What kind of entry it is.
            project_id: The project of a new thread; for one that is there, its own or None.
            author: Who says it.
            once: Names of this push: again under the same ones, it gives where the entry is and pushes nothing.

        Raises:
            OtherProject: The thread is another project's.
            SecretName: A name that it would be kept under, the owner's too, holds a secret.
            NotKept: The store could not take it.
        """
        nameable(thread_id=thread_id, project_id=project_id, user="/".join(owner), key="/".join(once))
        now, entry_id = moment(self._clock.now(), to="milliseconds"), uuid7()
        before = place(*owner, *once) if once else None

        def unit(tx: Transaction) -> Pushed:
            done = None if before is None else tx.document(PUSHES, before)
            if done is not None:
                return Pushed(**done)
            number, found = _next(tx, owner), tx.document(THREADS, place(*owner, thread_id))
            thread = _grown(found or _new(thread_id, project_id, now=now), project_id)
            thread |= {"updated_at": now, "last": number}
            pushed = Pushed(thread_id, entry_id, thread["entries"] - 1)
            entry = {
                **pushed._asdict(),
                "project_id": thread["project_id"],
                "content": content,
                "entry_type": entry_type,
                "author": author,
                "timestamp": now,
            }
            keep(tx, THREADS, place(*owner, thread_id), thread)
            keep(tx, ENTRIES, place(*owner, _digits(number)), entry)
            keep(tx, PLACES, place(*owner, thread_id, _digits(pushed.sequence_id)), {"number": number})
            if before is not None:
                keep(tx, PUSHES, before, pushed._asdict())
            return pushed

        return await kept(self._store, unit)

    async def read(self, owner: Owner, thread_id: str, *, limit: int = 10) -> tuple[Body, list[Body]]:
        """A thread and its newest entries, oldest first.

        Raises:
            NothingThere: There is no such thread.
        """

        def query(reader: Reader) -> tuple[Body | None, list[Body]]:
            thread = reader.document(THREADS, place(*owner, thread_id))
            places = reader.documents(PLACES, prefix=under(*owner, thread_id), limit=limit, newest_first=True)
            found = (_entry(reader, owner, number=each.body["number"]) for each in reversed(places))
            return thread, [entry for entry in found if entry is not None]

        thread, entries = await self._store.read(query)
        if thread is None:
            raise _absent(thread_id)
        return thread, entries

    async def seek(
        self, owner: Owner, query: str, *, limit: int = 5, project_id: str | None = None
    ) -> tuple[list[Body], int]:
        """The entries that fit some words best, each with its `score`, and how many do; of the newest 50,000."""
        index = await self._index(owner)
        hits, total = await asyncio.to_thread(index.find, query, limit=limit, project=project_id)
        entries = await self._store.read(lambda reader: [_entry(reader, owner, number=hit.number) for hit in hits])
        found = zip(entries, hits, strict=True)
        return [entry | {"score": hit.score} for entry, hit in found if entry is not None], total

    async def list_threads(
        self,
        owner: Owner,
        *,
        status: str | None = ACTIVE,
        project_id: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[list[Body], int]:
        """Threads, the one pushed to last first, and how many there are; a status of None is any."""
        kept_ones = await self._store.scan(lambda reader: reader.documents(THREADS, prefix=under(*owner)))
        found = [
            each.body
            for each in kept_ones
            if status in (None, each.body["status"]) and project_id in (None, each.body["project_id"])
        ]
        found.sort(key=lambda thread: thread["last"], reverse=True)
        return found[offset : offset + limit], len(found)

    async def archive(self, owner: Owner, thread_id: str) -> None:
        """Put a thread away: it is read and found as before, and listed only where archived ones are asked for.

        Raises:
            NothingThere: There is no such thread.
            NotKept: The store could not take it.
        """

        def unit(tx: Transaction) -> None:
            thread = tx.document(THREADS, place(*owner, thread_id))
            if thread is None:
                raise _absent(thread_id)
            keep(tx, THREADS, place(*owner, thread_id), thread | {"status": ARCHIVED})

        await kept(self._store, unit)

    async def _index(self, owner: Owner) -> WordIndex:
        """The words of an owner's entries, up to now."""
        index = self._indexes.get(owner)
        if index is None:
            index = WordIndex(entries=2 * _SEARCHED)
        self._indexes[owner] = index
        self._indexes.move_to_end(owner)
        while len(self._indexes) > _OWNERS:
            self._indexes.popitem(last=False)
        await self._bring_up(owner, index)
        return index

    async def _bring_up(self, owner: Owner, index: WordIndex) -> None:
        new = await self._store.read(_later(owner, index.last, limit=_AT_ONCE))
        while new:
            await asyncio.to_thread(index.add, [_indexed(each) for each in new])
            many = len(new) in (_AT_ONCE, _PAGE)
            new = await self._store.scan(_later(owner, index.last, limit=_PAGE)) if many else []


def _later(owner: Owner, last: int, *, limit: int) -> Callable[[Reader], list[Document]]:
    def query(reader: Reader) -> list[Document]:
        newest = reader.documents(ENTRIES, prefix=under(*owner), limit=1, newest_first=True)
        first = max([last, *(_number(each) - _SEARCHED for each in newest)])
        after = place(*owner, _digits(first)) if first >= 0 else None
        return reader.documents(ENTRIES, prefix=under(*owner), after=after, limit=limit)

    return query


def _next(tx: Transaction, owner: Owner) -> int:
    newest = tx.documents(ENTRIES, prefix=under(*owner), limit=1, newest_first=True)
    return _number(newest[0]) + 1 if newest else 0


def _entry(reader: Reader, owner: Owner, *, number: int) -> Body | None:
    return reader.document(ENTRIES, place(*owner, _digits(number)))


def _new(thread_id: str, project_id: str | None, *, now: str) -> Body:
    named = {"thread_id": thread_id, "project_id": project_id, "name": thread_id}
    return {**named, "status": ACTIVE, "created_at": now, "entries": 0}


def _grown(thread: Body, project_id: str | None) -> Body:
    """The thread with one entry more."""
    if project_id not in (None, thread["project_id"]):
        of = "no project" if thread["project_id"] is None else f"the project {thread['project_id']!r}"
        name = thread["thread_id"]
        raise OtherProject(f"thread_id {name!r} is a thread of {of}; leave project_id out, or push to another one")
    return thread | {"status": ACTIVE, "entries": thread["entries"] + 1}


def _absent(thread_id: str) -> NothingThere:
    told = struck(thread_id)
    return NothingThere(f"there is no thread_id {told!r}; thread_list tells which there are", thread_id=told)


def _indexed(document: Document) -> Indexed:
    return Indexed(_number(document), document.body["project_id"], document.body["content"])


def _number(document: Document) -> int:
    return int(document.key.rpartition("/")[2])


def _digits(number: int) -> str:
    """A number whose texts sort as the numbers do."""
    return f"{number:012d}"
