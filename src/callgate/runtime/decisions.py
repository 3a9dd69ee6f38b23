"""Decisions: the face of a gate that people use. Approvals and grants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.approvals.bind import bind, intact
from callgate.approvals.decide import Decider
from callgate.errors import ConfigurationError, GrantNotFound
from callgate.events.recordable import read_back, recordable_bytes
from callgate.events.vocabulary import GRANT_CREATED, GRANT_REVOKED
from callgate.model.approval import Approval, ApprovalState, Grant, GrantScope
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.context import LONGEST_NAME, is_name
from callgate.model.event import Draft
from callgate.model.ids import uuid7
from callgate.model.levels import Assurance, Risk
from callgate.model.person import is_own_agent, named, person_key
from callgate.model.words import member
from callgate.pipeline import deciding
from callgate.runtime.opened import Face
from callgate.runtime.questions import Asker, questions
from callgate.settings.wording import instead, quote

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.ports import Transaction

_LONGEST_GRANT = 10 * 365 * 86_400.0
"""Seconds: what is to last longer is said in the configuration."""


class Decisions(Face):
    """What people decide. In process a name is only *asserted*; doors that know who speaks say so."""

    async def approve(
        self,
        approval_id: str,
        *,
        by: str,
        arguments: dict[str, Any] | None = None,
        assurance: Assurance | str = Assurance.ASSERTED,
        digest: str | None = None,
    ) -> Approval:
        """Say yes; with `arguments`, yes to the call with these instead. Deciding never executes.

        Args:
            approval_id: Which question.
            by: Who says so.
            arguments: What to call it with instead; all of them.
            assurance: How certain it is who says so.
            digest: The `digest` of the question as it was seen; of an edit, also that of what it was shown to make of
                the question. A yes to a question that was edited since it was asked needs it.

        Raises:
            ApprovalNotFound: No such question.
            ApprovalConflict: Not pending any more, not what was seen, or this person may not decide it.
            AssuranceTooLow: It must be more certain who decides; the question stays pending.
            Refusal: The edited call is invalid or not allowed.
        """
        parts = self._open().parts
        return await deciding.approve(parts, approval_id, _decider(by, assurance), arguments, digest=digest)

    async def preview_edit(self, approval_id: str, arguments: dict[str, Any]) -> Approval:
        """The question as an edit would leave it, with what would happen then. Decides nothing.

        Raises:
            ApprovalNotFound: No such question.
            ApprovalConflict: It cannot be edited.
            Refusal: The edited call is invalid or not allowed.
        """
        return await deciding.edited_question(self._open().parts, approval_id, arguments)

    async def reject(
        self,
        approval_id: str,
        *,
        by: str,
        why: str = "",
        assurance: Assurance | str = Assurance.ASSERTED,
        digest: str | None = None,
    ) -> Approval:
        """Say no; with `digest`, only to the question as it was seen.

        Raises:
            ApprovalNotFound: No such question.
            ApprovalConflict: Not pending any more, not what was seen, or an agent tried.
        """
        return await deciding.reject(self._open().parts, approval_id, _decider(by, assurance), why, digest=digest)

    async def respond(
        self,
        approval_id: str,
        *,
        by: str,
        text: str,
        assurance: Assurance | str = Assurance.ASSERTED,
        digest: str | None = None,
    ) -> Approval:
        """Answer the model instead of letting the call run; with `digest`, only to the question as it was seen.

        Raises:
            ApprovalNotFound: No such question.
            ApprovalConflict: Not pending any more, not what was seen, or an agent tried.
        """
        return await deciding.respond(self._open().parts, approval_id, _decider(by, assurance), text, digest=digest)

    async def withdraw(self, approval_id: str) -> Approval:
        """The asker no longer wants it.

        Raises:
            ApprovalNotFound: No such question.
            ApprovalConflict: It was decided already.
        """
        return await deciding.withdraw(self._open().parts, approval_id)

    async def approval(self, approval_id: str) -> Approval:
        """One question as it stands.

        Raises:
            ApprovalNotFound: No such question.
            ApprovalConflict: It was changed by somebody without the key, or put back as it was before.
        """
        return await deciding.reread(self._open().parts, approval_id)

    async def approvals(
        self,
        *,
        states: Iterable[ApprovalState | str] | ApprovalState | str | None = (ApprovalState.PENDING,),
        principal: str | None = None,
        session: str | None = None,
        within: str | None = None,
        behind: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Approval]:
        """Questions, oldest first unless told; the pending ones of everybody unless told otherwise.

        `principal` and `session` say whose; `within` is a session and all below it. With `behind`, only what comes
        after the question of that id in this order.

        Those whose time is up are expired first. One that somebody without the key edited or put back is void: it is
        shown as that among all of them, and nowhere else.
        """
        several = (states,) if isinstance(states, str) else states
        among = None if several is None else frozenset(member(ApprovalState, each, name="states") for each in several)
        parts = self._open().parts
        asker = Asker(principal=principal, session=session, within=within)
        return await questions(parts, among, asker=asker, limit=limit, newest_first=newest_first, behind=behind)

    async def grant(
        self,
        tool: str,
        *,
        by: str,
        principal: str = "agent",
        pattern: dict[str, Any] | None = None,
        max_risk: Risk | str = Risk.MEDIUM,
        scope: GrantScope | str = GrantScope.SESSION,
        scope_id: str = "default",
        seconds: float = 3600.0,
    ) -> Grant:
        """A standing answer to *confirm* for one tool as it is now: narrow, with an end, revocable.

        Raises:
            ToolNotFoundError: No such tool.
            ConfigurationError: The agent grants to itself, the grant would never end or is for nobody, or its pattern
                is not JSON or names an argument that the tool does not have.
        """
        parts = self._open().parts
        target = parts.registry.get(tool)
        max_risk, scope = member(Risk, max_risk, name="max_risk"), member(GrantScope, scope, name="scope")
        if is_own_agent(named(by), principal) or not person_key(by):
            raise ConfigurationError(f"{by or 'nobody'} cannot grant this: it takes a person, not the agent itself")
        if not 0 < seconds <= _LONGEST_GRANT:
            raise ConfigurationError("a grant needs an end, in ten years at the latest: say for how many seconds")
        if not (is_name(principal) and (scope is GrantScope.UNTIL or is_name(scope_id))):
            what = f"the name of an agent, and of its {scope.value} if it is for one"
            raise ConfigurationError(f"a grant needs {what}: a text of 1 to {LONGEST_NAME} characters")
        now = parts.clock.now()
        grant = Grant(
            id=uuid7(),
            tool=tool,
            definition_hash=target.definition_hash,
            principal=principal,
            pattern=_pattern(pattern or {}, target),
            max_risk=max_risk,
            scope=scope,
            scope_id="" if scope is GrantScope.UNTIL else scope_id,
            until=now + seconds,
            granted_by=by,
            created_at=now,
        )
        bound = bind(grant, parts.keys)
        await parts.store.write(lambda tx: _put_grant(tx, bound, GRANT_CREATED, now))
        return bound

    async def grants(self, *, principal: str | None = None, tool: str | None = None) -> list[Grant]:
        """The grants that are in force, oldest first."""
        parts = self._open().parts
        now = parts.clock.now()
        found = await parts.store.read(lambda reader: reader.grants(principal=principal, tool=tool))
        return [grant for grant in found if now < grant.until and intact(grant, parts.keys)]

    async def revoke(self, grant_id: str, *, by: str) -> Grant:
        """End a grant now.

        Raises:
            GrantNotFound: No such grant, or somebody without the key put another in its place.
            ConfigurationError: Who does it is no text.
        """
        parts = self._open().parts
        now, by = parts.clock.now(), named(by)

        def unit(tx: Transaction) -> Grant:
            found = tx.grant(grant_id)
            if found is None or found.id != grant_id:
                raise GrantNotFound(f"Unknown grant: {grant_id}")
            gone = replace(found, revoked_at=found.revoked_at or now)
            if intact(found, parts.keys):  # one that was edited stays so, for who verifies
                gone = bind(gone, parts.keys)
            _put_grant(tx, gone, GRANT_REVOKED, now, by=by)
            return gone

        return await parts.store.write(unit)


def _decider(by: str, assurance: Assurance | str) -> Decider:
    return Decider(name=named(by), assurance=member(Assurance, assurance, name="assurance"))


def _pattern(pattern: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """The pattern as it will be read again, so that its seal still fits."""
    schema = tool.input_schema
    known = sorted(schema.get("properties", {}))
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    for name in pattern:
        if closed and name not in known:
            # It would answer nothing, and whoever gave it would be asked all the same.
            advice = instead(name, known) if known else "there are no arguments"
            raise ConfigurationError(f"{tool.name} has no argument {quote(name)}; {advice}", key="pattern")
    written = recordable_bytes(pattern)
    try:
        if written == dumps(pattern):
            return read_back(written)
    except NotCanonical:
        pass
    raise ConfigurationError("a grant's pattern must be plain JSON, with no number beyond 308 digits")


def _put_grant(tx: Transaction, grant: Grant, event: str, now: float, **more: Any) -> None:
    tx.put_grant(grant)
    payload = {
        "grant_id": grant.id,
        "tool": grant.tool,
        "principal": grant.principal,
        "granted_by": grant.granted_by,
        "max_risk": grant.max_risk.label,
        "definition_hash": grant.definition_hash,
        "scope": grant.scope.value,
        "scope_id": grant.scope_id,
        "until": grant.until,
    }
    tx.append(Draft(type=event, time=now, trace=grant.id, payload=payload | more))
