"""Scopes: what a call needs, and what its role and its context grant. Knows nothing of layers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ANY = "*"
SECRETS = "secrets"


def family_of(scope: str) -> str:
    """The part before the colon, in the one spelling it is compared in."""
    return scope.partition(":")[0].strip().casefold()


def touches_secrets(scopes: Iterable[str]) -> bool:
    """Whether any of the scopes is, or includes, one of `secrets:*`."""
    return any(family_of(scope) in (SECRETS, ANY) for scope in scopes)


@dataclass(frozen=True, slots=True)
class Granted:
    """Scopes somebody was given: exact ones, `family:*`, or `*`."""

    scopes: frozenset[str]
    all_but_secrets: bool = False
    """The open `default` role: everything, except what touches secrets."""

    def lacks(self, required: Iterable[str]) -> frozenset[str]:
        """The required scopes that are not among the granted."""
        return frozenset(scope for scope in required if not self._has(scope))

    def _has(self, scope: str) -> bool:
        if ANY in self.scopes or scope in self.scopes:
            return True
        family, colon, _ = scope.partition(":")
        if colon and f"{family}:*" in self.scopes:
            return True
        return self.all_but_secrets and not touches_secrets((scope,))


OPEN = Granted(frozenset(), all_but_secrets=True)
"""What the role `default` has while a configuration names no roles."""
