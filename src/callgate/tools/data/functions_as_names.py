"""Functions that a query names behind a pipe without parentheses: `users | length` asks for a field called length.

So it is by JMESPath's rules, and null wherever it is not the name of a field.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from callgate.tools.data.texts_as_names import QUOTED

_ELSEWHERE = MappingProxyType(
    {"first": "[0]", "last": "[-1]", "len": "length(@)", "count": "length(@)", "size": "length(@)"}
)
"""What is a function behind a pipe in other languages, as it is written here."""


class FunctionsAsNames:
    """What one query asks for behind its pipes, of some data."""

    def __init__(self, data: Any, functions: Mapping[str, Any]) -> None:
        self._data = data
        self._functions = functions
        self._names: set[str] | None = None

    def asked(self, node: Any, of: Any) -> None:
        """Something is asked of what a pipe gives.

        Raises:
            ValueError: It is a field with the name of a function, and nothing has it.
        """
        if node["type"] != "field" or QUOTED in node or of is None:
            return
        name = node["value"]
        meant = _ELSEWHERE.get(name) or self._called(name)
        if meant is None or (isinstance(of, dict) and name in of) or name in self._known():
            return
        raise ValueError(f"query asks for the field {name} behind a |, and nothing in data has one; write {meant}")

    def _called(self, name: str) -> str | None:
        if name not in self._functions:
            return None
        return f"{name}(@)" if len(self._functions[name]["signature"]) == 1 else f"{name}(…)"

    def _known(self) -> set[str]:
        """The names of fields, at any depth: one that only some have is optional in the others."""
        if self._names is not None:
            return self._names
        self._names = set()
        left = [self._data]
        while left:
            one = left.pop()
            if isinstance(one, dict):
                self._names.update(cast("dict[str, Any]", one))
                left += cast("dict[str, Any]", one).values()
            elif isinstance(one, list):
                left += cast("list[Any]", one)
        return self._names
