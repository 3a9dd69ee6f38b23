"""Registry: the one mutable handle on the tools. It swaps snapshots; a call in flight keeps the one it began with."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Unpack

from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.source import Failure
from callgate.model.tool import Tool
from callgate.model.visible import brief
from callgate.registry.health import HealthBoard
from callgate.registry.pins import Pins
from callgate.registry.quarantine import Quarantine
from callgate.registry.snapshot import Filters, Snapshot

_log = logging.getLogger("callgate.registry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What one change of the registry did."""

    added: tuple[Tool, ...] = ()
    changed: tuple[tuple[Tool, Tool], ...] = ()
    """Old and new, where the definition is another one; a tool that only got a new handler is not among them."""
    removed: tuple[Tool, ...] = ()
    quarantined: Mapping[str, str] = field(default_factory=dict[str, str])
    """Which of the added and changed ones must wait for somebody to look, and why."""


Listener = Callable[[Changes], None]


class Registry:
    """Which tools there are. Changing it is safe from any thread, reading it takes no lock.

    Args:
        health: The health of the connectors behind the tools.
        pins: What was trusted before this process; what comes is judged against it.
    """

    def __init__(self, health: HealthBoard, *, pins: Pins | None = None) -> None:
        self.snapshot = Snapshot()
        """The tools now. Take it once per call."""
        self.health = health
        self.quarantine = Quarantine(pins)
        self.quarantined: Mapping[str, str] = self.quarantine.reasons
        """Name to reason, live; `registry.quarantined.get(name)` is the question of a call."""
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.RLock()

    def find(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self.snapshot.find(name)

    def get(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            ToolNotFoundError: There is none.
        """
        return self.snapshot.get(name)

    def list_tools(self, **filters: Unpack[Filters]) -> tuple[Tool, ...]:
        """The tools that pass every filter given, as they came."""
        return self.snapshot.list_tools(**filters)

    def add(self, tool: Tool, *, update: bool = False) -> Changes:
        """Add a tool; with `update` it may take the place of its former self, of the same source.

        Raises:
            ConfigurationError: The name is taken or no name; nothing was changed.
        """
        return self.add_many((tool,), update=update)

    def add_many(self, tools: Iterable[Tool], *, update: bool = False) -> Changes:
        """Add tools: all of them, or an error and none.

        Raises:
            ConfigurationError: As `add`, for the first that cannot be added.
        """
        coming = tuple(tools)
        with self._lock:
            return self._swap(self.snapshot.with_tools(coming, update=update), coming)

    def remove(self, name: str) -> Changes:
        """Remove a tool.

        Raises:
            ToolNotFoundError: There is none of that name.
        """
        with self._lock:
            return self._swap(self.snapshot.without(name), (), gone=(self.snapshot.get(name),))

    def replace_source(
        self, source: Origin, source_name: str, *, tools: Iterable[Tool], judged: Callable[[], None] | None = None
    ) -> Changes:
        """Let these be all the tools of a source, at once; `judged` is called once they are, before anybody is told.

        Raises:
            ConfigurationError: One of them is of another source or cannot be added; nothing was changed.
        """
        coming = tuple(tools)
        for tool in coming:
            if (tool.source, tool.source_name) != (source, source_name):
                raise ConfigurationError(
                    f"tool {brief(tool.name)!r} is of {tool.source_title}, not of {source} {source_name}"
                )
        names = {tool.name for tool in coming}
        with self._lock:
            present = [tool for tool in self.snapshot if (tool.source, tool.source_name) == (source, source_name)]
            gone = tuple(tool for tool in present if tool.name not in names)
            after = self.snapshot.without(*(tool.name for tool in gone)).with_tools(coming, update=True)
            return self._swap(after, coming, gone=gone, whole=(source, source_name), judged=judged)

    def take_source(
        self, source: Origin, source_name: str, *, tools: Iterable[Tool], judged: Callable[[], None] | None = None
    ) -> tuple[Changes, tuple[Failure, ...]]:
        """As `replace_source`, but a tool that cannot be added is left out, with the reason, and harms no other."""
        kept: list[Tool] = []
        failures: list[Failure] = []
        with self._lock:
            others = [tool for tool in self.snapshot if (tool.source, tool.source_name) == (source, source_name)]
            trial = self.snapshot.without(*(tool.name for tool in others))
            for tool in tools:
                try:
                    trial = trial.with_tools((tool,))
                    kept.append(tool)
                except ConfigurationError as error:
                    failures.append(Failure(brief(tool.name), error.message))
            return self.replace_source(source, source_name, tools=kept, judged=judged), tuple(failures)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every change, in the order of the changes; the function returned ends that.

        A listener must be short. One that raises harms nobody and is logged.
        """
        with self._lock:
            self._listeners = (*self._listeners, listener)
        return lambda: self._forget(listener)

    def _forget(self, listener: Listener) -> None:
        with self._lock:
            self._listeners = tuple(item for item in self._listeners if item is not listener)

    def _swap(
        self,
        after: Snapshot,
        coming: tuple[Tool, ...],
        *,
        gone: tuple[Tool, ...] = (),
        whole: tuple[Origin, str] | None = None,
        judged: Callable[[], None] | None = None,
    ) -> Changes:
        before = self.snapshot
        latest = {tool.name: tool for tool in coming}.values()
        changed = [(old, tool) for tool in latest if (old := before.find(tool.name)) is not None]
        # Held before it can be found: no call may slip in between.
        quarantined = self.quarantine.judge(latest, whole=whole)
        if judged is not None:
            judged()
            quarantined = {name: reason for name, reason in quarantined.items() if name in self.quarantined}
        self.snapshot = after
        self.quarantine.gone(tool.name for tool in gone)
        changes = Changes(
            added=tuple(tool for tool in latest if tool.name not in before),
            changed=tuple((old, new) for old, new in changed if old.definition_hash != new.definition_hash),
            removed=gone,
            quarantined=quarantined,
        )
        self._tell(changes)
        return changes

    def _tell(self, changes: Changes) -> None:
        for listener in self._listeners:
            try:
                listener(changes)
            except Exception:  # noqa: BLE001 - whatever a listener does, the change has been made
                _log.exception("a listener to changes of the registry failed")
