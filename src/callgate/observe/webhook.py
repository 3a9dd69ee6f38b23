"""Webhooks: what is sent of a question, and its signature as Standard Webhooks has it. Sends nothing itself."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from callgate.model.approval import Approval

_WRITTEN = "whsec_"


def message_of(approval: Approval, *, url: str | None) -> dict[str, Any]:
    """What is told of a question. Not its arguments: those are shown where somebody has signed in."""
    data: dict[str, Any] = {
        "approval_id": approval.id,
        "tool": approval.tool,
        "risk": approval.risk.label,
        "principal": approval.principal,
        "user": approval.user,
        "expires_at": approval.expires_at,
    }
    if approval.is_plan:
        data["calls"] = len(approval.calls)
    if url is not None:
        data["url"] = f"{url}/approvals/{approval.id}"
    return {"type": "approval.required", "timestamp": approval.created_at, "data": data}


def _key_bytes(key: str) -> bytes:
    """As Standard Webhooks writes keys, in base64 behind `whsec_`; any other text is the key itself."""
    if not key.startswith(_WRITTEN):
        return key.encode()
    try:
        found = base64.b64decode(key.removeprefix(_WRITTEN), validate=True)
    except ValueError:
        message = f"its key begins with {_WRITTEN}, and what follows is no base64"
        raise ValueError(message) from None
    if not found:
        # Everybody has a key of no bytes: whoever likes could sign with it.
        message = f"its key is {_WRITTEN} with no bytes behind it"
        raise ValueError(message)
    return found


def signed(message: dict[str, Any], *, message_id: str, at: float, key: str) -> tuple[bytes, dict[str, str]]:
    """The bytes that are sent, and the headers that prove from whom, when, and that nobody changed them.

    Raises:
        ValueError: The key begins with `whsec_`, and no base64 follows or no bytes; the message holds nothing of it.
    """
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    moment = str(int(at))
    proof = hmac.digest(_key_bytes(key), b".".join((message_id.encode(), moment.encode(), body)), hashlib.sha256)
    headers = {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": moment,
        "webhook-signature": f"v1,{base64.b64encode(proof).decode()}",
    }
    return body, headers
