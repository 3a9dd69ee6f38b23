"""Skill, SkillRegistry: a skill's function takes a registry, an executor and a context, all narrowed to its tools."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from callgate.compat.atomic_tool import AtomicTool
from callgate.compat.executor import ToolExecutor
from callgate.errors import SkillNotFoundError, ToolNotFoundError
from callgate.model.ids import uuid7
from callgate.model.layer import Layer
from callgate.registry.snapshot import not_found
from callgate.skills.context import LAYER, SkillContext
from callgate.skills.skill import Skill as OwnSkill

_log = logging.getLogger("callgate")


@dataclass(slots=True, kw_only=True, eq=False)
class Skill:
    """A named composition of tools. Its function can call those in `tool_names`, and no others."""

    name: str
    description: str = ""
    tool_names: list[str] = field(default_factory=list[str])
    skill_id: str = field(default_factory=uuid7)
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])
    output_schema: dict[str, Any] | None = None
    tags: list[str] = field(default_factory=list[str])
    _executor_fn: Callable[..., Any] | None = field(default=None, init=False, repr=False)

    def bind_executor(self, fn: Callable[..., Any]) -> Self:
        """Say what runs: a function of `tool_registry`, `tool_executor`, `context` and the arguments."""
        self._executor_fn = fn
        return self

    async def execute(  # noqa: PLR0917 - the convention's own signature
        self, tool_registry: Any, tool_executor: Any, context: Any, **kwargs: Any
    ) -> Any:
        """Run its function; what it returns is the result. Every call it makes is the gate's, under its own tools only.

        Raises:
            NotImplementedError: Nothing is bound.
            ToolError: A call inside was refused or failed, and the function let that out.
        """
        layer = Layer(name=f"{LAYER}{self.name}", allow=tuple(self.tool_names))
        result = self._bound()(
            tool_registry=tool_registry if tool_registry is None else NarrowedRegistry(tool_registry, self.tool_names),
            # An executor of somebody else's is not ours to narrow.
            tool_executor=tool_executor.narrowed(layer) if isinstance(tool_executor, ToolExecutor) else tool_executor,
            context=context,
            **kwargs,
        )
        return await result if inspect.isawaitable(result) else result

    def as_skill(self) -> OwnSkill:
        """The same for a gate: `gate.add(skill.as_skill())` makes it a tool, called like any other.

        Its function then gets the narrowed context of the gate and `tool_executor.run(tool, context, **arguments)`.

        Raises:
            ConfigurationError: It names no tools, or something of it cannot be.
        """
        function = self._executor_fn
        fields: dict[str, Any] = {"description": self.description or None, "tags": self.tags or None}
        fields |= {"input_schema": self.input_schema or {"type": "object"}, "output_schema": self.output_schema}
        stated = {key: value for key, value in fields.items() if value is not None}
        own = OwnSkill(name=self.name, tools=tuple(self.tool_names), fields=stated)
        return own if function is None else own.bind(_for_gate(function))

    def _bound(self) -> Callable[..., Any]:
        if self._executor_fn is None:
            message = f"Skill {self.name} has no bound executor"
            raise NotImplementedError(message)
        return self._executor_fn


class SkillRegistry:
    """Skills by name.

    Args:
        tool_registry: Where their tools should be; without it, nothing is known to be absent.
    """

    def __init__(self, tool_registry: Any = None) -> None:
        self._tool_registry = tool_registry
        self._skills: dict[str, Skill] = {}

    def register(self, skill: Skill) -> None:
        """Add a skill, or put it in the place of its former self. Tools it names that are absent are warned of."""
        self._skills[skill.name] = skill
        for name in self.absent_tools(skill.name):
            _log.warning("skill %s names the tool %s, which is not registered", skill.name, name)

    def get(self, name: str) -> Skill:
        """The skill of that name.

        Raises:
            SkillNotFoundError: There is none.
        """
        found = self._skills.get(name)
        if found is None:
            raise SkillNotFoundError(f"Skill {name} not registered")
        return found

    def list_skills(self) -> list[Skill]:
        """All of them, as they came."""
        return list(self._skills.values())

    def absent_tools(self, name: str) -> list[str]:
        """The tools a skill names that are not there by now.

        Raises:
            SkillNotFoundError: There is no such skill.
        """
        skill = self.get(name)
        return [] if self._tool_registry is None else [each for each in skill.tool_names if not self._has(each)]

    def _has(self, name: str) -> bool:
        try:
            self._tool_registry.get_by_name(name)
        except ToolNotFoundError:
            return False
        return True


class NarrowedRegistry:
    """What a skill sees of a registry: its own tools, to be run by an executor and by nothing else."""

    def __init__(self, registry: Any, names: list[str]) -> None:
        self._registry = registry
        self._names = tuple(names)

    def get_by_name(self, name: str) -> AtomicTool:
        """One of the skill's tools.

        Raises:
            ToolNotFoundError: There is none of that name, or the skill does not name it.
        """
        if name not in self._names:
            raise not_found(name, self._names)
        return _unbound(self._registry.get_by_name(name))

    def get_by_id(self, tool_id: str) -> AtomicTool:
        """One of the skill's tools.

        Raises:
            ToolNotFoundError: None of them has that id.
        """
        for tool in self.list_tools():
            if tool.tool_id == tool_id:
                return tool
        raise not_found(tool_id, ())

    def list_tools(self, **filters: Any) -> list[AtomicTool]:
        """The skill's tools that pass the filters."""
        return [_unbound(tool) for tool in self._registry.list_tools(**filters) if tool.name in self._names]


def _unbound(tool: AtomicTool) -> AtomicTool:
    """Its callable would run without a gate."""
    fields = ("tool_id", "name", "description", "input_schema", "output_schema", "source", "determinism_class")
    more = ("side_effect_class", "permissions", "timeout_ms", "tags", "toolkit_name")
    return AtomicTool(**{each: getattr(tool, each) for each in (*fields, *more)})


def _for_gate(function: Callable[..., Any]) -> Callable[..., Any]:
    async def run(steps: SkillContext, **arguments: Any) -> Any:
        result = function(
            tool_registry=_StepRegistry(steps), tool_executor=_StepExecutor(steps), context=steps.context, **arguments
        )
        return await result if inspect.isawaitable(result) else result

    return run


class _StepRegistry:
    """The names of a skill's tools."""

    def __init__(self, steps: SkillContext) -> None:
        self._names = steps.tools

    def get_by_name(self, name: str) -> AtomicTool:
        if name not in self._names:
            raise not_found(name, self._names)
        return AtomicTool(name=name)

    def list_tools(self) -> list[AtomicTool]:
        return [AtomicTool(name=name) for name in self._names]


class _StepExecutor:
    """Runs a skill's tools as its steps."""

    def __init__(self, steps: SkillContext) -> None:
        self._steps = steps

    async def run(self, tool: Any, _context: Any = None, /, **arguments: Any) -> Any:
        name = tool if isinstance(tool, str) else tool.name
        return (await self._steps.call(name, arguments)).unwrap()
