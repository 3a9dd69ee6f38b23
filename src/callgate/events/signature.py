"""Signatures, checked with a public key alone. The only module of this room that needs cryptography."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from callgate.events.checkpoint import signed_bytes
from callgate.model.canonical import NotCanonical
from callgate.ports import Checkpoint


def fault_of(checkpoint: Checkpoint, public_keys: Mapping[str, bytes]) -> str | None:
    """What is wrong with the signature, or None. `public_keys` are raw Ed25519 keys by key id."""
    key = public_keys.get(checkpoint.key_id)
    if key is None:
        return f"is signed with key {checkpoint.key_id!r}, which is not known here"
    try:
        fine = fits(checkpoint.signature, signed_bytes(checkpoint), public_key=key)
    except NotCanonical:
        fine = False
    return None if fine else "has a signature that does not fit: it was changed or forged"


def fits(signature: bytes, data: bytes, *, public_key: bytes) -> bool:
    """Whether the holder of that raw Ed25519 key signed exactly this data; malformed input is a no."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - heavy, and only who verifies needs it
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - as above

    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_key: bytes) -> str:
    """A public key in a form that people can compare over the telephone."""
    digest = sha256(public_key).hexdigest()[:32]
    return ":".join(digest[start : start + 4] for start in range(0, len(digest), 4))
