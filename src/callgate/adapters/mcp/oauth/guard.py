"""Where the requests of a sign-in may go: a server decides about itself, and never where else we knock. Pure."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from callgate.errors import SignInFailed
from callgate.model.visible import brief
from callgate.policy.hosts import Unfit, is_private, read_host

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """Judges the addresses of one sign-in.

    Args:
        server: The URL of the server that is signed in at.
        issuer: The authorization server the operator named, if he did.
    """

    def __init__(self, server: str, issuer: str | None) -> None:
        self._server = urlsplit(server)
        self._issuer = None if issuer is None else urlsplit(issuer)

    def own(self, url: str, what: str) -> None:
        """Let an address of the server itself pass: what it says of itself it says at its own place.

        Raises:
            SignInFailed: It is of another origin.
        """
        if _origin(urlsplit(url)) != _origin(self._server):
            raise SignInFailed(f"the server keeps {what} elsewhere ({brief(url)}); only its own place counts")

    def any(self, url: str, what: str) -> None:
        """Let an address of an authorization server pass.

        Raises:
            SignInFailed: It is not encrypted, has a credential in it, or is in a private network the server is not in.
        """
        try:
            host = read_host(url)
        except Unfit as error:
            raise SignInFailed(f"{what} is at no address that can be used: {error}") from None
        parts = urlsplit(url)
        if host is None or parts.scheme not in {"https", "http"}:
            raise SignInFailed(f"{what} is at no address that can be used: {brief(url)}")
        if parts.scheme == "http" and host.name not in _HERE:
            raise SignInFailed(f"{what} would be reached without encryption ({brief(url)}); it needs https")
        if is_private(host.name) and not self._may_be_private(host.name):
            advice = "if that is meant, name it under auth.oauth.issuer"
            raise SignInFailed(f"the server leads to the private host {host} for {what}; {advice}")

    def _may_be_private(self, name: str) -> bool:
        """Who runs in a private network knows of it; the operator may say so of anybody."""
        named = self._issuer is not None and (self._issuer.hostname or "").lower() == name
        return named or is_private((self._server.hostname or "").lower())


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return parts.scheme.lower(), (parts.hostname or "").lower(), port


def same_origin(one: str, other: str) -> bool:
    """Whether two addresses are of one place."""
    return _origin(urlsplit(one)) == _origin(urlsplit(other))
