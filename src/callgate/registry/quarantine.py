"""Quarantine: which tools wait until somebody looks at them, and why. Knows the pins, not the snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.registry.pins import Pins, is_foreign, judge_pins, merge_pins
from callgate.registry.trust import compare_declarations, declaration


class Quarantine:
    """Judges tools against the pins it was given, and against what it saw of foreign tools since."""

    def __init__(self, pins: Pins | None = None) -> None:
        self.pins = pins if pins is not None else Pins()
        """What is trusted now; the runtime keeps it in the store."""
        self._hashes: dict[str, str] = {}
        """The definition each judged tool is held for; a tool held by hand has none."""
        self._reasons: dict[str, str] = dict(self.pins.held)
        self.reasons: Mapping[str, str] = MappingProxyType(self._reasons)
        """Name to reason, live."""
        self._lock = threading.RLock()

    def judge(self, tools: Iterable[Tool], *, whole: tuple[Origin, str] | None = None) -> dict[str, str]:
        """Hold those that must wait, let go those that are again what was trusted; the ones held, with reasons.

        A foreign tool seen for the first time is remembered as it is. `whole` says that these are all the tools of a
        source, so that from now on a further one of it is new.
        """
        judged = tuple(tools)
        with self._lock:
            held = judge_pins(self.pins, judged)
            for tool in judged:
                self._note(tool, held.get(tool.name))
            unseen = [tool for tool in judged if is_foreign(tool) and self.pins.get(tool.name) is None]
            self._pin(tool for tool in unseen if tool.name not in held)
            # A server that lists nothing yet has not been looked at.
            if whole is not None and judged:
                self.pins = self.pins.with_source(*whole)
        return held

    def remember(self, tools: Iterable[Tool]) -> None:
        """Pin these as they are now, also our own, except those that are held."""
        with self._lock:
            self._pin(tool for tool in tools if tool.name not in self._reasons and not self._is_pinned(tool))

    def adopt(self, theirs: Pins, *, since: Pins, tools: Iterable[Tool]) -> dict[str, str]:
        """Judge these tools by pins that others wrote, with what changed here since `since`; those newly held."""
        with self._lock:
            before = dict(self._reasons)
            self.pins = merge_pins(self.pins, theirs, since=since)
            for name in before.keys() - self._hashes.keys() - self.pins.held.keys():
                self._drop(name)
            self._hold(self.pins.held)
            held = self.judge(tools)
        return {name: reason for name, reason in held.items() if name not in before}

    def hold(self, reasons: Mapping[str, str]) -> None:
        """Hold tools by hand, each with its reason; only `release` lets them go."""
        with self._lock:
            self.pins = self.pins.with_held(reasons)
            self._hold(reasons)

    def release(self, tool: Tool) -> None:
        """Trust this exact definition, and let the tool go.

        Raises:
            ConfigurationError: What is held under its name is another definition than the one looked at.
        """
        looked_at = tool.as_given.definition_hash
        with self._lock:
            if self._hashes.get(tool.name, looked_at) != looked_at:
                raise ConfigurationError(
                    f"{tool.name} changed again since it was looked at; look at the new difference"
                )
            self.pins = self.pins.with_tools((tool,)).with_held({tool.name: None})
            self._drop(tool.name)

    def expected(self, tools: Iterable[Tool], *, changed: bool) -> None:
        """Let go those of these held tools that the operator knew of: new ones and, with `changed`, changed ones.

        What became looser than what was trusted, and what is held by hand, stays held.
        """
        with self._lock:
            for tool in tools:
                given, pin = tool.as_given, self.pins.get(tool.name)
                if self._hashes.get(tool.name) != given.definition_hash:
                    continue
                if pin is None or (changed and not compare_declarations(pin.declaration, declaration(given)).loosened):
                    self.release(tool)

    def gone(self, names: Iterable[str]) -> None:
        """These tools were removed. Their pins stay, so that coming back changed is still a change."""
        with self._lock:
            for name in names:
                if name in self._hashes:
                    self._drop(name)

    def _pin(self, tools: Iterable[Tool]) -> None:
        """Pins that did not change stay the same object: whoever keeps them sees that there is nothing to write."""
        coming = tuple(tools)
        if coming:
            self.pins = self.pins.with_tools(coming)

    def _is_pinned(self, tool: Tool) -> bool:
        pin = self.pins.get(tool.name)
        return pin is not None and pin.hash == tool.as_given.definition_hash

    def _hold(self, reasons: Mapping[str, str]) -> None:
        for name, reason in reasons.items():
            self._hashes.pop(name, None)
            self._reasons[name] = reason

    def _note(self, tool: Tool, reason: str | None) -> None:
        if tool.name in self.pins.held:
            return
        if reason is None:
            self._drop(tool.name)
        else:
            self._hashes[tool.name] = tool.as_given.definition_hash
            self._reasons[tool.name] = reason

    def _drop(self, name: str) -> None:
        self._hashes.pop(name, None)
        self._reasons.pop(name, None)
