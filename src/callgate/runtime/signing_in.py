"""Signing in at the MCP servers of a configuration, and out: for who sits at this machine. Opens no gate, no store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError, SecretNotFound, SignInFailed
from callgate.runtime.keeping import writable_secrets
from callgate.secrets.strike import process_striker
from callgate.settings.read_mcp_auth import MACHINE

if TYPE_CHECKING:
    from callgate.adapters.mcp.oauth.record import SignedIn
    from callgate.secrets.sources import WritableSecrets
    from callgate.settings.values import McpServerSettings, Settings

Show = Callable[[str], Awaitable[None]]
"""Shows a person the URL where they sign in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Who is signed in where; nothing of what shows it."""

    server: str
    issuer: str
    scopes: tuple[str, ...] = ()
    renewable: bool = False
    """Whether it is renewed by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOut:
    """What became of a sign-in that was ended."""

    server: str
    issuer: str
    revoked: bool
    """Whether the authorization server heard of it; else what it gave holds there until its end."""


async def sign_in(settings: Settings, name: str, *, show: Show, patience: float) -> SignIn:
    """Have a person sign in at a server, and keep that with the secrets.

    Raises:
        ConfigurationError: There is no such server, nobody signs in at it, or secrets are not kept by Callgate here.
        SignInFailed: Nobody is signed in: it was refused, led elsewhere than it may, or took too long.
        StoreError: It cannot be kept.
    """
    described = _described(settings, name)
    store = writable_secrets(settings, create=True)

    from callgate.adapters.mcp.oauth.asking import OAuth, oauth_of  # noqa: PLC0415 - only who signs in pays for it
    from callgate.adapters.mcp.oauth.place import Place  # noqa: PLC0415 - as above
    from callgate.adapters.mcp.sdk import need_sdk  # noqa: PLC0415 - as above
    from callgate.adapters.mcp.values import resolve  # noqa: PLC0415 - as above

    need_sdk()
    from callgate.adapters.mcp.oauth import flow  # noqa: PLC0415 - needs the SDK

    async def ask(url: str) -> None:
        await show(url)

    oauth = oauth_of(ask, described.auth)
    assert isinstance(oauth, OAuth)  # noqa: S101 - it has somebody to ask
    place = Place(
        server=described.url or "",
        oauth=oauth,
        headers=resolve(described.headers, store.get_secret),
        client_secret=_client_secret(described, store),
    )
    kept = await flow.sign_in(place, patience=patience)
    _strike(name, kept)
    store.set_secret(_connector(name), _key(), value=kept.to_text())
    scopes = tuple((kept.scope or "").split())
    return SignIn(server=name, issuer=kept.issuer, scopes=scopes, renewable=kept.refresh_token is not None)


async def sign_out(settings: Settings, name: str) -> SignOut:
    """End the sign-in at a server: tell who gave it, and forget it.

    Raises:
        ConfigurationError: There is no such server, nobody signs in at it, or secrets are not kept by Callgate here.
        SecretNotFound: Nobody is signed in there.
        StoreError: It cannot be forgotten.
    """
    described = _described(settings, name)
    store = writable_secrets(settings, create=False)

    from callgate.adapters.mcp.oauth.record import read_signed_in  # noqa: PLC0415 - only who signs out pays for it
    from callgate.adapters.mcp.sdk import need_sdk  # noqa: PLC0415 - as above

    try:
        kept = read_signed_in(store.get_secret(_connector(name), _key()))
    except SecretNotFound:
        raise SecretNotFound(f"nobody is signed in at the MCP server {name}") from None
    store.delete_secret(_connector(name), _key())
    if kept is None:
        return SignOut(server=name, issuer="", revoked=False)
    _strike(name, kept)
    need_sdk()
    from callgate.adapters.mcp.oauth import renewal  # noqa: PLC0415 - needs the SDK

    try:
        revoked = await renewal.revoke(kept, _client_secret(described, store))
    except (SignInFailed, SecretNotFound):
        revoked = False
    return SignOut(server=name, issuer=kept.issuer, revoked=revoked)


def _described(settings: Settings, name: str) -> McpServerSettings:
    servers = settings.mcp_servers
    if name not in servers:
        known = ", ".join(servers) or "none"
        raise ConfigurationError(f"no MCP server called {name!r} is configured; configured are: {known}")
    described, key = servers[name], f"mcp_servers.{name}"
    if described.auth is None:
        advice = "write auth: {oauth: {}} for it" if described.url else "it is a program that is started here"
        raise ConfigurationError(f"nobody signs in at it; {advice}", file=settings.file, key=key)
    if described.auth.grant == MACHINE:
        raise ConfigurationError(f"it is signed in at by {MACHINE}, without a person", file=settings.file, key=key)
    return described


def _client_secret(described: McpServerSettings, store: WritableSecrets) -> str | None:
    from callgate.adapters.mcp.values import resolve  # noqa: PLC0415 - only who signs in pays for it

    reference = described.auth.client_secret if described.auth else None
    return None if reference is None else resolve({"": reference}, store.get_secret)[""]


def _strike(name: str, kept: SignedIn) -> None:
    striker = process_striker()
    for key, value in kept.secrets():
        striker.remember(value, connector=_connector(name), key=key)


def _connector(name: str) -> str:
    return f"mcp.{name}"


def _key() -> str:
    from callgate.adapters.mcp.oauth.drawer import KEY  # noqa: PLC0415 - only who signs in pays for it

    return KEY
