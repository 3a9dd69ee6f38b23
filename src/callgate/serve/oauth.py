"""OAuth 2.1: tokens of an authorization server that the operator named, as agents' credentials. Issues nothing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from typing import Any, cast

import jwt

from callgate.model.credential import Credential, CredentialKind
from callgate.model.shapes import as_mapping
from callgate.runtime.fetching import NotFetched, fetch_document
from callgate.settings.values import ServeOAuthSettings

METADATA = "/.well-known/oauth-protected-resource"
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by a key pair. Never `none`, and never a shared secret: the keys we fetch are public."""
_KEEP_SECONDS = 600.0
_LOOK_AGAIN_SECONDS = 10.0
"""How soon a token with an unknown key makes us look for new ones; anybody can write a key's name."""
_LEEWAY = 30
_MOST_KEYS = 50
_KINDS = ("RSA", "EC", "OKP")
_log = logging.getLogger(__name__)


class ResourceServer:
    """Says whose access token this is.

    Args:
        settings: The authorization server, and what its tokens are worth here.
        audience: What a token has to be for: this server's own address, unless the settings say otherwise.
    """

    def __init__(self, settings: ServeOAuthSettings, *, audience: str) -> None:
        self.issuer = settings.issuer
        self.audience = settings.audience or audience
        self._settings = settings
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")
        self._lock = asyncio.Lock()

    async def credential(self, token: str) -> Credential | None:
        """The agent that this token lets in; None if it lets nobody in."""
        claims = await self._claims(token)
        if claims is None or not self._is_worth_something(claims):
            return None
        subject = str(claims["sub"])
        mark = hashlib.sha256(json.dumps([self.issuer, subject]).encode()).hexdigest()[:32]
        return Credential(
            id=f"oauth-{mark}",
            kind=CredentialKind.AGENT,
            name=f"oauth:{subject}"[:512],
            user=subject[:512],
            role=self._settings.role,
            session=f"oauth-{mark}",
            created_at=float(claims.get("iat", 0)),
            created_by=self.issuer,
            expires_at=float(claims["exp"]),
        )

    async def _claims(self, token: str) -> dict[str, Any] | None:
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(header.get("kid"))
            if key is None or header.get("alg") not in _ALGORITHMS:
                return None
            return jwt.decode(
                token,
                key=key,
                algorithms=[header["alg"]],
                audience=self.audience,
                issuer=self.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError):
            return None

    def _is_worth_something(self, claims: dict[str, Any]) -> bool:
        needed = self._settings.required_scope
        return bool(claims["sub"]) and (needed is None or needed in str(claims.get("scope", "")).split())

    async def _key(self, name: str | None) -> jwt.PyJWK | None:
        if name is None:
            return None
        async with self._lock:
            age = time.monotonic() - self._fetched_at
            if age > (_KEEP_SECONDS if name in self._keys else _LOOK_AGAIN_SECONDS):
                self._fetched_at = time.monotonic()
                self._keys = await self._fetched()
            return self._keys.get(name)

    async def _fetched(self) -> dict[str, jwt.PyJWK]:
        """The keys as they are now; those there were, where that cannot be told."""
        try:
            document = await fetch_document(self._settings.jwks, private_addresses=self._settings.private_addresses)
            return _public_keys(document)
        except (NotFetched, ValueError, TypeError) as error:
            why = error if isinstance(error, NotFetched) else "it is no JSON of keys"
            _log.warning("the keys of %s cannot be had, so nobody with a new key gets in: %s", self.issuer, why)
            return self._keys

    def asked_for(self, url: str) -> str:
        """What `WWW-Authenticate` says besides, at a server that is reached there: where a token is had."""
        return f', resource_metadata="{url}{METADATA}"'

    def described(self, url: str) -> dict[str, Any]:
        """What a client is told that has no token yet (RFC 9728)."""
        scopes = {} if self._settings.required_scope is None else {"scopes_supported": [self._settings.required_scope]}
        return {
            "resource": url,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            **scopes,
        }


def _public_keys(document: bytes) -> dict[str, jwt.PyJWK]:
    """The keys of a JWKS by name; what is none of ours to use is left out."""
    listed = (as_mapping(json.loads(document)) or {}).get("keys")
    if not isinstance(listed, list):
        raise TypeError("no list of keys")
    found: dict[str, jwt.PyJWK] = {}
    for each in map(as_mapping, cast("list[Any]", listed)[:_MOST_KEYS]):
        if each is None or each.get("kty") not in _KINDS or not isinstance(each.get("kid"), str):
            continue
        try:
            found[each["kid"]] = jwt.PyJWK(dict(each))
        except (jwt.PyJWTError, TypeError, ValueError):
            continue
    return found
