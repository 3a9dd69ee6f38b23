"""Staleness: whether a source changed since it was last read. Content decides; knows no files and no clock."""

from __future__ import annotations

from hashlib import blake2b

from callgate.events.vocabulary import KINDS, SOURCE_STALE
from callgate.model.event import Draft
from callgate.ports import Reading, Transaction

_DIGEST_BYTES = 4
_LAGS_AT_MOST = 60.0


def content_hash(content: str | bytes) -> str:
    """Eight hex digits that another content does not have, except by chance."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def note_reading(
    tx: Transaction,
    *,
    user: str,
    project: str,
    path: str,
    content: str | bytes,
    now: float,
    trace: str,
    call: str | None = None,
) -> Draft | None:
    """Remember what a tool read; an event to append if it is not what was read the last time.

    Each user's and project's readings of a path are their own. The store keeps a bounded number of them. `now` is when
    the call ended: a note that comes after that of a later call says nothing any more.
    """
    before = tx.reading(user, project, path)
    if _overtaken(before, now):
        return None
    digest = content_hash(content)
    tx.put_reading(user, project, path, Reading(digest, now))
    if before is None or before.digest == digest:
        return None
    payload = {
        "path": path,
        "project_id": project,
        "previous_hash": before.digest,
        "current_hash": digest,
        "message": f"{path} changed since it was last read",
    }
    severity = KINDS[SOURCE_STALE].severity
    return Draft(type=SOURCE_STALE, time=now, trace=trace, call=call, severity=severity, payload=payload)


def is_change(tx: Transaction, *, user: str, project: str, path: str, content: str | bytes, now: float) -> bool:
    """Whether a note of this content would change what is noted; the first one of a path changes nothing."""
    before = tx.reading(user, project, path)
    return before is not None and not _overtaken(before, now) and before.digest != content_hash(content)


def note_writing(tx: Transaction, *, user: str, project: str, path: str, content: str | bytes, now: float) -> None:
    """Remember what a tool wrote through the gate, so that reading it back is no surprise.

    Only the writer's own record is refreshed: to other users and projects that read the path before, it did change.
    """
    if not _overtaken(tx.reading(user, project, path), now):
        tx.put_reading(user, project, path, Reading(content_hash(content), now))


def _overtaken(last: Reading | None, now: float) -> bool:
    """Whether a later call was noted already; further ahead than any note lags, it is the clock that went back."""
    return last is not None and 0 < last.at - now < _LAGS_AT_MOST
