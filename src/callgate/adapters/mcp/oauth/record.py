"""SignedIn: what is kept of a sign-in, bound to one server and one issuer. Shows nothing of itself."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

_FORM = 1
_EARLY = 30.0
"""Seconds before its end that a token is renewed; a tenth of its life where that is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SignedIn:
    """A sign-in at a server."""

    server: str
    """The URL it is shown to, and no other."""
    issuer: str
    """Who gave it, and may renew it."""
    resource: str
    """What it was asked for."""
    token_endpoint: str
    revocation_endpoint: str | None = None
    client: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Who we are to the issuer: id, perhaps a secret, and how it is shown."""
    access_token: str
    refresh_token: str | None = None
    scope: str | None = None
    renew_at: float | None = None
    """Seconds since the epoch; None if it does not end by itself."""

    def secrets(self) -> Iterator[tuple[str, str]]:
        """Everything in it that nobody may see, each with a name for it."""
        yield "access_token", self.access_token
        if self.refresh_token:
            yield "refresh_token", self.refresh_token
        if self.client.get("client_secret"):
            yield "client_secret", str(self.client["client_secret"])

    def is_due(self, now: float) -> bool:
        """Whether it is time to renew it."""
        return self.renew_at is not None and now >= self.renew_at

    def digest(self) -> str:
        """Names it without telling anything about it."""
        return hashlib.sha256(self.access_token.encode()).hexdigest()

    def to_text(self) -> str:
        """As it is kept."""
        return json.dumps({"form": _FORM, **asdict(self)})

    def __repr__(self) -> str:
        return f"<SignedIn at {self.server}>"


def read_signed_in(text: str) -> SignedIn | None:
    """What was kept; None if it is nothing that this version wrote."""
    try:
        body = json.loads(text)
        if not isinstance(body, dict) or cast("dict[str, Any]", body).pop("form", None) != _FORM:
            return None
        return SignedIn(**cast("dict[str, Any]", body))
    except (ValueError, TypeError):
        return None


def end_of(lifetime: int | None, *, now: float | None = None) -> float | None:
    """When to renew what lives so many seconds from now on."""
    if lifetime is None:
        return None
    return (time.time() if now is None else now) + lifetime - min(_EARLY, lifetime / 10)
