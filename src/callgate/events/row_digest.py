"""What an event says of a ledger row: a keyed digest, so that nobody without the key edits a row and goes unnoticed.

Keyed also because a row holds the output that the event itself may show redacted.
"""

from __future__ import annotations

from typing import Any

import orjson

from callgate.events.recordable import recordable_bytes
from callgate.model.attempt import Attempt
from callgate.ports import Keys

ROW_DIGEST = "row_digest"
"""The field of an event that changes a row."""
ROW_BEFORE = "row_before"
"""The field of an intent, and of what is learned later: the row that was there before, as it was found."""
_WHOLE = "2:"
"""What a digest begins with. Those from before left out who ran it and when it ended: owner, fence, deadline, end."""


def row_digest(keys: Keys, row: Attempt) -> str:
    """The digest of everything a row says."""
    # By place: every effect comes this way, and each name of a tuple costs as much as all of its places.
    # fmt: off
    (
        (principal, session, key), call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, state,
        owner, fence, happened, tries, idempotent, has_verify, horizon, started_at, ended_at, deadline, outcome,
        approval_id, sealed_id, cause, resolved_by,
    ) = row
    fields = (
        principal, session, key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint,
        state._value_, happened and happened._value_, tries, idempotent, has_verify, float(horizon),
        float(started_at), approval_id, sealed_id, cause, resolved_by, owner, fence,
        None if ended_at is None else float(ended_at), None if deadline is None else float(deadline),
    )
    # fmt: on
    return _WHOLE + keys.fingerprint(b"ledger row 2\0" + _bytes(fields) + (outcome or b"null"))


def is_digest_of(digest: str, row: Attempt, *, keys: Keys) -> bool:
    """Whether this was said of the row as it is."""
    return digest == (row_digest(keys, row) if digest.startswith(_WHOLE) else _older(keys, row))


def found_row(keys: Keys, row: Attempt) -> str:
    """What is said of a row that is found, and then changed: both digests, as it may be from before."""
    return f"{row_digest(keys, row)} {_older(keys, row)}"


def is_another(told: str | None, found: str | None) -> bool:
    """Whether the row that was found is another than was told."""
    return told is not None and found is not None and told not in found.split()


def _older(keys: Keys, row: Attempt) -> str:
    fields = (
        *(*row.key, row.call_id, row.trace_id, row.tool, row.definition_hash, row.fingerprint, row.final_fingerprint),
        *(row.state.value, row.happened and row.happened.value, row.tries, row.idempotent, row.has_verify),
        *(float(row.horizon), float(row.started_at), row.approval_id, row.sealed_id, row.cause, row.resolved_by),
    )
    return keys.fingerprint(b"ledger row\0" + _bytes(fields) + (row.outcome or b"null"))


def _bytes(fields: tuple[Any, ...]) -> bytes:
    try:
        return orjson.dumps(fields)  # plain values, without what the canonical form costs
    except orjson.JSONEncodeError:
        return recordable_bytes(fields)
