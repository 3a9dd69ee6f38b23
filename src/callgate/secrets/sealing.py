"""Sealing: AES-256-GCM under a key of the process's own, with everything needed to open it again in the blob's head.

A blob is a version byte, the root key's id, a salt, a nonce and the ciphertext. The salt makes each process seal with a
key of its own, so that random nonces of one key do not meet however old the store gets. Knows no files and no stores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from callgate.errors import StoreError
from callgate.secrets.private import Private
from callgate.secrets.root_keys import KEY_ID_BYTES, RootKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = 1
_SALT_BYTES = 16
_HEADER_BYTES = 1 + KEY_ID_BYTES + _SALT_BYTES
_NONCE_BYTES = 12
_BODY_AT = _HEADER_BYTES + _NONCE_BYTES
_TAG_BYTES = 16
_CIPHERS_AT_MOST = 256


class Sealer(Private):
    """Seals with one root key and opens what any known one sealed.

    Args:
        current: Seals.
        find: The root key with that id.
    """

    __slots__ = ("_ciphers", "_current", "_find", "_own")

    def __init__(self, current: RootKey, find: Callable[[str], RootKey]) -> None:
        self._current = current
        self._find = find
        self._own: tuple[bytes, AESGCM] | None = None
        self._ciphers: dict[bytes, AESGCM] = {}

    def seal(self, data: bytes, *, bound_to: bytes) -> bytes:
        """Encrypt; opens only with the same `bound_to`."""
        header, cipher = self._own or self._begin()
        nonce = os.urandom(_NONCE_BYTES)
        return header + nonce + cipher.encrypt(nonce, data, header + bound_to)

    def unseal(self, blob: bytes, *, bound_to: bytes) -> bytes:
        """Decrypt.

        Raises:
            StoreError: The blob was changed, moved, or sealed with a key that is not known.
        """
        if len(blob) < _BODY_AT + _TAG_BYTES or blob[0] != _VERSION:
            raise StoreError("this is not a sealed record, or one of a later version of Callgate")
        header = blob[:_HEADER_BYTES]
        cipher = self._ciphers.get(header) or self._cipher(header, self._find(header[1 : 1 + KEY_ID_BYTES].hex()))
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - importing this module stays cheap

        try:
            return cipher.decrypt(blob[_HEADER_BYTES:_BODY_AT], blob[_BODY_AT:], header + bound_to)
        except InvalidTag:
            raise StoreError("a sealed record was changed, or belongs to another place") from None

    def _begin(self) -> tuple[bytes, AESGCM]:
        header = bytes((_VERSION,)) + bytes.fromhex(self._current.key_id) + os.urandom(_SALT_BYTES)
        self._own = own = (header, self._cipher(header, self._current))
        return own

    def _cipher(self, header: bytes, root: RootKey) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

        if len(self._ciphers) >= _CIPHERS_AT_MOST:
            self._ciphers = {}
        return self._ciphers.setdefault(header, AESGCM(root.subkey("seal", salt=header)))
