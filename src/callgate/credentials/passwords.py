"""Passwords: salted and stretched with scrypt, so that who reads the store still has to guess."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from callgate.errors import ConfigurationError

SHORTEST = 12
_LONGEST = 1024
_N, _R, _P = 2**15, 8, 1
_MEMORY = 64 * 1024 * 1024
_DECOY = "scrypt$" + "0" * 32 + "$" + "0" * 64
"""Compared with where there is no password, so that trying takes as long whoever is tried."""


def stretched(password: str) -> str:
    """What is kept of a password.

    Raises:
        ConfigurationError: It is too short to be one, or too long to be worth the work.
    """
    if not SHORTEST <= len(password) <= _LONGEST:
        raise ConfigurationError(f"a password has {SHORTEST} to {_LONGEST} characters")
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${_work(password, salt).hex()}"


def password_fits(password: str, kept: str) -> bool:
    """Whether this is the password. Takes long on purpose; call it off the loop."""
    _, salt, digest = (kept or _DECOY).split("$")
    fits = hmac.compare_digest(_work(password[:_LONGEST], bytes.fromhex(salt)), bytes.fromhex(digest))
    return fits and bool(kept)


def _work(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt, n=_N, r=_R, p=_P, maxmem=_MEMORY, dklen=32)
