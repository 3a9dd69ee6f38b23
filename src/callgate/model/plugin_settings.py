"""PluginSettings: what an operator set for a plugin, handed to those of its functions that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any


class PluginSettings(Mapping[str, Any]):
    """Settings by name, defaults filled in, never changed. A parameter with this hint is filled in by the gate.

    No place for secrets: ask a `ToolContext` for those.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values = MappingProxyType(dict(values or {}))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"PluginSettings({', '.join(self._values)})"
