"""A credential as JSON, the same at every door: nothing of its token or password."""

from __future__ import annotations

from typing import Any

from callgate.model.credential import Credential, CredentialKind

_PLAIN = ("id", "name", "created_at", "created_by", "expires_at", "revoked_at")
_CALLING = ("role", "user", "session", "many_sessions", "attended", "read_only", "no_web")


def credential_document(each: Credential) -> dict[str, Any]:
    """Who is let in, and the most they may be. Of an agent `rights` is None; of a person all that is for calling."""
    agent = each.kind is CredentialKind.AGENT
    body: dict[str, Any] = {"kind": each.kind.value} | {name: getattr(each, name) for name in _PLAIN}
    body |= {"rights": None if agent else sorted(each.rights), "password": bool(each.password)}
    body |= {name: getattr(each, name) if agent else None for name in _CALLING}
    scopes = sorted(each.scopes) if agent and each.scopes is not None else None
    autonomy = each.autonomy.label if agent and each.autonomy is not None else None
    return body | {"scopes": scopes, "autonomy": autonomy}
