"""Category: what the package of one category of built-in tools says of itself, without importing its tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from callgate.settings.values import BuiltinToolsSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """Tools that belong together. The module `offer` in its package makes them: `make(settings, services)`."""

    tools: Mapping[str, Sequence[str]]
    """The modules that each of its tools needs beyond the core; imported only when it runs."""
    extra: str | None = None
    """The extra that brings them; None where the core is enough."""
    programs: Mapping[str, str] = field(default_factory=dict[str, str])
    """The program that a tool cannot do without, as it is started."""
    when_set: Callable[[BuiltinToolsSettings], Category | None] | None = None
    """Where settings change what its tools need: what it is under them; None is as it is."""

    def under(self, settings: BuiltinToolsSettings) -> Category:
        """This category as these settings make it."""
        return (self.when_set(settings) if self.when_set else None) or self
