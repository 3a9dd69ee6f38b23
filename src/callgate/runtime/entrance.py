"""Entrance: the face of a gate that network doors use. Who comes in, and under which context they may call there."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.credentials import passwords, register, visits
from callgate.events.vocabulary import ENTRY_REFUSED, KINDS, PERSON_SIGNED_IN, PERSON_SIGNED_OUT
from callgate.model.canonical import dumps
from callgate.model.context import Context
from callgate.model.credential import Credential, Visit
from callgate.model.event import Draft
from callgate.model.person import same_person
from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.approval import Approval
    from callgate.ports import Transaction

VISIT_SECONDS = 12 * 3600.0
"""For how long a person stays signed in."""
_SOON = 0.05
_SELDOM = 300.0
"""Seconds in which wrong links are recorded once: any page can have a browser ask for as many as it likes."""
_AT_ONCE = 2
"""Passwords that are tried at one time: each takes 32 MiB and a thread."""


class Entrance(Face):
    """Coming in. A door asks here who somebody is, and never decides it itself."""

    _told_until = 0.0
    _untold = 0
    _trying: asyncio.Semaphore | None = None

    async def identify(self, token: str) -> Credential | None:
        """Whose token this is; None if it is nobody's, or opens nothing any more."""
        opened = self._open()
        parts = opened.parts
        # One document, asked for with every request: it needs no transaction around it.
        found = await parts.store.peek(lambda reader: register.shown(reader, token, keys=parts.keys, seen=opened.shown))
        return found if found is not None and found.counts(parts.clock.now()) else None

    async def enter_by_link(self, code: str) -> str | None:
        """The cookie of a visit that this code began; None if it lets nobody in, or did so already."""
        parts = self._open().parts
        now = parts.clock.now()
        # Nobody guesses a code, so wrong ones are not counted against anybody; they only cost no more than a look.
        if not await parts.store.read(lambda reader: visits.is_link(reader, code, keys=parts.keys, now=now)):
            await self._refuse_link(now)
            return None

        def unit(tx: Transaction) -> str | None:
            return self._begin(tx, visits.use_link(tx, code, keys=parts.keys, now=now), how="link")

        return await parts.store.write(unit)

    async def enter_by_password(self, name: str, password: str) -> str | None:
        """The cookie of a visit that this password began; None if it lets nobody in. Takes as long for any name."""
        parts = self._open().parts
        now = parts.clock.now()
        known = await parts.store.read(lambda reader: register.credentials(reader, keys=parts.keys))
        fitting = [each for each in known if each.password and each.counts(now) and same_person(each.name, name)]
        kept = fitting[-1].password if fitting else ""
        async with self._turn():
            fits = await asyncio.to_thread(passwords.password_fits, password, kept)
        holder = fitting[-1] if fitting and fits else None
        return await parts.store.write(lambda tx: self._begin(tx, holder, how="password"))

    async def visit(self, cookie: str) -> Visit | None:
        """The visit that this cookie is of; None if it is over."""
        parts = self._open().parts
        now = parts.clock.now()
        return await parts.store.read(lambda reader: visits.visit(reader, cookie, keys=parts.keys, now=now))

    async def leave(self, cookie: str) -> None:
        """End a visit."""
        parts = self._open().parts

        def unit(tx: Transaction) -> None:
            if visits.end_visit(tx, cookie, keys=parts.keys):
                self._tell(tx, PERSON_SIGNED_OUT)

        await parts.store.write(unit)

    async def still_counts(self, credential: Credential) -> bool:
        """Whether a credential that let somebody in opens anything now, whichever process may have ended it."""
        parts = self._open().parts
        found: Credential | None = credential
        if credential.digest:  # else it is of an authorization server, and in no register
            found = await parts.store.read(lambda reader: register.credential(reader, credential.id, keys=parts.keys))
        return found is not None and found.counts(parts.clock.now())

    async def until_ended(self, credential: Credential, *, every: float) -> None:
        """Wait until a credential opens nothing any more: looked at every so many seconds, and when it is to end."""
        clock = self._open().parts.clock
        while await self.still_counts(credential):
            left = every if credential.expires_at is None else credential.expires_at - clock.now()
            await asyncio.sleep(max(_SOON, min(every, left)))

    def narrowed(self, credential: Credential, **changes: Any) -> Context:
        """The context of a request: the credential's, and what the request gives up of it.

        Raises:
            ValueError: The request would be more than its credential; the message says what.
        """
        ground = credential.context()
        session = changes.pop("session", None)
        if session is not None and session != ground.session:
            ground = _below(ground, credential, session)
        intent = changes.pop("intent", None)
        if intent is not None:
            _need_intent(credential)
            ground = replace(ground, intent=intent)
        return ground.narrow(**changes)

    def form_state(self, approval: Approval, context: Context) -> str:
        """What a form about a question carries that is put to the person at this asker's client.

        Nobody else can make it, so that an answer that comes back with it is to this form, and to no other.
        """
        return f"{approval.id}.{approval.digest}.{self._form_mac(approval.id, approval.digest, context)}"

    def asked_by_form(self, state: str, context: Context) -> tuple[str, str] | None:
        """Which question a form with this state showed, and its digest; None if no such form was put to this asker."""
        approval_id, _, rest = state.partition(".")
        digest, _, mac = rest.partition(".")
        fits = hmac.compare_digest(self._form_mac(approval_id, digest, context).encode(), mac.encode(errors="replace"))
        return (approval_id, digest) if fits else None

    def _form_mac(self, approval_id: str, digest: str, context: Context) -> str:
        whose = [context.principal, context.session, context.user]
        return self._open().parts.keys.mac(b"form\0" + dumps([approval_id, digest, *whose]))

    def _begin(self, tx: Transaction, holder: Credential | None, *, how: str) -> str | None:
        parts = self._open().parts
        now = parts.clock.now()
        if holder is None:
            self._tell(tx, ENTRY_REFUSED, how=how, reason=f"the {how} lets nobody in")
            return None
        self._tell(tx, PERSON_SIGNED_IN, how=how, by=holder.name, credential=holder.id)
        return visits.new_visit(tx, holder, keys=parts.keys, now=now, until=now + VISIT_SECONDS)

    async def _refuse_link(self, now: float) -> None:
        """Record that a link let nobody in, once in a while, and how many did since the last time."""
        if now < self._told_until:
            self._untold += 1
            return
        more, self._untold, self._told_until = self._untold, 0, now + _SELDOM
        payload = {"how": "link", "reason": "the link lets nobody in"} | ({"unrecorded": more} if more else {})
        await self._open().parts.store.write(lambda tx: self._tell(tx, ENTRY_REFUSED, **payload))

    def _turn(self) -> asyncio.Semaphore:
        if self._trying is None:
            self._trying = asyncio.Semaphore(_AT_ONCE)
        return self._trying

    def _tell(self, tx: Transaction, event: str, **payload: Any) -> None:
        opened = self._open()
        now, trace = opened.parts.clock.now(), opened.default_context.trace_id
        tx.append(Draft(type=event, time=now, trace=trace, severity=KINDS[event].severity, payload=payload))


def _below(ground: Context, credential: Credential, session: str) -> Context:
    if not credential.many_sessions:
        message = f"this credential has the one session {ground.session}"
        raise ValueError(message)
    return replace(ground, session=f"{ground.session}/{session}")


def _need_intent(credential: Credential) -> None:
    if credential.scopes is None or "intent:assert" not in credential.scopes:
        message = "this credential may not say what its user wants: it lacks the scope intent:assert"
        raise ValueError(message)
