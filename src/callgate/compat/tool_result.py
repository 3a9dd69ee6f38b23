"""ToolResult: a result as a value with an error in it, for tools that return one and for callers that read one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from callgate.errors import ToolError
from callgate.model.levels import Category

if TYPE_CHECKING:
    from callgate.model.outcome import Outcome


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back. Returned by a tool, an `error` is a failure of the call."""

    output: Any = None
    error: str | None = None
    duration_ms: float = 0
    category: str | None = None
    """What kind of trouble the error is; None without one."""

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        """The result of a call. Never raises: a refusal and a question to a person are errors here."""
        try:
            return cls(output=outcome.unwrap(), duration_ms=outcome.duration_ms)
        except ToolError as error:
            category = Category.PERMISSION if outcome.error is None else outcome.error.category
            return cls(error=str(error), duration_ms=outcome.duration_ms, category=category.value)

    @property
    def success(self) -> bool:
        """Whether there is no error."""
        return self.error is None

    @property
    def data(self) -> Any:
        """The output, under the other name it has."""
        return self.output
