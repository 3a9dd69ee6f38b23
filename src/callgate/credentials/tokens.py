"""Tokens: long random texts that are shown once and kept nowhere; only their keyed digest is."""

from __future__ import annotations

import hmac
import re
import secrets

from callgate.model.credential import CredentialKind
from callgate.ports import Keys

_SECRET_BYTES = 32
_PREFIX = {CredentialKind.AGENT: "cga", CredentialKind.PERSON: "cgp"}
_SHAPE = re.compile(r"(?:cga|cgp)_([0-9a-f]{32})_[A-Za-z0-9_-]{43}")


def new_token(kind: CredentialKind, credential_id: str) -> str:
    """A token for this credential: it names it, so that one is found and compared, and not all of them."""
    return f"{_PREFIX[kind]}_{credential_id.replace('-', '')}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def credential_id(token: str) -> str | None:
    """Which credential a token names; None if it has not the shape of one."""
    found = _SHAPE.fullmatch(token)
    if found is None:
        return None
    digits = found[1]
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def token_fits(token: str, digest: str, *, keys: Keys) -> bool:
    """Whether this is the token that the digest was taken of."""
    return hmac.compare_digest(keys.token_digest(token.encode()), digest)
