"""What can be asked of the memory store. Hands out values that share nothing with its tables."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import islice
from re import Pattern, escape
from re import compile as compile_pattern
from typing import Any

from callgate.events.recordable import read_back
from callgate.model.approval import Approval, ApprovalState, Grant
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.event import Event
from callgate.ports import Checkpoint, Count, Document, Head, Past, Reading
from callgate.stores.memory.entries import after_last, asked_since, counted, is_equal, middle
from callgate.stores.memory.log import EventLog
from callgate.stores.memory.tables import Tables


class LedgerReader:  # noqa: PLR0904 - as many as its port has
    """The ledger's rows."""

    def __init__(self, tables: Tables, log: EventLog) -> None:
        self._tables = tables
        self._log = log

    def attempt(self, key: AttemptKey) -> Attempt | None:
        return self._tables.attempts.get(key)

    def attempt_of_call(self, call_id: str) -> Attempt | None:
        key = self._tables.calls.get(call_id)
        found = None if key is None else self.attempt(key)
        return found if found is not None and found.call_id == call_id else None

    def unresolved(self, principal: str, session: str, fingerprint: str) -> Attempt | None:  # noqa: PLR0917
        keys = self._tables.unresolved.get((principal, session, fingerprint))
        return self.attempt(keys[0]) if keys else None

    def succeeded_since(self, principal: str, session: str, fingerprint: str, since: float) -> bool:  # noqa: PLR0917
        last = self._tables.succeeded.get((principal, session, fingerprint))
        return last is not None and last >= since

    def holder(self, key: AttemptKey) -> tuple[int, str, str] | None:
        row = self._tables.attempts.get(key)
        return None if row is None else (row.fence, row.owner, row.call_id)

    def past(self, key: AttemptKey, fingerprint: str, since: float) -> Past:  # noqa: PLR0917
        tables, (principal, session, _) = self._tables, key
        place = (principal, session, fingerprint)
        keys, last = tables.unresolved.get(place), tables.succeeded.get(place)
        unresolved = self.attempt(keys[0]) if keys else None
        return Past(tables.attempts.get(key), unresolved, last is not None and last >= since)

    def attempts(
        self,
        *,
        state: AttemptState | None = None,
        owner: str | None = None,
        behind: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Attempt]:
        found = (
            row
            for row in self._rows(behind, newest_first=newest_first)
            if (state is None or row.state is state) and (owner is None or row.owner == owner)
        )
        return list(islice(found, limit))

    def unended(self, owner: str | None = None) -> list[Attempt]:
        rows = self.attempts(owner=owner)
        return [row for row in rows if row.ended_at is None]

    def open_attempts(
        self, *, behind: str | None = None, limit: int | None = None, newest_first: bool = False
    ) -> list[Attempt]:
        found = (row for row in self._rows(behind, newest_first=newest_first) if row.open_question)
        return list(islice(found, limit))

    def _rows(self, behind: str | None, *, newest_first: bool) -> Iterator[Attempt]:
        rows = self._tables.attempts.values()
        ordered = iter(reversed(rows) if newest_first else rows)
        return ordered if behind is None else after_last(ordered, lambda row: row.call_id == behind)

    def open_count(self) -> int:
        return sum(row.open_question for row in self._tables.attempts.values())


class ApprovalReader(LedgerReader):
    """Questions to people, and standing answers."""

    def approval(self, approval_id: str) -> Approval | None:
        return deepcopy(self._tables.approvals.get(approval_id))

    def latest_approval(  # noqa: PLR0917
        self, principal: str, session: str, tool: str, fingerprint: str, *, key: str | None = None
    ) -> Approval | None:
        place = (principal, session, tool, fingerprint)
        newest = self._tables.latest.get(place) if key is None else self._tables.keyed.get((*place, key))
        return None if newest is None else self.approval(newest)

    def approvals_of_plan(self, plan_id: str) -> list[Approval]:
        return [deepcopy(self._tables.approvals[each]) for each in self._tables.plans.get(plan_id, ())]

    def latest_plan(self, principal: str, session: str, digest: str) -> str | None:  # noqa: PLR0917
        return self._tables.planned.get((principal, session, digest))

    def approvals(
        self,
        *,
        states: Iterable[ApprovalState] | None = None,
        session: str | None = None,
        within: str | None = None,
        principal: str | None = None,
        overdue: float | None = None,
        behind: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Approval]:
        among = None if states is None else frozenset(states)
        items = self._tables.approvals.values()
        ordered = iter(reversed(items) if newest_first else items)
        if behind is not None:
            ordered = after_last(ordered, lambda item: behind in {item.id, item.part and item.part.plan_id})
        found = (
            item
            for item in ordered
            if (among is None or item.state in among)
            and (session is None or item.session == session)
            and (within is None or item.session == within or item.session.startswith(f"{within}/"))
            and (principal is None or item.principal == principal)
            and (overdue is None or item.expires_at <= overdue)
        )
        return [deepcopy(item) for item in islice(found, limit)]

    def pending_count(self, principal: str, session: str, *, now: float | None = None) -> int:
        waiting = self._tables.pending.get((principal, session), {})
        return len({question for end, question in waiting.values() if now is None or end > now})

    def all_pending_count(self, *, now: float) -> int:
        waiting = (each for found in self._tables.pending.values() for each in found.values())
        return len({question for end, question in waiting if end > now})

    def grants(self, *, principal: str | None = None, tool: str | None = None) -> list[Grant]:
        return [
            deepcopy(item)
            for item in self._tables.grants.values()
            if item.revoked_at is None
            and (principal is None or item.principal == principal)
            and (tool is None or item.tool == tool)
        ]

    def grant(self, grant_id: str) -> Grant | None:
        return deepcopy(self._tables.grants.get(grant_id))


class ProjectionReader(ApprovalReader):
    """What events add up to."""

    def projection(self, name: str, key: str) -> dict[str, Any] | None:
        body = self._tables.projections.get(name, {}).get(key)
        return None if body is None else read_back(body)

    def projections(
        self,
        name: str,
        *,
        limit: int | None = None,
        newest_first: bool = False,
        below: str | None = None,
        equal: Mapping[str, str] | None = None,
        skip: int = 0,
    ) -> list[dict[str, Any]]:
        kept = self._tables.projections.get(name, {})
        keys = sorted((key for key in kept if below is None or key < below), reverse=newest_first)
        found = (entry for key in keys if is_equal(entry := read_back(kept[key]), equal or {}))
        return list(islice(found, skip, None if limit is None else skip + limit))

    def projections_since(
        self, name: str, since: float, *, until: float | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        return asked_since(self._tables.projections.get(name, {}), since, until=until)[:limit]

    def counts(self, name: str, *, since: float, stretch: float) -> list[Count]:
        return counted(asked_since(self._tables.projections.get(name, {}), since), stretch)

    def middle_duration(self, name: str, *, since: float, statuses: Iterable[str]) -> float | None:
        return middle(asked_since(self._tables.projections.get(name, {}), since), frozenset(statuses))


class MemoryReader(ProjectionReader):
    """A view of everything."""

    def sealed(self, sealed_id: str) -> bytes | None:
        found = self._tables.sealed.get(sealed_id)
        return None if found is None else found[0]

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] | None = None,
        trace: str | None = None,
        call: str | None = None,
        stream: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        self._show()
        if stream is not None and stream != self._log.appender.stream:
            return []
        wanted = None if types is None else _among(tuple(types))
        found = self._log.select(
            after=after, trace=trace, call=call, wanted=wanted and (lambda t: bool(wanted.match(t)))
        )
        return list(islice(found, limit))

    def last_position(self) -> int:
        self._show()
        return len(self._log.rows)

    def heads(self) -> dict[str, Head]:
        self._show()
        appender = self._log.appender
        return {appender.stream: appender.tip} if self._log.rows else {}

    def checkpoints(self) -> list[Checkpoint]:
        return [deepcopy(item) for item in self._tables.checkpoints.values()]

    def reading(self, user: str, project: str, path: str) -> Reading | None:  # noqa: PLR0917
        return self._tables.readings.get((user, project, path))

    def meta(self, name: str) -> str | None:
        return self._tables.meta.get(name)

    def document(self, area: str, key: str) -> dict[str, Any] | None:
        body = self._tables.documents.get(area, {}).get(key)
        return None if body is None else read_back(body)

    def documents(
        self,
        area: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Document]:
        order, kept = self._tables.order(area), self._tables.documents.get(area, {})
        first, end = _places(order, prefix, after, newest_first=newest_first)
        if limit is not None:
            first, end = (max(first, end - limit), end) if newest_first else (first, min(end, first + limit))
        keys = order[first:end]
        return [Document(key, read_back(kept[key])) for key in (reversed(keys) if newest_first else keys)]

    def _show(self) -> None:
        """Make every event readable that was added so far."""
        self._log.settle()


@lru_cache(maxsize=256)
def _among(types: tuple[str, ...]) -> Pattern[str]:
    """One pattern for exact names and globs, in which only `*` and `?` are special."""
    each = (escape(item).replace(r"\*", ".*").replace(r"\?", ".") for item in types)
    return compile_pattern(f"(?s:{'|'.join(each)})\\Z" if types else r"(?!)")


def _places(order: list[str], prefix: str, after: str | None, *, newest_first: bool) -> tuple[int, int]:  # noqa: PLR0917
    """Where the keys of a listing begin and end among all keys."""

    def beginning(key: str) -> str:
        return key[: len(prefix)]

    first, end = bisect_left(order, prefix, key=beginning), bisect_right(order, prefix, key=beginning)
    if after is None:
        return first, end
    if newest_first:
        return first, max(first, min(end, bisect_left(order, after)))
    return min(end, max(first, bisect_right(order, after))), end
