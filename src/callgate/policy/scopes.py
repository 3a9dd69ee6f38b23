"""Scopes: what a call needs, and what its role and its context grant. Knows nothing of layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from callgate.model.nearest import nearest
from callgate.settings.values import DEFAULT_FAMILIES, Family
from callgate.settings.wording import quote

ANY = "*"
SECRETS = "secrets"


def family_of(scope: str) -> str:
    """The part before the colon, in the one spelling it is compared in."""
    return scope.partition(":")[0].strip().casefold()


def touches_secrets(scopes: Iterable[str]) -> bool:
    """Whether any of the scopes is, or includes, one of `secrets:*`."""
    return any(family_of(scope) in (SECRETS, ANY) for scope in scopes)


class Families:
    """The scope families of one configuration: those that exist, and the operator's own."""

    def __init__(self, families: Mapping[str, Family]) -> None:
        self.known: Mapping[str, Family] = {**DEFAULT_FAMILIES, **families}
        # A pool asks about thousands of tools, which have few scopes between them.
        self._meant = lru_cache(maxsize=1024)(self._look_up)

    def unknown(self, scopes: Iterable[str]) -> list[str]:
        """The families of these scopes that nobody has declared: what they open and ask for, nobody knows."""
        return sorted({family_of(scope) for scope in scopes} - self.known.keys() - {ANY})

    def speak_of(self, what: str, scopes: Iterable[str]) -> bool:
        """Whether a family of these scopes says which `paths` or `hosts` may be touched; an unknown one could."""
        return bool(self.unknown(scopes) or self.speaking(what, scopes))

    def speaking(self, what: str, scopes: Iterable[str]) -> list[str]:
        """The families of these scopes that say which `paths` or `hosts` may be touched."""
        wanted = {family_of(scope) for scope in scopes}
        named = self.known if ANY in wanted else wanted & self.known.keys()
        return [name for name in sorted(named) if getattr(self.known[name], what) is not None]

    def mistyped(self, scopes: Iterable[str]) -> bool:
        """Whether one of the scopes is of a family that is nearly another."""
        return any(self._meant(scope) for scope in scopes)

    def mistakes(self, scopes: Iterable[str]) -> list[str]:
        """What is to be said of each mistyped family, with the one that was probably meant."""
        return [
            f"there is no scope family {quote(family)}; did you mean {meant}? {self.advice(family)}"
            for family in self.unknown(scopes)
            if (meant := self._meant(family))
        ]

    def advice(self, family: str) -> str:
        """How a family becomes one."""
        return f"(a family of your own is declared: scopes: {{{family}: {{custom: true}}}} in callgate.yaml)"

    def _look_up(self, scope: str) -> str | None:
        family = family_of(scope)
        return None if family in self.known or family == ANY else nearest(family, self.known)


BUILT_IN = Families({})


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
