"""What the modules of a configuration bring into a gate. None of it takes the place of a tool that somebody else added.

A gate that is opened again has the tools of its modules already, and what a program added may be the very function that
a module has: both are the same tool. Every other tool of that name is another one, and a test may have put it there.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError
from callgate.skills.finding import part_skills

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.runtime.toolbox import Toolbox


class ModuleTools:
    """The tools that modules of the configuration brought, and which module each is of."""

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}

    def add(self, module: ModuleType, toolbox: Toolbox) -> None:
        """Add what a module offers.

        Raises:
            ConfigurationError: It offers nothing, is declared wrong, or a name is taken; nothing of it was added.
        """
        skills, others = part_skills((module,))
        tools = [tool for thing in others for tool in convert(thing)]
        made_from = {tool.name: tool.original for tool in tools} | {skill.name: skill.function for skill in skills}
        present = {tool.name: tool for tool in toolbox.tools()}
        for name, original in made_from.items():
            self._refuse_another(present.get(name), original, module)
        kept = {name for name, original in made_from.items() if self._is_of_toolkit(present.get(name), original)}
        toolbox.add(*skills, *(tool for tool in tools if tool.name not in kept), update=True)
        self._modules |= dict.fromkeys(made_from.keys() - kept, module.__name__)

    def _is_of_toolkit(self, held: Tool | None, original: Any) -> bool:
        """Whether a program added the toolkit by itself: its own object, and what that holds, stays."""
        return held is not None and held.name not in self._modules and _is_method_of_another(held.original, original)

    def _refuse_another(self, held: Tool | None, original: Any, module: ModuleType) -> None:
        if held is None or self._modules.get(held.name) == module.__name__:
            return
        if held.original is not None and held.original is original:
            return
        if _is_method_of_another(held.original, original):
            return
        whose = self._modules.get(held.name)
        where = _added_by(held) if whose is None else f"the module {whose}"
        raise ConfigurationError(
            f"tool {held.name!r} of the module {module.__name__} is already registered by {where}; "
            "rename one of them, or leave one out"
        )


def _is_method_of_another(held: Any, original: Any) -> bool:
    """Whether both are the same method of two objects of one class: every toolkit is made anew."""
    function = getattr(held, "__func__", None)
    if function is None or function is not getattr(original, "__func__", None):
        return False
    return held is not original and type(held.__self__) is type(original.__self__)


def _added_by(held: Tool) -> str:
    """Where a tool came from that no module of the configuration brought."""
    if held.original is None:
        return held.source_title
    named = isinstance(getattr(held.original, "__qualname__", None), str)
    thing = held.original if named else cast("Any", type(held.original))
    return f"{held.source_title} {thing.__module__}.{thing.__qualname__}"
