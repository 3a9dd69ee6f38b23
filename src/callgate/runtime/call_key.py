"""The key of a call that a provider gave an id. Knows no provider."""

from __future__ import annotations

import hashlib
import re

from callgate.model.canonical import dumps
from callgate.model.context import Context

_PLAIN_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_DEFAULT_SESSION = Context().session


def call_key(call_id: str, context: Context) -> str:
    """The idempotency key of a provider's call: its id, within the session that the ledger adds.

    In the session `default`, which everybody has who sets none, also within the trace. What else the context says of
    its place (`idempotency_key`, `step_id`) tells equal ids of different turns apart.
    """
    trace = context.trace_id if context.session == _DEFAULT_SESSION else None
    place = (trace, context.idempotency_key, context.step_id)
    if place == (None, None, None) and _PLAIN_ID.fullmatch(call_id):
        return f"call:{call_id}"
    return f"call:sha256:{hashlib.sha256(dumps([*place, call_id])).hexdigest()}"
