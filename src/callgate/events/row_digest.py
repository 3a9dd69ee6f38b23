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
    # By place: every effect comes this way, and each name of a tuple costs as much as all of its places.
    # fmt: off
    (
        (principal, session, key), call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, state, _,
        _, happened, tries, idempotent, has_verify, horizon, started_at, _, _, outcome, approval_id, sealed_id, cause,
        resolved_by,
    ) = row
    fields = (
        principal, session, key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint,
        state._value_, happened and happened._value_, tries, idempotent, has_verify, float(horizon),
        float(started_at), approval_id, sealed_id, cause, resolved_by,
    )
    # fmt: on
    try:
        said = orjson.dumps(fields)  # plain values, without what the canonical form costs
    except orjson.JSONEncodeError:
        said = recordable_bytes(fields)
    return keys.fingerprint(b"ledger row\0" + said + (outcome or b"null"))
