"""Toolbox: the face of a gate that tool authors use. Adding tools, and which of them one model turn may see."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, cast

from callgate.adapters.convert import convert
from callgate.registry.pool import assemble
from callgate.runtime.exporting import export_tools
from callgate.runtime.offering import ModelPool
from callgate.runtime.opened import Face
from callgate.runtime.tool_search import SEARCH, make_search_tool
from callgate.skills.finding import part_skills

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.health import Health
    from callgate.model.tool import Tool
    from callgate.registry.registry import Registry
    from callgate.registry.snapshot import Filters
    from callgate.runtime.calls import Calls
    from callgate.runtime.skill_shelf import SkillShelf


class Toolbox(Face):
    """The tools of a gate."""

    _registry: Registry
    _shelf: SkillShelf

    def add(self, *things: Any, update: bool = False, **declaration: Any) -> list[Tool]:
        """Add tools: functions, methods, skills, toolkits, BaseTool classes, protocol objects, modules, LangChain's.

        Args:
            things: What to add, alone or in lists; all of it, or an error and nothing.
            update: Whether a tool may take the place of its former self.
            declaration: Fields that hold for all of them, as `@tool` takes them.

        Raises:
            ConfigurationError: A thing is no tool, is declared wrong, or its name is taken.
        """
        skills, others = part_skills(things)
        said = [skill.with_fields(declaration) for skill in skills]
        made = [tool for thing in others for tool in convert(thing, **declaration)]
        tools = made if self._opened is None else self._opened.acceptance.lay_over(made)
        as_tools = self._shelf.make(said, among={tool.name: tool for tool in tools})
        self._registry.add_many((*tools, *as_tools), update=update)
        self._shelf.keep(said, instead=tools)
        return [*tools, *as_tools]

    def remove(self, name: str) -> None:
        """Remove a tool; calls in flight finish on the old registry.

        Raises:
            ToolNotFoundError: No such tool.
        """
        self._registry.remove(name)
        self._shelf.drop(name)

    def add_search(self, *, name: str = SEARCH) -> Tool:
        """Add a tool with which a model finds the tools it may use, where too many are there to show it all.

        Raises:
            ConfigurationError: The name is none, or taken.
        """
        search = make_search_tool(lambda words, limit, who: self.search(words, limit=limit, context=who), name=name)
        self._registry.add(search)
        return search

    def tools(self, *, healthy: bool = False, **filters: Unpack[Filters]) -> tuple[Tool, ...]:
        """Every registered tool that passes the filters, as they came; `pool` has what one asker may use.

        Args:
            healthy: Only those that can be called now.
            **filters: `source`, `tags` (all of them), `category`, `capability`, `connector`; `read_only`,
                `deterministic` and `idempotent`, true of what is declared so and false of everything else.
        """
        found = self._registry.list_tools(**filters)
        return tuple(tool for tool in found if self._registry.health.look(tool) is None) if healthy else found

    def health(self, connector: str) -> Health:
        """How the system behind one or more tools is now; a tool without a connector is its own."""
        return self._registry.health.of(connector)

    def set_health(self, connector: str, health: Health) -> None:
        """Say how the system behind tools is; unavailable stays so until somebody says otherwise."""
        self._registry.health.set(connector, health)

    def pool(self, context: Context | None = None) -> ModelPool:
        """What this asker may call now: the same list, in the same order, byte for byte, until something changes.

        `to_anthropic()`, `to_openai()`, `to_openai_chat()` and `to_mcp()` tell it to a model; `to_langchain()` gives
        the tools to an agent.
        """
        opened = self._open()
        ground = context or opened.default_context
        parts = opened.parts
        admitted = parts.policy.admitter(ground)

        def admits(tool: Tool) -> bool:
            ready = tool.unavailable is None and parts.quarantined(tool.name) is None
            return ready and parts.health.look(tool) is None and admitted(tool)

        lend = partial(export_tools, cast("Calls", self).anywhere, context=ground)
        return ModelPool(assemble(parts.registry.snapshot, admits=admits), lend=lend)

    def search(self, words: str, *, limit: int = 10, context: Context | None = None) -> list[Tool]:
        """The tools this asker may use that fit the words best."""
        allowed = self.pool(context)
        found = self._registry.snapshot.search(words, limit=limit, admits=lambda tool: tool.name in allowed.names)
        return list(found)
