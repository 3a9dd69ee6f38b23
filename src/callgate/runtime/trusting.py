"""Trusting: the face of a gate for people who look after foreign tools. What waits, why, and what they accept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError
from callgate.events.vocabulary import TOOL_QUARANTINED, TOOL_TRUSTED
from callgate.model.levels import FOREIGN, Assurance
from callgate.model.person import named, person_key, same_person
from callgate.registry.proposals import Proposal, ProposalGroup, propose
from callgate.registry.trust import Change, Declaration, compare_declarations, declaration
from callgate.runtime.opened import Face
from callgate.runtime.tool_events import trust_draft

if TYPE_CHECKING:
    from pathlib import Path

    from callgate.model.tool import Tool
    from callgate.registry.registry import Registry

__all__ = ["Change", "Difference", "Proposal", "ProposalGroup", "Trusting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A tool beside what was trusted under its name. All of it as the source gave it."""

    name: str
    source: str
    reason: str | None
    """Why it waits until somebody looks; None if it does not."""
    definition_hash: str
    """What `trust` has to name."""
    looser: tuple[str, ...]
    stricter: tuple[str, ...]
    different: tuple[str, ...]
    old: Declaration | None
    """What was trusted; None if nothing of that name ever was."""
    new: Declaration


class Trusting(Face):
    """Looking at tools before anybody may call them. In process a name is only *asserted*, as for decisions."""

    _registry: Registry

    def quarantined(self) -> tuple[Difference, ...]:
        """Every tool that waits until somebody looks at it, as they came, each with the reason and the difference."""
        return tuple(self._difference(tool) for tool in self._registry.snapshot if self._is_held(tool))

    def difference(self, name: str) -> Difference:
        """A tool beside what was trusted under its name.

        Raises:
            ToolNotFoundError: No such tool.
        """
        return self._difference(self._registry.get(name))

    async def trust(
        self, name: str, *, by: str, definition_hash: str, assurance: Assurance = Assurance.ASSERTED
    ) -> Difference:
        """Trust exactly the definition that was looked at, and let the tool go; the difference that was accepted.

        Grants and approvals for the former definition stay void. Other processes on the store follow.

        Raises:
            ToolNotFoundError: No such tool.
            ConfigurationError: It does not wait, is another definition by now, or an agent tried.
            StoreError: It could not be made durable; the tool goes on waiting.
        """
        opened = self._open()
        self._need_person(by)
        tool = self._registry.get(name)
        found = self._difference(tool)
        if found.reason is None:
            raise ConfigurationError(f"{name} is not quarantined, so there is nothing to trust")
        if definition_hash != found.definition_hash:
            raise ConfigurationError(f"{name} is not the definition that was looked at; look at the new difference")
        facts = {"by": by, "assurance": assurance.label, "reason": found.reason, "was": _hash_of(self._registry, name)}
        now, trace = opened.parts.clock.now(), opened.default_context.trace_id
        draft = trust_draft(TOOL_TRUSTED, tool, now=now, trace=trace, **facts)
        pins = self._registry.quarantine.pins.with_tools((tool,)).with_held({name: None})
        await opened.pinning.keep(draft, firmly={name}, mine=pins)
        return found

    async def distrust(self, name: str, *, by: str, why: str, assurance: Assurance = Assurance.ASSERTED) -> Difference:
        """Hold a tool by hand, whatever it declares, until somebody trusts it; calls in flight finish.

        Raises:
            ToolNotFoundError: No such tool.
            ConfigurationError: Nobody or no reason is named, or an agent tried.
            StoreError: It could not be made durable; here the tool is held all the same.
        """
        opened = self._open()
        self._need_person(by)
        if not why.strip():
            raise ConfigurationError("say why it is not trusted; whoever looks at it next has to know")
        tool = self._registry.get(name)
        reason = opened.parts.striker.strike_text(f"{by} does not trust it: {why}")
        self._registry.quarantine.hold({name: reason})
        facts = {"by": by, "assurance": assurance.label, "reason": reason}
        now, trace = opened.parts.clock.now(), opened.default_context.trace_id
        await opened.pinning.keep(trust_draft(TOOL_QUARANTINED, tool, now=now, trace=trace, **facts))
        return self._difference(tool)

    def proposals(self, source: str | None = None, *, everything: bool = False) -> tuple[Proposal, ...]:
        """What the tools of foreign sources should be declared as; nothing of it is in force.

        Args:
            source: Only of this one: its name, or its kind and name (`mcp github`).
            everything: Also for tools that are declared already.

        Raises:
            ConfigurationError: No tool of such a source is here.
        """
        return tuple(propose(tool) for tool in self._of_source(source) if everything or not tool.declared)

    async def accept(
        self, proposals: Iterable[Proposal], *, by: str, assurance: Assurance = Assurance.ASSERTED
    ) -> Path:
        """Put proposals in force: into the file beside the configuration, for exactly the definitions they are for.

        Where one of them waits because it changed or is new, it has been looked at with this, and is trusted. What
        somebody holds by hand goes on waiting.

        Raises:
            ConfigurationError: A tool is gone or is another definition by now, or an agent tried; nothing was accepted.
            StoreError: What waits could not be trusted; its declaration is accepted all the same.
        """
        opened = self._open()
        self._need_person(by)
        accepted = tuple(proposals)
        for proposal in accepted:
            found = self._registry.find(proposal.tool)
            if found is None or found.as_given.definition_hash != proposal.definition_hash:
                raise ConfigurationError(f"{proposal.tool} changed since it was proposed; review it again")
        opened.acceptance.write(accepted, by=by)
        self._lay_over_present()
        by_hand = self._registry.quarantine.pins.held
        for proposal in accepted:
            name = proposal.tool
            if name in self._registry.quarantined and name not in by_hand:
                await self.trust(name, by=by, definition_hash=proposal.definition_hash, assurance=assurance)
        return opened.acceptance.file

    def _lay_over_present(self) -> None:
        """Put what was accepted over the tools that are here already."""
        present = self._registry.list_tools()
        laid = self._open().acceptance.lay_over(present)
        changed = [new for old, new in zip(present, laid, strict=True) if new.definition_hash != old.definition_hash]
        self._registry.add_many(changed, update=True)

    def _of_source(self, source: str | None) -> list[Tool]:
        foreign = [tool for tool in self._registry.snapshot if tool.source in FOREIGN]
        found = [tool for tool in foreign if source in {None, tool.source_name, tool.source_title}]
        if source is not None and not found:
            attached = self._open().sources.get(source.rpartition(" ")[2])
            if attached is not None and attached.report.missing is not None:
                raise ConfigurationError(f"no tool of {source} is here: {attached.report.missing}")
            known = ", ".join(sorted({tool.source_title for tool in foreign})) or "none"
            raise ConfigurationError(f"no tool of a foreign source called {source!r} is here; there is {known}")
        return found

    def _difference(self, tool: Tool) -> Difference:
        given, pin = tool.as_given, self._registry.quarantine.pins.get(tool.name)
        new = declaration(given)
        same = pin is None or pin.hash == given.definition_hash
        change = Change() if pin is None or same else compare_declarations(pin.declaration, new)
        return Difference(
            name=tool.name,
            source=tool.source_title,
            reason=self._registry.quarantined.get(tool.name),
            definition_hash=given.definition_hash,
            looser=change.loosened,
            stricter=change.tightened,
            different=change.other,
            old=None if pin is None else pin.declaration,
            new=new,
        )

    def _is_held(self, tool: Tool) -> bool:
        return tool.name in self._registry.quarantined

    def _need_person(self, by: str) -> None:
        if not person_key(named(by)) or same_person(by, self._open().default_context.principal):
            raise ConfigurationError(f"{by or 'nobody'} cannot decide this: it takes a person, not the agent itself")


def _hash_of(registry: Registry, name: str) -> str:
    pin = registry.quarantine.pins.get(name)
    return "" if pin is None else pin.hash
