"""OAuth: how a server is signed in at, and who is asked. Without a SDK; the configuration has the same words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields

from callgate.errors import ConfigurationError
from callgate.settings.complaints import Fault
from callgate.settings.read_mcp_auth import refuse_unfit
from callgate.settings.values import OAuthSettings

Ask = Callable[[str], Awaitable[str | None]]
"""Brings a person to the URL where they sign in.

With a `redirect_uri` of your own, it gives the whole address the person was sent back to; else nothing, as we listen.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth(OAuthSettings):
    """How we sign in at a server, for `McpServer(auth=…)`."""

    ask: Ask | None = None
    """Called when somebody has to sign in; without it, that is told, and waited for."""
    redirect_uri: str | None = None
    """Where a person is sent back to, if that is a place of yours; `ask` then gives the address they came with."""


def oauth_of(given: OAuthSettings | Ask | None, configured: OAuthSettings | None) -> OAuth | None:
    """What was handed to a server, and what its configuration says, as one."""
    if given is None or isinstance(given, OAuthSettings):
        chosen = given or configured
        return None if chosen is None else _whole(chosen)
    return _whole(configured or OAuthSettings(), ask=given)


def check_oauth(oauth: OAuth, url: str | None, *, headers: Mapping[str, str]) -> None:
    """Refuse what cannot be.

    Raises:
        ConfigurationError: With what to write instead.
    """
    if url is None:
        raise ConfigurationError("auth is for a server with a url; leave it out")
    try:
        refuse_unfit(oauth, url, headers=headers)
    except Fault as fault:
        raise ConfigurationError(str(fault)) from None
    if oauth.redirect_uri is not None and oauth.ask is None:
        raise ConfigurationError("redirect_uri needs ask, which gives the address a person came back with")


def _whole(settings: OAuthSettings, *, ask: Ask | None = None) -> OAuth:
    if isinstance(settings, OAuth):
        return settings
    return OAuth(ask=ask, **{field.name: getattr(settings, field.name) for field in fields(settings)})
