"""Signing: Ed25519 keys made from root keys. Checking a signature is the record's, and needs the public key alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from callgate.secrets.root_keys import RootKey


class SigningKey(NamedTuple):
    """A private key (which shows nothing of itself) and the public one that belongs to it."""

    private: Ed25519PrivateKey
    public: bytes


def signing_key(root: RootKey) -> SigningKey:
    """The signing key of a root key; always the same one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - importing this module stays cheap
        Ed25519PrivateKey,
    )

    private = Ed25519PrivateKey.from_private_bytes(root.subkey("sign"))
    return SigningKey(private, private.public_key().public_bytes_raw())
