"""Kinds: what a key may hold. Each kind reads a node and describes itself to editors, so that the two never differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from callgate.settings.complaints import Complaints, Fault, Told
from callgate.settings.nodes import ListNode, MapNode, Node, WrongNode
from callgate.settings.wording import instead, quote

Fields = dict[str, Any]


class Kind(Protocol):
    """What a value is: how it is read, and how an editor is told about it."""

    def read(self, node: Node, reading: Reading, /) -> Any:
        """The value of the node.

        Raises:
            Fault: It is not of this kind; the message says what to write.
        """
        ...

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this kind."""
        ...


WRONG: Final = object()
"""Stands for a value that could not be read and has been complained of."""


@dataclass(slots=True)
class Reading:
    """What the parts of one document share while it is read."""

    complaints: Complaints
    now: float
    """Seconds since the epoch, for the few promises about dates."""
    families: set[str] = field(default_factory=set[str])
    """Scope families known so far; the description reads `scopes` before what uses them."""
    check_condition: Callable[[str], object] | None = None
    """Raises ConfigurationError for a condition that cannot be read; None leaves that to the policy."""
    check_builtin: Callable[[str], object] | None = None
    """Raises ConfigurationError where no built-in tool or category is called so; None leaves that to who makes them."""

    def attempt(self, kind: Kind, node: Node) -> Any:
        """Read a node; `WRONG`, with a complaint at its place, if it cannot be."""
        if isinstance(node, WrongNode):
            return WRONG
        try:
            return kind.read(node, self)
        except Told:
            return WRONG
        except Fault as fault:
            self.complain(node, str(fault))
            return WRONG

    def complain(self, node: Node, message: str) -> None:
        """Note a complaint at the place of a node."""
        self.complaints.add(message, line=node.line, key=node.key)


_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a block."""

    kind: Kind
    about: str
    """Its meaning, for editors and people."""
    default: Any = _ABSENT
    """What it is when the file does not say, as the file would say it."""
    required: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its value, with its meaning and default."""
        body = self.kind.schema() | {"description": self.about}
        return body if self.default is _ABSENT else body | {"default": self.default}


@dataclass(frozen=True, slots=True)
class Block:
    """A mapping with known keys, read in the order of the description."""

    keys: Mapping[str, Key]
    build: Callable[[Fields, Reading], Any]
    """Makes the value of the fields that were given; may raise Fault for what does not fit together."""
    elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to write here instead of keys that people know from elsewhere."""
    example: str = ""
    """What to write where people may well expect that a single word does."""

    def read(self, node: Node, reading: Reading) -> Any:
        if not isinstance(node, MapNode):
            write = f"; write {self.example}" if self.example else ""
            raise Fault(f"needs a mapping with keys such as {', '.join(list(self.keys)[:3])}{write}")
        told = self._refuse_unknown(node, reading)
        given = {entry.name: entry.value for entry in node.entries if entry.name in self.keys}
        fields = {name: reading.attempt(key.kind, given[name]) for name, key in self.keys.items() if name in given}
        missing = [name for name, key in self.keys.items() if key.required and name not in given]
        if missing:
            reading.complain(node, f"lacks {', '.join(missing)}")
        if told or missing or WRONG in fields.values():
            raise Told
        return self.build(fields, reading)

    def schema(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": "object",
            "properties": {name: key.schema() for name, key in self.keys.items()},
            "additionalProperties": False,
        }
        required = [name for name, key in self.keys.items() if key.required]
        return body | {"required": required} if required else body

    def _refuse_unknown(self, node: MapNode, reading: Reading) -> bool:
        unknown = [entry for entry in node.entries if entry.name not in self.keys]
        for entry in unknown:
            known = [name for name, key in self.keys.items() if not isinstance(key.kind, NotBuilt)]
            advice = self.elsewhere.get(entry.name) or instead(entry.name, known)
            message = f"unknown key {quote(entry.name)}; {advice}"
            reading.complaints.add(message, line=entry.line, key=entry.value.key)
        return bool(unknown)


@dataclass(frozen=True, slots=True)
class ListOf:
    """Values of one kind, in order."""

    kind: Kind

    def read(self, node: Node, reading: Reading) -> tuple[Any, ...]:
        if not isinstance(node, ListNode):
            raise Fault("needs a list; write [a, b], or one - item per line")
        values = [reading.attempt(self.kind, item) for item in node.items]
        if WRONG in values:
            raise Told
        return tuple(values)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.kind.schema()}


@dataclass(frozen=True, slots=True)
class MapOf:
    """Values of one kind, by names that the file chooses."""

    kind: Kind
    pattern: str
    """What a name looks like, as a regular expression."""
    check: Callable[[str], None]
    """Raises Fault for a name that cannot be one."""

    def read(self, node: Node, reading: Reading) -> dict[str, Any]:
        if not isinstance(node, MapNode):
            raise Fault("needs a mapping from names to values")
        values: dict[str, Any] = {}
        for entry in node.entries:
            try:
                self.check(entry.name)
            except Fault as fault:
                reading.complaints.add(str(fault), line=entry.line, key=entry.value.key)
                values[entry.name] = WRONG
            else:
                values[entry.name] = reading.attempt(self.kind, entry.value)
        if WRONG in values.values():
            raise Told
        return values

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "patternProperties": {whole(self.pattern): self.kind.schema()},
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """A key of the design whose part this version does not have: naming it must not look as if it worked."""

    part: str

    def read(self, _node: Node, _reading: Reading) -> Any:
        raise Fault(f"this version of Callgate does not have {self.part} yet; leave the key out")

    def schema(self) -> dict[str, Any]:
        return {"not": {}}


def whole(pattern: str) -> str:
    """The regular expression for a text that is nothing but the pattern."""
    return f"^(?:{pattern})$"


def either(schemas: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The JSON Schema of a value that is of any one of several kinds."""
    return {"anyOf": list(schemas)}
