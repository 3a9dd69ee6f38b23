"""Leaves: the kinds of single values: text, one word of several, truth, numbers, durations. Knows no key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from callgate.settings import durations
from callgate.settings.complaints import Fault
from callgate.settings.kinds import Kind, Reading, either, whole
from callgate.settings.nodes import Node, ScalarNode
from callgate.settings.scalars import Value, value_of
from callgate.settings.wording import instead


def scalar(node: Node, needs: str) -> tuple[ScalarNode, Value]:
    """The node as a single value, with what it means.

    Raises:
        Fault: It is a list or a mapping, or a value that YAML readers disagree about.
    """
    if not isinstance(node, ScalarNode):
        raise Fault(f"needs {needs}, not a list or a mapping")
    return node, value_of(node)


@dataclass(frozen=True, slots=True)
class Text:
    """Text, perhaps of a certain form."""

    pattern: str | None = None
    """What it looks like, as a regular expression."""
    needs: str = "text"
    """What it is, in words."""
    parse: Callable[[str], Any] = str
    """Makes the value of it; raises ValueError with a message that may be shown."""
    longest: int = 200

    def read(self, node: Node, _: Reading) -> Any:
        written, value = scalar(node, self.needs)
        if not isinstance(value, str):
            raise Fault(f"needs {self.needs}; {written.shown} is none as it stands, put it in quotes if it is meant")
        if not value.strip():
            raise Fault(f"is empty; needs {self.needs}")
        if len(value) > self.longest:
            raise Fault(f"has {len(value)} characters; at most {self.longest} are possible")
        try:
            parsed = self.parse(value)
        except ValueError as error:
            raise Fault(str(error)) from None
        if self.pattern is not None and not re.fullmatch(self.pattern, value):
            raise Fault(f"needs {self.needs}, not {written.shown}")
        return parsed

    def schema(self) -> dict[str, Any]:
        form = r"\S" if self.pattern is None else whole(self.pattern)
        return {"type": "string", "minLength": 1, "maxLength": self.longest, "pattern": form}


@dataclass(frozen=True, slots=True)
class Choice:
    """One word of several."""

    words: Mapping[str, Any]
    """Each word and the value it means."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Words that a person may well write, and why they cannot be."""

    def read(self, node: Node, _: Reading) -> Any:
        written, value = scalar(node, f"one of {', '.join(self.words)}")
        if isinstance(value, str) and value in self.words:
            return self.words[value]
        if isinstance(value, str) and value in self.refused:
            raise Fault(self.refused[value])
        raise Fault(f"{written.shown} is not possible; {instead(written.text, self.words)}")

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    def read(self, node: Node, _: Reading) -> bool:
        written, value = scalar(node, "true or false")
        if not isinstance(value, bool):
            raise Fault(f"needs true or false, not {written.shown}")
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Number:
    """A number between two others, whole unless said."""

    least: float
    most: float
    whole: bool = True

    def read(self, node: Node, _: Reading) -> float:
        needs = f"a {'whole ' if self.whole else ''}number from {self.least:g} to {self.most:.0f}, without quotes"
        written, value = scalar(node, needs)
        if isinstance(value, (bool, str)) or (self.whole and not isinstance(value, int)):
            raise Fault(f"needs {needs}, not {written.shown}")
        if not self.least <= value <= self.most:
            raise Fault(f"needs {needs}, not {written.shown}")
        return value if self.whole else float(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer" if self.whole else "number", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time: `45s`, `10m`, `1h`, `7d`, or seconds."""

    least: float = 0.001
    most: float = 365 * 86400.0

    def read(self, node: Node, _: Reading) -> float:
        written, value = scalar(node, "a duration such as 45s, 10m, 1h or 7d")
        if isinstance(value, bool):
            raise Fault(f"needs a duration such as 45s, 10m, 1h or 7d, not {written.shown}")
        try:
            seconds = durations.parse_duration(value)
        except ValueError as error:
            raise Fault(str(error)) from None
        if not self.least <= seconds <= self.most:
            bounds = f"{durations.format_duration(self.least)} to {durations.format_duration(self.most)}"
            raise Fault(f"needs a duration from {bounds}, not {written.shown}")
        return seconds

    def schema(self) -> dict[str, Any]:
        number = {"type": "number", "minimum": self.least, "maximum": self.most}
        return either([number, {"type": "string", "pattern": whole(durations.PATTERN)}])


@dataclass(frozen=True, slots=True)
class OrWord:
    """A value of some kind, or one word that means none."""

    kind: Kind
    word: str

    def read(self, node: Node, reading: Reading) -> Any:
        if isinstance(node, ScalarNode) and node.text == self.word:
            return None
        try:
            return self.kind.read(node, reading)
        except Fault as fault:
            raise Fault(f"{fault}; or write {self.word}") from None

    def schema(self) -> dict[str, Any]:
        return either([self.kind.schema(), {"const": self.word}])


@dataclass(frozen=True, slots=True)
class Version:
    """The one version of the format that is read."""

    number: int

    def read(self, node: Node, _: Reading) -> int:
        written, value = scalar(node, f"the number {self.number}")
        if value == str(self.number):
            raise Fault(f"needs the number {self.number}, without quotes")
        if isinstance(value, (bool, float)) or value != self.number:
            raise Fault(f"this Callgate reads version {self.number} of the format, not {written.shown}")
        return self.number

    def schema(self) -> dict[str, Any]:
        return {"const": self.number}
