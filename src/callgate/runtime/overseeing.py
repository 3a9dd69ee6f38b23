"""Overseeing: the face of a gate for people who look over its policy. Who may do what, before anybody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from callgate.model.context import Context
from callgate.model.levels import Risk, Verdict
from callgate.runtime.opened import Face
from callgate.settings.matrix import resolve_matrix

if TYPE_CHECKING:
    from callgate.model.levels import Autonomy
    from callgate.model.tool import Tool
    from callgate.settings.values import Matrix, Settings


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


class Overseeing(Face):
    """The policy in force, as people look at it."""

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
