"""Doorkeeping: the face of a gate for whoever says who is let in at its network doors, and who not any more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from callgate.credentials import passwords, register, visits
from callgate.errors import ConfigurationError
from callgate.events.vocabulary import CREDENTIAL_ISSUED, CREDENTIAL_REVOKED, PERSON_SIGNED_OUT
from callgate.model.credential import ALL_RIGHTS, Credential, CredentialKind, Right
from callgate.model.event import Draft
from callgate.model.ids import uuid7
from callgate.model.person import TRYING, named, person_key
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.ports import Transaction

LINK_SECONDS = 600.0
"""For how long a link lets somebody in."""


class Doorkeeping(Face):
    """Who is let in."""

    async def admit_agent(
        self, name: str, *, by: str, expires_at: float | None = None, **limits: Any
    ) -> tuple[Credential, str]:
        """A credential under which an agent may call, and its token, which is shown this once.

        Args:
            name: Its principal.
            by: Who lets it in.
            expires_at: Seconds since the epoch; it opens nothing after that.
            **limits: Fields of an agent's `Credential`: `role`, `scopes`, `autonomy`, `user`, `session`,
                `many_sessions`, `attended`, `read_only`, `no_web`.

        Raises:
            ConfigurationError: The name is a person's, there is no such role, or a limit is none.
        """
        made = self._new(CredentialKind.AGENT, name, by=by, expires_at=expires_at, **limits)
        self._need_role(made.role)
        return await self._issue(made)

    async def admit_person(
        self, name: str, *, by: str, rights: Iterable[Right | str] = ALL_RIGHTS, expires_at: float | None = None
    ) -> tuple[Credential, str]:
        """A credential with which a person may decide, administer and read, and its token, which is shown this once.

        Raises:
            ConfigurationError: The name is an agent's, or there is no such right.
        """
        try:
            chosen = frozenset(map(Right, rights))
        except ValueError:
            raise ConfigurationError(f"the rights of a person are {', '.join(Right)}") from None
        return await self._issue(self._new(CredentialKind.PERSON, name, by=by, expires_at=expires_at, rights=chosen))

    async def revoke_credential(self, which: str, *, by: str) -> Credential:
        """End a credential, and every visit made with it, now.

        Raises:
            CredentialNotFound: There is none of that id.
            ConfigurationError: Who does it is no text.
        """
        parts = self._open().parts
        now, by = parts.clock.now(), named(by)

        def unit(tx: Transaction) -> Credential:
            found = register.needed(tx, which, keys=parts.keys)
            if found.revoked_at is not None:
                return found
            ended = register.change(tx, which, keys=parts.keys, revoked_at=now)
            tx.append(_draft(CREDENTIAL_REVOKED, ended, at=now, by=by))
            return ended

        return await parts.store.write(unit)

    async def credentials(self) -> list[Credential]:
        """All credentials, oldest first, ended ones too. Of a token nothing is left but its digest."""
        parts = self._open().parts
        return await parts.store.read(lambda reader: register.credentials(reader, keys=parts.keys))

    async def set_password(self, which: str, password: str) -> Credential:
        """Let a person sign in with this password from now on.

        Raises:
            CredentialNotFound: There is none of that id.
            ConfigurationError: It is an agent's, or the password is too short.
        """
        parts = self._open().parts
        kept = await asyncio.to_thread(passwords.stretched, password)

        def unit(tx: Transaction) -> Credential:
            if register.needed(tx, which, keys=parts.keys).kind is not CredentialKind.PERSON:
                raise ConfigurationError("an agent shows its token; only people have passwords")
            return register.change(tx, which, keys=parts.keys, password=kept)

        return await parts.store.write(unit)

    async def sign_in_link(self, which: str) -> str:
        """A code that lets this person into the console once, within ten minutes.

        Raises:
            CredentialNotFound: There is none of that id.
            ConfigurationError: It is an agent's, or lets nobody in any more.
        """
        parts = self._open().parts
        now = parts.clock.now()

        def unit(tx: Transaction) -> str:
            found = register.needed(tx, which, keys=parts.keys)
            if found.kind is not CredentialKind.PERSON or not found.counts(now):
                raise ConfigurationError("a link into the console is for a person who is let in; this one is not")
            return visits.new_link(tx, found, keys=parts.keys, now=now, until=now + LINK_SECONDS)

        return await parts.store.write(unit)

    async def end_visits(self, which: str, *, by: str) -> int:
        """Sign a person out everywhere, and let go of links that were not used yet; how many visits ended.

        Their credential goes on: they can sign in again.

        Raises:
            CredentialNotFound: There is none of that id.
            ConfigurationError: Who does it is no text.
        """
        parts = self._open().parts
        now, by = parts.clock.now(), named(by)

        def unit(tx: Transaction) -> int:
            found = register.needed(tx, which, keys=parts.keys)
            ended = visits.end_visits(tx, found)
            tx.append(_draft(PERSON_SIGNED_OUT, found, at=now, by=by))
            return ended

        return await parts.store.write(unit)

    def in_seconds(self, seconds: float | None) -> float | None:
        """The moment that is so many seconds away, by the gate's own clock; None stays None."""
        return None if seconds is None else self._open().parts.clock.now() + seconds

    def _new(self, kind: CredentialKind, name: str, *, by: str, expires_at: float | None, **fields: Any) -> Credential:
        now, by = self._open().parts.clock.now(), named(by)
        if not person_key(name):
            raise ConfigurationError("a credential needs a name that can be seen")
        if kind is CredentialKind.AGENT and person_key(name).startswith(TRYING):
            raise ConfigurationError(f"names that begin with {TRYING} are those under which people try tools")
        if expires_at is not None and not now < expires_at < float("inf"):
            raise ConfigurationError("a credential has to end in the future, or not at all")
        try:
            made = Credential(
                id=uuid7(), kind=kind, name=name, created_at=now, created_by=by, expires_at=expires_at, **fields
            )
            if kind is CredentialKind.AGENT:
                made.context()
        except (TypeError, ValueError) as error:
            raise ConfigurationError(str(error)) from None
        return made

    def _need_role(self, role: str) -> None:
        known = self._open().parts.settings.role_names
        if role not in known:
            raise ConfigurationError(f"there is no role {role}; the roles are {', '.join(known)}")

    async def _issue(self, made: Credential) -> tuple[Credential, str]:
        parts = self._open().parts

        def unit(tx: Transaction) -> tuple[Credential, str]:
            kept, token = register.issue(tx, made, keys=parts.keys)
            tx.append(_draft(CREDENTIAL_ISSUED, kept, at=kept.created_at, by=kept.created_by))
            return kept, token

        return await parts.store.write(unit)


def _draft(event: str, credential: Credential, *, at: float, by: str) -> Draft:
    payload: dict[str, Any] = {"credential": credential.id, "kind": credential.kind.value, "name": credential.name}
    if credential.kind is CredentialKind.AGENT:
        payload |= {"role": credential.role, "session": credential.session}
    else:
        payload["rights"] = sorted(credential.rights)
    return Draft(type=event, time=at, trace=credential.id, payload=payload | {"by": by})
