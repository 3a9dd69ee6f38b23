"""Services: what a gate lends its built-in tools beyond what every handler gets.

A tool that keeps something, makes calls of its own or looks at the record cannot do so by itself. Each loan is one
small thing, so that a test can lend another.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.outcome import Outcome
from callgate.model.tool import Tool
from callgate.ports import Clock, Store
from callgate.settings.values import BuiltinToolsSettings, ModelSettings

Make = TypeVar("Make", bound=Callable[..., list[Any]])


class Way(Protocol):
    """The way to the gate, for tools that make calls themselves: each of them is governed as anybody's."""

    def call(  # noqa: PLR0917 - the gate's own `call`
        self, tool: str, arguments: Mapping[str, Any] | None = None, context: Context | None = None
    ) -> Awaitable[Outcome]:
        """Make one call."""
        ...

    def pool(self, context: Context | None = None) -> Iterable[Tool]:
        """What this asker may call now."""
        ...

    def reload_plugins(self) -> Awaitable[int]:
        """Load the plugins again; how many there are."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The loans of one open gate. Where there is no gate, tools can be listed and described, and nothing is lent."""

    working_directory: Path = field(default_factory=Path)
    indexes: Path | None = None
    """A folder of Callgate's own for what can be made again from its sources; None: keep it in memory."""
    store: Store | None = None
    clock: Clock | None = None
    way: Way | None = None
    model: ModelSettings | None = None
    """The configured model; None: there is none."""
    tell: Callable[[Outcome], str] = Outcome.to_human
    """What a model is told of an outcome."""


NOTHING = Services()
"""No gate, and nothing lent."""


def lending(make: Make) -> Make:
    """Refuse in the second place of a category's `make` what no gate lends: most would ignore it without a word.

    Raises:
        ConfigurationError: When it is called with what is no Services.
    """

    @functools.wraps(make)
    def made(settings: BuiltinToolsSettings, services: Services = NOTHING, **others: Any) -> list[Any]:
        if not isinstance(services, Services):  # pyright: ignore[reportUnnecessaryIsInstance] - callers write anything
            given = f"make takes second what a gate lends (Services), not {type(services).__name__}"
            raise ConfigurationError(f"{given}; all else goes by its name, as in make(settings, network=...)")
        return make(settings, services, **others)

    return cast("Make", made)
