"""A credential as a document of the store and back, sealed: who can only write the store lets nobody in."""

from __future__ import annotations

import hmac
from dataclasses import fields, replace
from typing import Any

from callgate.model.canonical import dumps
from callgate.model.credential import Credential, CredentialKind, Right
from callgate.model.levels import Autonomy
from callgate.ports import Keys

_NAMES = tuple(field.name for field in fields(Credential))


def bind(credential: Credential, keys: Keys) -> Credential:
    """The same credential with a fresh MAC; every change of one ends here."""
    return replace(credential, mac=keys.mac(_bytes(credential)))


def to_document(credential: Credential) -> dict[str, Any]:
    """What the store keeps of it."""
    body: dict[str, Any] = {name: getattr(credential, name) for name in _NAMES}
    body["kind"] = credential.kind.value
    body["scopes"] = None if credential.scopes is None else sorted(credential.scopes)
    body["autonomy"] = None if credential.autonomy is None else credential.autonomy.label
    body["rights"] = sorted(right.value for right in credential.rights)
    return body


def from_document(body: dict[str, Any], keys: Keys) -> Credential | None:
    """The credential that was kept; None if somebody without the key wrote or edited it."""
    try:
        read: dict[str, Any] = body | {
            "kind": CredentialKind(body["kind"]),
            "scopes": None if body["scopes"] is None else frozenset(body["scopes"]),
            "autonomy": None if body["autonomy"] is None else Autonomy[body["autonomy"]],
            "rights": frozenset(map(Right, body["rights"])),
        }
        found = Credential(**read)
        intact = hmac.compare_digest(found.mac.encode(), keys.mac(_bytes(found)).encode())
    except (AttributeError, KeyError, TypeError, ValueError):
        # Whoever edits a document is not bound to the kinds of its fields.
        return None
    return found if intact else None


def _bytes(credential: Credential) -> bytes:
    body = to_document(credential)
    del body["mac"]
    return b"credential\0" + dumps(body)
