"""Skill: a function, a name, and the tools it declares. Knows no gate and runs nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, TypeVar, Unpack, cast

from callgate.adapters.declare import declare
from callgate.adapters.fields import guess
from callgate.adapters.function import keep_hints
from callgate.adapters.target import find_target
from callgate.errors import ConfigurationError
from callgate.model.naming import check_name
from callgate.model.visible import brief

F = TypeVar("F", bound=Callable[..., Any])
MARK = "__callgate_skill__"
"""Where `@skill` leaves the skill."""
Words = str | Iterable[str]


class SkillFields(TypedDict, total=False):
    """What an author may say about a skill besides its tools; as `@tool` takes it."""

    name: str | None
    description: str | None
    category: str | None
    tags: Words | None
    capabilities: Words | None
    scopes: Words | None
    risk: str | None
    """At least so much; what its tools bring counts anyway."""
    timeout: float | None
    allowed_callers: Words | None
    sensitive_output: bool | None
    examples: Iterable[Mapping[str, Any]] | None
    input_schema: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | None
    check_output: bool | None
    max_argument_bytes: int | None
    preview: Callable[..., Any] | None
    check: Callable[..., Any] | None
    verify: Callable[..., Any] | None
    redact: Callable[..., Any] | None


FIELDS = tuple(SkillFields.__annotations__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Skill:
    """A named composition: what it is called, which tools it may use, and the function that puts them together."""

    name: str
    tools: tuple[str, ...]
    """Every tool it can reach, those of skills it uses included."""
    function: Callable[..., Any] | None = None
    """None: nothing is bound to it yet, and it cannot be called."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else its author says of it; see `SkillFields`."""

    def __post_init__(self) -> None:
        check_name(self.name)
        for tool in self.tools:
            check_name(tool)
        if not self.tools:
            raise ConfigurationError(f"the skill {self.name} names no tools; a skill can use only what it names")
        if self.name in self.tools:
            raise ConfigurationError(f"the skill {self.name} names itself among its tools")
        _check_fields(self.fields)

    def bind(self, function: Callable[..., Any]) -> Skill:
        """The skill with a function that takes a `SkillContext` and its arguments."""
        return replace(self, function=function)

    def with_fields(self, more: Mapping[str, Any]) -> Skill:
        """The skill with more said of it; what is said later stands.

        Raises:
            ConfigurationError: A field is none of a skill's, or wrong.
        """
        if not more:
            return self
        said = {**self.fields, **more}
        return replace(self, name=said.pop("name", None) or self.name, fields=said)


def skill(*, tools: Words, **fields: Unpack[SkillFields]) -> Callable[[F], F]:
    """Declare a function as a skill: `@skill(tools=["search_notes", "keep_note"])`.

    The function takes a `SkillContext` besides its arguments and calls its tools through that. It stays what it is;
    added to a gate, it becomes a tool whose effects are those of its tools together.

    Args:
        tools: The only tools it can reach.
        **fields: What else it declares; see `SkillFields`. Name, description and schema come from the function.

    Raises:
        ConfigurationError: A name is no tool name, or a field is unknown or wrong.
    """
    named = names(tools)
    frame = inspect.currentframe()
    # Hints may name what is only known where the function is written.
    around = {} if frame is None or frame.f_back is None else frame.f_back.f_locals

    def mark(function: F) -> F:
        said: dict[str, Any] = {key: value for key, value in fields.items() if value is not None}
        name = said.pop("name", None) or find_target(function).name
        made = Skill(name=name, tools=named, function=function, fields=said)
        try:
            setattr(getattr(function, "__func__", function), MARK, made)
        except (AttributeError, TypeError):
            message = f"{type(function).__name__} cannot be marked; bind it: Skill(name=…, tools=…, function=…)"
            raise ConfigurationError(message) from None
        keep_hints(function, around)
        return function

    return mark


def names(tools: Any) -> tuple[str, ...]:
    """The names of tools, each once: one word or several.

    Raises:
        ConfigurationError: They are not words.
    """
    if not isinstance(tools, str | list | tuple | set | frozenset):
        raise ConfigurationError(f"tools must be a list of tool names, not {type(tools).__name__}", key="tools")
    listed = (tools,) if isinstance(tools, str) else tuple(cast("Iterable[Any]", tools))
    # A set has no order of its own, and the definition of a skill must not depend on one.
    return tuple(dict.fromkeys(sorted(listed) if isinstance(tools, set | frozenset) else listed))


def marked_skill(thing: Any) -> Skill | None:
    """The skill that a thing is, or that `@skill` left on it; None for everything else."""
    if isinstance(thing, Skill):
        return thing
    left = None if isinstance(thing, type) else getattr(thing, MARK, None)
    # Bound to what was given: a method of an instance, not the function in its class.
    return left.bind(thing) if isinstance(left, Skill) else None


def _check_fields(fields: Mapping[str, Any]) -> None:
    for key in fields:
        if key not in FIELDS:
            advice = guess(key, FIELDS) or "; what it does follows from its tools"
            raise ConfigurationError(f"a skill declares no {brief(key)!r}{advice}", key=brief(key))
    declare(**fields)
