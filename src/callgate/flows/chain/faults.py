"""What is wrong with the text of a chain, and where. Knows nothing of chains."""

from __future__ import annotations

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One thing that is refused, and its place in the text, both counted from 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"

    def to_json(self) -> dict[str, str | int]:
        """For events and doors."""
        return self._asdict()


class ChainRefused(Exception):
    """The text is no chain that can be made; nothing of it was."""

    def __init__(self, *diagnostics: Diagnostic, code: str = "invalid_arguments", message: str | None = None) -> None:
        self.diagnostics = diagnostics
        self.code = code
        super().__init__(message or "the text is no chain that can be made")
