"""Cache: files that were read, so that GitHub only has to say that they are still the same.

Each entry is sealed with a key that comes from the token, under a name that comes from it, from who asked and for
what: without that token nobody reads it or finds it, in memory or on disk. It is only used after GitHub said, for
this token and now, that nothing has changed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MOST_BYTES = 64 * 1024 * 1024
_PURPOSE = b"callgate github cache 1"
_NONCE = 12
# As RFC 9110 has it, in ASCII. Servers may say others; a file that has one of those is asked for anew each time.
_TAG = re.compile(r'(W/)?"[\x21\x23-\x7e]{0,200}"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A file as it was read, and the tag that says so."""

    etag: str
    sha: str
    content: bytes


class Shelf(Protocol):
    """Where sealed entries lie: bounded, and never a reason for a call to fail."""

    def get(self, name: str) -> bytes | None:
        """What lies there."""
        ...

    def put(self, name: str, sealed: bytes) -> None:
        """Lay it there; what was used least goes when there is too much."""
        ...

    def drop(self, name: str) -> None:
        """Take it away."""
        ...


class MemoryShelf:
    """Entries of this process."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._size = 0
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, name: str) -> bytes | None:
        with self._lock:
            if name in self._entries:
                self._entries.move_to_end(name)
            return self._entries.get(name)

    def put(self, name: str, sealed: bytes) -> None:
        with self._lock:
            self._take(name)
            self._entries[name] = sealed
            self._size += len(sealed)
            while self._size > self._most:
                self._take(next(iter(self._entries)))

    def drop(self, name: str) -> None:
        with self._lock:
            self._take(name)

    def _take(self, name: str) -> None:
        self._size -= len(self._entries.pop(name, b""))


class Drawer:
    """The entry of one asker, one token and one address."""

    def __init__(self, shelf: Shelf, *, token: str, who: Sequence[str | None], url: str) -> None:
        self._shelf = shelf
        self._key = hmac.digest(token.encode(), _PURPOSE, hashlib.sha256)
        self._name = hmac.digest(self._key, orjson.dumps([*who, url]), hashlib.sha256).hex()

    def find(self) -> Kept | None:
        """What is kept; None where nothing is, or it is not what was laid there."""
        sealed = self._shelf.get(self._name)
        if sealed is None:
            return None
        try:
            opened = AESGCM(self._key).decrypt(sealed[:_NONCE], sealed[_NONCE:], self._name.encode())
        except (InvalidTag, ValueError):
            self._shelf.drop(self._name)
            return None
        head, _, content = opened.partition(b"\n")
        etag, sha = orjson.loads(head)
        return Kept(etag=etag, sha=sha, content=content)

    def keep(self, kept: Kept) -> None:
        """Lay it there, unless its tag is none that can be sent back."""
        if not _TAG.fullmatch(kept.etag):
            return
        nonce = os.urandom(_NONCE)
        plain = orjson.dumps([kept.etag, kept.sha]) + b"\n" + kept.content
        self._shelf.put(self._name, nonce + AESGCM(self._key).encrypt(nonce, plain, self._name.encode()))

    def forget(self) -> None:
        """Take it away."""
        self._shelf.drop(self._name)
