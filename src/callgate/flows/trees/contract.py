"""Contract: what a leaf reads from the blackboard, what it writes there, and when its tool has done what was wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from callgate.model.shapes import as_mapping

_ABSENT = object()
_KINDS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = MappingProxyType(
    {
        "present": (lambda found, _: found is not _ABSENT and found is not None, "{field} is missing"),
        "absent": (lambda found, _: found is _ABSENT or found is None, "{field} is there: {found}"),
        "a_list": (lambda found, _: isinstance(found, list | tuple), "{field} is no list"),
        "non_empty": (
            lambda found, _: isinstance(found, str | list | tuple | dict) and len(found) > 0,  # pyright: ignore[reportUnknownArgumentType]
            "{field} is empty or missing",
        ),
        # A number that counts as true is not the truth that was asked for.
        "equals": (lambda found, value: type(found) is type(value) and found == value, "{field} is not {value!r}"),
    }
)


class Condition(NamedTuple):
    """Something that must hold for a field of the output. Data: it can be listed, compared and written down."""

    field: str
    kind: str
    """`present`, `absent`, `a_list`, `non_empty` or `equals`."""
    value: Any = None
    """For `equals`."""

    def fault(self, output: Mapping[Any, Any]) -> str | None:
        """None if it holds, else what is wrong."""
        found = output.get(self.field, _ABSENT)
        holds, words = _KINDS[self.kind]
        return None if holds(found, self.value) else words.format(field=self.field, found=found, value=self.value)


def present(name: str) -> Condition:
    """The field is there, and is not null."""
    return Condition(name, "present")


def absent(name: str) -> Condition:
    """The field is not there, or is null."""
    return Condition(name, "absent")


def a_list(name: str) -> Condition:
    """The field is a list, empty or not."""
    return Condition(name, "a_list")


def non_empty(name: str) -> Condition:
    """The field is text, a list or an object with something in it."""
    return Condition(name, "non_empty")


def equals(name: str, value: Any) -> Condition:
    """The field is exactly this."""
    return Condition(name, "equals", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a leaf of one tool reads, writes and needs. `Contract()` asks for nothing but a call that succeeded.

    Raises:
        ValueError: A key is both required and optional, or read and written; or a condition is of no kind there is.
    """

    reads: tuple[str, ...] = ()
    """Blackboard keys, each the argument of that name; a leaf without one of them fails."""
    may_read: tuple[str, ...] = ()
    """The same for keys that may be absent."""
    writes: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Blackboard keys, each with the field of the output it gets; None is the whole output."""
    success: tuple[Condition, ...] = ()
    """What must hold of the output, all of it."""

    def __post_init__(self) -> None:
        both = set(self.reads) & set(self.may_read)
        if both:
            message = f"a key cannot be both required and optional: {', '.join(sorted(both))}"
            raise ValueError(message)
        crossed = {*self.reads, *self.may_read} & set(self.writes)
        if crossed:
            message = f"a key cannot be both read and written: {', '.join(sorted(crossed))}"
            raise ValueError(message)
        for condition in self.success:
            if condition.kind not in _KINDS:
                message = f"{condition.kind!r} is no kind of condition; use one of {', '.join(_KINDS)}"
                raise ValueError(message)

    @property
    def wants_fields(self) -> bool:
        """Whether it looks into the output."""
        return bool(self.success) or any(name is not None for name in self.writes.values())

    def fault(self, output: Any) -> str | None:
        """None if the output is what was wanted, else the first thing that is wrong with it."""
        if not self.success:
            return None
        fields = as_mapping(output)
        if fields is None:
            return f"the result is {type(output).__name__}, not an object"
        return next((fault for each in self.success if (fault := each.fault(fields)) is not None), None)

    def outputs(self, output: Any) -> dict[str, Any]:
        """What to write to the blackboard, by key; fields that are not there are left out."""
        fields = as_mapping(output) or {}
        return {
            key: output if name is None else fields[name]
            for key, name in self.writes.items()
            if name is None or name in fields
        }
