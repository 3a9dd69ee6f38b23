"""The keys of the steps of a flow: derived from the flow's own key, so that the same step has the same key again."""

from __future__ import annotations

import hashlib

from callgate.model.canonical import dumps


def step_key(flow: str, key: str, *, place: int) -> str:
    """The key of one step.

    Args:
        flow: What kind of flow it is; flows of different kinds under one key do not meet.
        key: The flow's own key.
        place: Of the step, from 0.
    """
    return f"{flow}:{hashlib.sha256(dumps(key)).hexdigest()}:{place}"
