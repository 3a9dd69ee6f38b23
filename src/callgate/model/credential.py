"""Credential: what somebody shows at a network door, and what it lets them do. An agent's or a person's, never both."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from callgate.model.context import Context
from callgate.model.levels import Autonomy


class CredentialKind(enum.StrEnum):
    """Whose it is."""

    AGENT = "agent"
    """It may call."""
    PERSON = "person"
    """It may decide, administer and read, and never call."""


class Right(enum.StrEnum):
    """What a person may do."""

    READ = "read"
    """See calls, approvals, tools and the record."""
    DECIDE = "decide"
    """Answer questions, and say of unknown outcomes whether they happened."""
    ADMINISTER = "administer"
    """Trust tools, give and take credentials and grants, erase."""


ALL_RIGHTS = frozenset(Right)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Who comes in, and the most they may be there. `mac` covers all of it; the token itself is kept nowhere."""

    id: str
    kind: CredentialKind
    name: str
    """The agent's principal, or the person's name."""
    role: str = "default"
    scopes: frozenset[str] | None = None
    """As in a context: None inherits the role's."""
    autonomy: Autonomy | None = None
    user: str | None = None
    """The person an agent acts for."""
    session: str = "default"
    many_sessions: bool = False
    """Whether a request may name a session, which is then one below this one."""
    attended: bool = False
    """Whether a person sits at the client and may be asked through it."""
    read_only: bool = False
    no_web: bool = False
    rights: frozenset[Right] = frozenset()
    """Of a person; an agent has none."""
    created_at: float
    created_by: str
    expires_at: float | None = None
    revoked_at: float | None = None
    digest: str = ""
    """Keyed, of the token."""
    password: str = ""
    """Salted and stretched, of a person who signs in with one; empty if they cannot."""
    mac: str = ""

    def counts(self, now: float) -> bool:
        """Whether it still opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def may(self, right: Right) -> bool:
        """Whether this is a person with that right."""
        return self.kind is CredentialKind.PERSON and right in self.rights

    def context(self) -> Context:
        """What an agent's calls are made under before a request narrows it.

        Raises:
            ValueError: It is a person's: people do not call.
        """
        if self.kind is not CredentialKind.AGENT:
            message = "a person's credential cannot call"
            raise ValueError(message)
        return Context(
            principal=self.name,
            user=self.user,
            session=self.session,
            role=self.role,
            scopes=self.scopes,
            autonomy=self.autonomy,
            read_only=self.read_only,
            no_web=self.no_web,
            # One that another server gave is in no register: it ends when it says so.
            credential=self.id if self.digest else None,
            expires_at=self.expires_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A person signed in at the console with one browser, until it ends. Its cookie is kept nowhere but there."""

    id: str
    credential: Credential
    expires_at: float
    stamp: str
    """What forms of this visit carry, so that nobody else's page can send them."""
