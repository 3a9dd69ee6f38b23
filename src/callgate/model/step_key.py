"""Keys of the calls inside a flow: they derive from where in it a call stands, so that one step has one key."""

from __future__ import annotations

import hashlib

from callgate.model.canonical import dumps


def step_key(flow: str, *place: str | int) -> str:
    """The key of one step: `flow` says which kind of flow, `place` where in which one.

    A digest, because keys of flows inside flows would grow without end, and so that no key a caller writes is one.
    """
    return f"{flow}:sha256:{hashlib.sha256(dumps([flow, *place])).hexdigest()}"


def numbered_key(flow: str, key: str, *, place: int) -> str:
    """The key of one call of a list that is known before it is made, a plan or a chain: whoever reads it sees which.

    Args:
        flow: What kind of flow it is; flows of different kinds under one key do not meet.
        key: The flow's own key.
        place: Of the call, from 0.
    """
    return f"{flow}:{hashlib.sha256(dumps(key)).hexdigest()}:{place}"
