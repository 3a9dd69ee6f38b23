"""Keys: digests, sealing and signatures made from root keys. Knows where a root key lies only by its folder's name.

Two keys matter to a store. The *store's own* key is the one it was made with: fingerprints, MACs and token digests stay
with it, so that rows written before a rotation are still recognised after it. The *current* key is the newest: it seals
and signs. Every sealed blob names its key, so what older keys sealed still opens.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from callgate.errors import ConfigurationError, KeyMissing
from callgate.secrets.private import Private
from callgate.secrets.root_keys import (
    ANCHORS,
    KEYS,
    VARIABLE,
    KeyFolder,
    RootKey,
    config_folder,
    keys_of_environment,
    new_root_key,
)
from callgate.secrets.sealing import Sealer
from callgate.secrets.signing import SigningKey, signing_key

__all__ = ["KeyRing", "config_folder", "open_keys", "throwaway_keys"]


class KeyRing(Private):
    """Implements `ports.Keys` over one or more root keys. Does not change: a rotation gives a new one.

    Args:
        roots: Oldest first; the last one is current.
        store_key_id: The key the store was made with; None is the current one.
        folder: Where more keys may appear, when another process rotates.
        anchor_folder: Where audit heads are anchored outside the store.

    Raises:
        KeyMissing: The store's key is not among them.
    """

    __slots__ = (
        "_current",
        "_fingerprint_key",
        "_folder",
        "_mac_key",
        "_roots",
        "_sealer",
        "_signing",
        "_token_key",
        "anchor_folder",
        "key_id",
        "store_key_id",
    )

    def __init__(
        self,
        roots: Iterable[RootKey],
        *,
        store_key_id: str | None = None,
        folder: KeyFolder | None = None,
        anchor_folder: Path | None = None,
    ) -> None:
        self._roots = {root.key_id: root for root in roots}
        self._current = list(self._roots.values())[-1]
        self._folder = folder
        self.anchor_folder = anchor_folder
        """Beside the root key, also when that is in CALLGATE_KEY; None for throwaway keys and without a home."""
        self.key_id = self._current.key_id
        """Names the current key; signatures and new blobs are made with it."""
        self.store_key_id = store_key_id or self.key_id
        """Names the store's own key; the store remembers this one, once, when it is made."""
        own = self._root(self.store_key_id)
        self._fingerprint_key = own.subkey("fingerprint")
        self._mac_key = own.subkey("mac")
        self._token_key = own.subkey("tokens")
        self._sealer = Sealer(self._current, self._sealing_root)
        self._signing: SigningKey | None = None

    def fingerprint(self, data: bytes) -> str:
        # On the way of every call: keyed BLAKE2b takes less than half the time of an HMAC.
        return blake2b(data, key=self._fingerprint_key, digest_size=32).hexdigest()

    def mac(self, data: bytes) -> str:
        return hmac.digest(self._mac_key, data, "sha256").hex()

    def token_digest(self, token: bytes) -> str:
        return hmac.digest(self._token_key, token, "sha256").hex()

    def seal(self, data: bytes, *, bound_to: bytes) -> bytes:
        return self._sealer.seal(data, bound_to=bound_to)

    def unseal(self, blob: bytes, *, bound_to: bytes) -> bytes:
        return self._sealer.unseal(blob, bound_to=bound_to)

    def sign(self, data: bytes) -> bytes:
        return self._signing_key().private.sign(data)

    @property
    def public_key(self) -> bytes:
        return self._signing_key().public

    def public_key_of(self, key_id: str) -> bytes:
        """The Ed25519 key that signatures made under this or an older key are verified with.

        Raises:
            KeyMissing: That key is not here.
        """
        return self.public_key if key_id == self.key_id else signing_key(self._root(key_id)).public

    def rotate(self) -> KeyRing:
        """Make a new current key; what older ones sealed and signed still opens and verifies.

        Raises:
            ConfigurationError: The key is not in a folder: rotate it where it comes from.
        """
        if self._folder is None:
            advice = f"put the new key in front of the old one, separated by a comma, in {VARIABLE}"
            raise ConfigurationError(f"only keys in the config folder can be rotated from here; {advice}")
        roots = self._folder.add(first=False)
        return KeyRing(roots, store_key_id=self.store_key_id, folder=self._folder, anchor_folder=self.anchor_folder)

    def _root(self, key_id: str) -> RootKey:
        if key_id not in self._roots and self._folder is not None:
            # Another process may have rotated since.
            self._roots = {root.key_id: root for root in self._folder.load()} | self._roots
        try:
            return self._roots[key_id]
        except KeyError:
            raise _missing(key_id, where=str(self._folder.path) if self._folder else VARIABLE) from None

    def _sealing_root(self, key_id: str) -> RootKey:
        try:
            return self._root(key_id)
        except KeyMissing:
            raise KeyMissing(f"a record was sealed with the root key {key_id}, which is not here") from None

    def _signing_key(self) -> SigningKey:
        if self._signing is None:
            self._signing = signing_key(self._current)
        return self._signing


def open_keys(expected_key_id: str | tuple[str, ...] | None, folder: Path | None = None, *, create: bool) -> KeyRing:
    """The keys of this user, from CALLGATE_KEY or else the user's config folder.

    Args:
        expected_key_id: The key a store was made with (`KeyRing.store_key_id`), perhaps followed by others that must be
            there; None for a new store.
        folder: Where `keys/` and `anchors/` are; None is `callgate` in the user's config folder.
        create: Make the first key when there is none; never when one is expected.

    Raises:
        KeyMissing: An expected key is not there, or there is none and none may be made.
        ConfigurationError: CALLGATE_KEY is no key, or the files are damaged or open to others.
    """
    expected = (expected_key_id,) if isinstance(expected_key_id, str) else expected_key_id or ()
    roots, files = keys_of_environment(), None
    if roots is None:
        files = KeyFolder((folder or config_folder()) / KEYS)
        roots = files.load() or (files.add(first=True) if create and not expected else ())
    where = VARIABLE if files is None else str(files.path)
    gone = [key_id for key_id in expected if key_id not in {root.key_id for root in roots}]
    if gone:
        raise _missing(gone[0], where=where)
    if not roots:
        raise KeyMissing(f"there is no root key in {where}")
    own = expected[0] if expected else None
    return KeyRing(roots, store_key_id=own, folder=files, anchor_folder=_anchors(folder))


def throwaway_keys() -> KeyRing:
    """Keys that end with the process; for stores that do, too."""
    return KeyRing((new_root_key(),))


def _anchors(folder: Path | None) -> Path | None:
    try:
        return (folder or config_folder()) / ANCHORS
    except ConfigurationError:
        # A user without a home has the key in the variable, and nowhere to anchor.
        return None


def _missing(key_id: str, *, where: str) -> KeyMissing:
    advice = "bring it back from a backup; a new key could neither read nor prove what is stored"
    return KeyMissing(f"this store was made with the root key {key_id}, which is not in {where}; {advice}")
