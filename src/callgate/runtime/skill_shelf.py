"""The skills of a gate: which there are, the tools they are at the moment, and what keeps them from their work.

A skill is made anew whenever one of its tools comes, changes or goes: what it declares is what they declare.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from callgate.runtime.entering import enter
from callgate.runtime.way_taken import WayTaken
from callgate.skills.declaring import findings
from callgate.skills.making import make_skill_tool
from callgate.sync import Bridge

if TYPE_CHECKING:
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.outcome import Outcome
    from callgate.model.tool import Tool
    from callgate.registry.registry import Changes, Registry
    from callgate.runtime.opened import Opened
    from callgate.skills.skill import Skill

_log = logging.getLogger("callgate")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillReport:
    """How a skill stands."""

    name: str
    tools: tuple[str, ...]
    """Every tool it can reach."""
    missing: tuple[str, ...] = ()
    """Those that are not there; the worst is assumed of them."""
    findings: tuple[str, ...] = ()
    """What will keep it from doing its work, each in a sentence."""

    @property
    def ok(self) -> bool:
        """Whether nothing is known that would."""
        return not self.findings


class GateWay:
    """The way to one gate, for the calls inside its skills."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def of_run(self, context: Context, key: str | None) -> RunWay:
        """The way for the calls of one run of a skill; without a key, nothing is known of it in another run."""
        opened = self._opened()
        if key is None:
            return RunWay(opened, None)
        return RunWay(opened, WayTaken(opened, "skill", context, key=key))


class RunWay:
    """The way to the gate, for the calls of one run of a skill."""

    def __init__(self, opened: Opened, taken: WayTaken | None) -> None:
        self._bridge = Bridge(opened.home)
        self._make = partial(enter, opened) if taken is None else taken.call
        self._taken = taken

    async def call(self, call: Call, context: Context, *, wait: float | None) -> Outcome:
        try:
            return await self._bridge.wait(partial(self._make, call, context, wait=wait))
        except asyncio.CancelledError:
            if self._taken is not None:
                self._taken.let_go(call)
            raise

    def call_blocking(self, call: Call, context: Context, *, wait: float | None) -> Outcome:
        return self._bridge.run(partial(self._make, call, context, wait=wait))


class SkillShelf:
    """The skills of one gate.

    Args:
        registry: Where its tools are.
        way: How calls inside skills are made.
    """

    def __init__(self, registry: Registry, way: GateWay) -> None:
        self._registry = registry
        self._way = way
        self._skills: dict[str, Skill] = {}
        self._warns = False
        """Whether what a skill lacks is told when it is added: not while its tools may still be coming."""

    def make(self, skills: Iterable[Skill], *, among: Mapping[str, Tool]) -> list[Tool]:
        """The tools that skills are beside those of the registry and these, which come with them.

        Raises:
            ConfigurationError: One cannot be a tool.
        """
        listed = list(skills)
        made: dict[str, Tool] = {}

        def find(name: str) -> Tool | None:
            return made.get(name) or among.get(name) or self._registry.find(name)

        names = {skill.name for skill in listed}
        # A skill may use others of the list, in whatever order they stand.
        rounds = len(listed) if any(names.intersection(skill.tools) for skill in listed) else 1
        for skill in listed * rounds:
            made[skill.name] = make_skill_tool(skill, find=find, gateway=self._way)
        return [made[name] for name in dict.fromkeys(skill.name for skill in listed)]

    def keep(self, skills: Iterable[Skill], *, instead: Iterable[Tool] = ()) -> None:
        """These were added as tools; `instead` are other tools that were, and that took the place of skills."""
        for tool in instead:
            self._skills.pop(tool.name, None)
        coming = {skill.name: skill for skill in skills}
        self._skills |= coming
        self._refresh(coming.values())
        if self._warns:
            self._warn(coming)

    def drop(self, name: str) -> None:
        """It was removed."""
        self._skills.pop(name, None)

    def followed(self, changes: Changes) -> None:
        """The registry changed: skills that are gone are forgotten, skills whose tools are others are made anew."""
        for tool in changes.removed:
            self._skills.pop(tool.name, None)
        names = {tool.name for tool in (*changes.added, *changes.removed, *(new for _, new in changes.changed))}
        self._refresh(skill for skill in self._skills.values() if names.intersection(skill.tools))

    def settle(self) -> None:
        """Everything that was there from the start has come: make all of them anew, and warn of what they lack."""
        self._refresh(self._skills.values())
        self._warns = True
        self._warn(self._skills)

    def is_whole(self, name: str) -> bool:
        """Whether a tool is no skill, or a skill whose tools are all there: else it is only the worst for now."""
        return name not in self._skills or not self.report(name).missing

    def report(self, name: str) -> SkillReport:
        """How one of them stands."""
        skill = self._skills[name]
        tools = {each: self._registry.find(each) for each in skill.tools}
        uses = {each: self._skills[each].tools for each in skill.tools if each in self._skills}
        return SkillReport(
            name=name,
            tools=skill.tools,
            missing=tuple(each for each, tool in tools.items() if tool is None),
            findings=findings(name, tools, uses=uses),
        )

    def reports(self) -> tuple[SkillReport, ...]:
        """How all of them stand, as they came."""
        return tuple(self.report(name) for name in self._skills)

    def _warn(self, names: Iterable[str]) -> None:
        for name in names:
            for finding in self.report(name).findings:
                _log.warning("skill %s: %s", name, finding)

    def _refresh(self, skills: Iterable[Skill]) -> None:
        made = self.make(list(skills), among={})
        changed = [tool for tool in made if not self._is_so(tool)]
        if changed:
            self._registry.add_many(changed, update=True)

    def _is_so(self, tool: Tool) -> bool:
        present = self._registry.find(tool.name)
        return present is not None and present.definition_hash == tool.definition_hash
