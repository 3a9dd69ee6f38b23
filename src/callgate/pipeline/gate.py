"""Step 5, gate: risk, overrides, autonomy by risk. Allow, ask a person, show, or refuse."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from callgate.approvals.bind import intact
from callgate.approvals.grants import matching
from callgate.events.vocabulary import GRANT_REVOKED
from callgate.model.decision import Decision, Reason
from callgate.model.levels import Verdict
from callgate.model.outcome import Previewed
from callgate.pipeline.go_on import going_on
from callgate.pipeline.preview import preview
from callgate.pipeline.question import ask
from callgate.pipeline.stopped import Stopped, declared_effects, refused
from callgate.pipeline.weigh import decide, decided_before

if TYPE_CHECKING:
    from callgate.model.approval import Approval, Grant
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.recall import Recalled
    from callgate.ports import Reader

_ALLOW = Verdict.ALLOW  # looking a member up takes as long as deciding
_log = logging.getLogger("callgate")


@dataclass(slots=True)
class Passed:
    """A call the gate lets through, and what let it."""

    authorized: Authorized
    decision: Decision
    approval: Approval | None = None
    """The approval the claim uses up."""
    final: Authorized | None = None
    """The call as a person edited it; None when it runs as it was asked."""
    grant: Grant | None = None
    """The standing answer that let it through, which must still stand at the claim."""

    @property
    def runs(self) -> Authorized:
        """What will really run."""
        return self.final or self.authorized

    @property
    def text(self) -> bytes:
        """The arguments that will really run, in canonical JSON."""
        return self.runs.text


async def gate(parts: Parts, recalled: Recalled) -> Passed:
    """Let the call through, or end it here.

    Raises:
        Stopped: Previewed, Pending, gate_denied, or what a person said.
    """
    authorized = recalled.authorized
    decision = decided_before(parts, authorized) or await decide(parts, authorized)
    if decision.verdict is _ALLOW:
        return Passed(authorized, decision)
    if decision.verdict is Verdict.DENY:
        raise _denied(authorized, decision)
    if decision.verdict is Verdict.PREVIEW:
        raise await _previewed(parts, authorized, decision)
    grant = await standing_grant(parts, authorized, decision)
    if grant is not None:
        return Passed(authorized, answered_by(grant, decision), grant=grant)
    return Passed(*(await going_on(parts, authorized, decision) or await ask(parts, authorized, decision)))


async def standing_grant(parts: Parts, authorized: Authorized, decision: Decision) -> Grant | None:
    """The standing grant that answers a confirm; None if there is none."""
    return matching(
        await parts.store.read(lambda reader: _standing_grants(parts, authorized, reader)),
        tool=authorized.tool,
        arguments=authorized.arguments,
        context=authorized.asked.context,
        decision=decision,
        now=parts.clock.now(),
    )


def answered_by(grant: Grant, decision: Decision) -> Decision:
    """The decision, with its confirm answered by the grant."""
    reason = Reason("grant", f"grant {grant.id} by {grant.granted_by} answers the confirm", Verdict.ALLOW)
    return replace(decision, verdict=Verdict.ALLOW, reasons=(*decision.reasons, reason))


def _standing_grants(parts: Parts, authorized: Authorized, reader: Reader) -> list[Grant]:
    """The grants that somebody with the key gave and, as the events say, nobody took back."""
    principal, tool = authorized.asked.context.principal, authorized.tool.name
    standing: list[Grant] = []
    for grant in reader.grants(principal=principal, tool=tool):
        if not intact(grant, parts.keys):
            _log.warning("grant %s was changed in the store by somebody without the key; it is ignored", grant.id)
        elif not is_revoked(reader, grant):
            standing.append(grant)
    return standing


def is_revoked(reader: Reader, grant: Grant) -> bool:
    """Whether somebody took the grant back, as the events say."""
    return bool(reader.events(trace=grant.id, types=(GRANT_REVOKED,), limit=1))


def _denied(authorized: Authorized, decision: Decision) -> Stopped:
    decisive = [reason for reason in decision.reasons if reason.verdict is Verdict.DENY]
    text = decisive[-1].text if decisive else f"{authorized.tool.name} is denied at this risk and autonomy"
    if decisive and decisive[-1].step == "matrix":
        # A call like one that was let through before is denied for what raised its risk since.
        text = "; ".join([text, *(reason.text for reason in decision.reasons if reason.raises)])
    code = decision.code or "gate_denied"
    return refused(authorized.asked, code, text, tool=authorized.tool, decision=decision, event="gate.denied")


async def _previewed(parts: Parts, authorized: Authorized, decision: Decision) -> Stopped:
    shown = await preview(parts, authorized)
    asked = authorized.asked
    outcome = Previewed(
        tool=authorized.tool.name,
        call_id=asked.call_id,
        trace_id=asked.context.trace_id,
        key=asked.key,
        decision=decision,
        side_effects=declared_effects(authorized.tool),
        preview=parts.striker.strike(shown.preview),  # its state as well, which an approval binds as it is
        supported=shown.supported,
    )
    payload: dict[str, Any] = {"decision": decision.to_json(), "supported": shown.supported}
    if shown.preview is not None:
        payload["preview"] = shown.preview.text
    return Stopped(outcome, event="gate.previewed", payload=payload)
