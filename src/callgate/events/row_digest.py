"""What an event says of a ledger row: a keyed digest, so that nobody without the key edits a row and goes unnoticed.

Keyed also because a row holds the output that the event itself may show redacted.
"""

from __future__ import annotations

import orjson

from callgate.events.recordable import recordable_bytes
from callgate.model.attempt import Attempt
from callgate.ports import Keys

ROW_DIGEST = "row_digest"
"""The field of a closing event."""


def row_digest(keys: Keys, row: Attempt) -> str:
    """The digest of everything a row says that is not about who runs it right now (owner, fence, deadline, end)."""
    principal, session, key = row.key
    happened = row.happened
    fields = (
        principal,
        session,
        key,
        row.call_id,
        row.trace_id,
        row.tool,
        row.definition_hash,
        row.fingerprint,
        row.final_fingerprint,
        row.state._value_,
        happened and happened._value_,
        row.tries,
        row.idempotent,
        row.has_verify,
        float(row.horizon),
        float(row.started_at),
        row.approval_id,
        row.sealed_id,
        row.cause,
        row.resolved_by,
    )
    try:
        said = orjson.dumps(fields)  # plain values, without what the canonical form costs
    except orjson.JSONEncodeError:
        said = recordable_bytes(fields)
    return keys.fingerprint(b"ledger row\0" + said + (row.outcome or b"null"))
