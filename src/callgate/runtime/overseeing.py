"""Overseeing: the face of a gate for people who look over its policy. Who may do what, before anybody asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from callgate.events import projections
from callgate.model.context import Context
from callgate.model.layer import Layer
from callgate.model.levels import Risk, Verdict
from callgate.runtime.coverage import Coverage, agents_covered, covered, judged_here, sources_covered
from callgate.runtime.figures import DECIDED, STATUSES, Figures, Span, figures
from callgate.runtime.opened import Face
from callgate.settings.matrix import resolve_matrix
from callgate.settings.values import OPEN_ROLE

if TYPE_CHECKING:
    from callgate.model.approval import Approval
    from callgate.model.health import Health
    from callgate.model.levels import Autonomy
    from callgate.model.tool import Tool
    from callgate.ports import Reader
    from callgate.runtime.decisions import Decisions
    from callgate.runtime.doorkeeping import Doorkeeping
    from callgate.runtime.observing import Observing
    from callgate.runtime.reviewing import Reviewing
    from callgate.runtime.sourcing import Sourcing
    from callgate.runtime.toolbox import Toolbox
    from callgate.runtime.trusting import Trusting
    from callgate.settings.values import Matrix, Settings

    class _Gate(Decisions, Doorkeeping, Observing, Reviewing, Sourcing, Toolbox, Trusting):
        """The faces of a gate that this one looks through."""


_RECENT = 2000
_QUESTIONS = 1000


class RoleStanding(NamedTuple):
    """What a role may do with a tool, whatever the arguments."""

    verdict: Verdict
    """The loosest answer a call of it can get."""
    reason: str
    """Why it is refused; empty where it is not."""
    risk: Risk
    autonomy: Autonomy
    depends: bool = False
    """Whether the answer may be stricter, by the arguments, the hour or what was done before."""


class RoleGiven(NamedTuple):
    """What a role gives to whoever acts in it."""

    name: str
    scopes: tuple[str, ...] | None
    """Exact scopes, `family:*` or `*`; None is every scope but `secrets:*`, as without any roles."""
    autonomy: Autonomy | None
    """How much is done without asking where the context does not say; None is the configuration's."""
    layer: Layer


class ConnectorStanding(NamedTuple):
    """One outside system behind tools."""

    connector: str
    tools: int
    health: Health


class Overseeing(Face):
    """The policy in force, as people look at it, and what comes of it."""

    def matrix(self) -> Matrix:
        """Which verdict autonomy and risk give together."""
        return resolve_matrix(self._open().parts.settings.matrix)

    def settings_in_force(self) -> Settings:
        """The configuration that this gate was opened with."""
        return self._open().parts.settings

    def role_standing(self, tool: Tool, role: str) -> RoleStanding:
        """What somebody in this role may do with a tool."""
        found = self._open().parts.policy.standing(tool, Context(role=role))
        if found.refusal is not None:
            return RoleStanding(Verdict.DENY, found.refusal.text, found.risk, found.autonomy)
        if found.fixed is not None:
            return RoleStanding(found.fixed.verdict, "", found.risk, found.autonomy)
        reads = tool.read_only and found.risk is Risk.LOW
        verdict = Verdict.ALLOW if reads else self.matrix()[found.autonomy][found.risk][0]
        return RoleStanding(verdict, "", found.risk, found.autonomy, depends=True)

    def role_given(self, role: str) -> RoleGiven:
        """What a role of the configuration gives; without any roles, what `default` does.

        Raises:
            KeyError: There is no such role.
        """
        roles = self._open().parts.settings.roles
        if roles is None and role == OPEN_ROLE.name:
            return RoleGiven(role, None, None, OPEN_ROLE)
        found = (roles or {})[role]
        return RoleGiven(role, tuple(sorted(found.scopes)), found.autonomy, found.layer)

    async def before(self, question: Approval, *, limit: int = 8) -> list[dict[str, Any]]:
        """What the asker of a question did before it in the same session, as `calls()` has it, the newest first."""
        # Asked of the store like this, so that however much it does afterwards hides nothing.
        found = await cast("_Gate", self).calls(
            limit=limit, earlier_than=question.call_id, principal=question.principal, session=question.session
        )
        return found[::-1]

    async def figures(self, *, back: float, step: float) -> Figures:
        """How much was called in the last `back` seconds and how it ended, by steps of so many seconds."""
        parts = self._open().parts
        span = Span(parts.clock.now(), back, step)
        decided = await cast("_Gate", self).approvals(states=DECIDED, limit=_QUESTIONS, newest_first=True)
        await projections.refresh(parts.store, "calls")

        def unit(reader: Reader) -> Figures:
            counts = reader.counts("calls", since=span.since, stretch=step)
            took = reader.middle_duration("calls", since=span.since, statuses=STATUSES)
            return figures(counts, decided, took=took, span=span)

        # The store counts: however many calls there were, none of them is read.
        return await parts.store.scan(unit)

    def connectors(self) -> list[ConnectorStanding]:
        """Every system that tools name, and whatever else was ever in trouble; with how many tools it has."""
        gate = cast("_Gate", self)
        counted = Counter(each.connector or each.name for each in gate.tools())
        named = {each.connector for each in gate.tools() if each.connector not in {"", each.name}}
        found = [ConnectorStanding(name, number, gate.health(name)) for name, number in sorted(counted.items())]
        return [each for each in found if each.connector in named or each.health.last_error_at is not None]

    async def coverage(self) -> Coverage:
        """What this gate governs: its tools source by source, who calls through it, and the hosts of this machine."""
        gate, parts = cast("_Gate", self), self._open().parts
        now = parts.clock.now()
        held = {each.name for each in gate.quarantined()}
        hosts = tuple(await asyncio.to_thread(lambda: list(covered(Path.cwd()))))
        return Coverage(
            hosts=hosts,
            sources=sources_covered(judged_here(gate.tools(), hosts), gate.sources(), held=held, modes=gate.observed()),
            agents=agents_covered(await gate.credentials(), await gate.calls(limit=_RECENT), now=now),
        )
