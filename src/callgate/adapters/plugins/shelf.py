"""Shelf: the plugins of some folders, loaded and loaded again. Each stands or falls by itself.

Blocking, for whoever has no loop; knows no gate. A newer version that cannot be loaded leaves the older one serving.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from callgate.adapters.plugins.code import Code
from callgate.adapters.plugins.found import Found, fill_settings, find_plugins, with_settings
from callgate.adapters.plugins.making import Bench, make_tool
from callgate.adapters.plugins.manifest import ToolEntry
from callgate.adapters.plugins.saved import Saved, SavedSettings
from callgate.adapters.plugins.state import PluginState, PluginTool
from callgate.adapters.plugins.switch import Switch
from callgate.errors import ConfigurationError
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.model.visible import brief


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the operator chose for all plugins of a shelf."""

    folders: tuple[Path, ...]
    settings: Path
    """Where settings are saved, one file per plugin."""
    accept: frozenset[str] = frozenset()
    """Plugins whose own declarations count."""
    developed: frozenset[str] = frozenset()
    """Those of them that are being worked on: a change that loosens nothing needs no further look."""
    source_name: str = "plugins"


@dataclass(slots=True, kw_only=True)
class _Loading:
    """One loading of a plugin: its code, and the tools made of it."""

    found: Found
    code: Code
    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    faults: dict[str, str] = field(default_factory=dict[str, str])


class Shelf:
    """Plugins in folders.

    Args:
        choices: Folders, settings, and what is accepted.
    """

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self.saved = SavedSettings(choices.settings)
        self._loadings: dict[Path, _Loading] = {}
        self._states: tuple[PluginState, ...] = ()
        self._known: frozenset[str] | None = None
        """What was there at the first loading, by digest: later, it can only have been switched on."""
        self._lock = threading.Lock()

    def states(self) -> tuple[PluginState, ...]:
        """How every plugin stood when they were loaded last."""
        return self._states

    def survey(self) -> tuple[PluginState, ...]:
        """How every plugin stands in its folder right now; runs no code."""
        return tuple(self._state(found) for found in self._each_once())

    def load(self, *, only: str | None = None) -> Loaded:
        """Everything the folders have now, or one plugin of it. What did not change is not run again."""
        with self._lock:
            plugins = self._each_once()
            standing = {
                found.path: self._stand(found) if only in (None, found.name) else (None, self._state(found))
                for found in plugins
            }
            self._loadings = {path: loading for path, (loading, _) in standing.items() if loading is not None}
            self._states = tuple(state for _, state in standing.values())
            loaded = self._gathered()
            if self._known is None:
                self._known = frozenset(found.digest for found in plugins if found.digest)
            return loaded

    def switch(self, plugin: str, *, on: bool, tool: str | None = None) -> Saved:
        """Switch a plugin or one of its tools on or off, for good; off holds with the next call, on with a loading.

        Raises:
            ConfigurationError: There is no such plugin or tool, or its settings cannot be read.
            StoreError: It cannot be written.
        """
        if tool is None:
            if on or not self._has_unreadable():
                self.find(plugin)
            return self.saved.update(plugin, Saved(enabled=on))
        known = [item.name for item in self.find(plugin).tools]
        if tool not in known:
            raise ConfigurationError(f"the plugin {plugin} has no tool {brief(tool)!r}; it has: {_listed(known)}")
        return self.saved.update(plugin, Saved(tool_overrides={tool: {"enabled": on}}))

    def find(self, plugin: str) -> PluginState:
        """The plugin of that name, as it is in its folder now, or as it serves where that cannot be read.

        Raises:
            ConfigurationError: There is none.
        """
        states = (*self.survey(), *self._states)
        for state in states:
            if state.name == plugin:
                return state
        known = _listed(list(dict.fromkeys(state.name for state in states)))
        raise ConfigurationError(f"there is no plugin {brief(plugin)!r}; there are: {known}")

    def _has_unreadable(self) -> bool:
        """Whether a manifest hides its plugin's name, which must keep nobody from switching that one off."""
        return any(not state.version for state in self.survey())

    def filled(self, plugin: str, saved: Saved) -> dict[str, Any]:
        """The settings a plugin would get, defaults filled in.

        Raises:
            ConfigurationError: They do not fit its schema.
        """
        for found in find_plugins(self._choices.folders, self.saved):
            if found.manifest is not None and found.name == plugin:
                return dict(fill_settings(found.manifest, saved))
        return dict(saved.custom_config)

    def _each_once(self) -> list[Found]:
        """Every plugin found; a second one of the same name is refused. Who serves already comes first."""
        found = list(find_plugins(self._choices.folders, self.saved))
        found.sort(key=lambda item: item.path not in self._loadings)
        names: dict[str, Path] = {}
        for at, item in enumerate(found):
            if item.manifest is not None and names.setdefault(item.name, item.path) != item.path:
                fault = f"there is a plugin called {item.name} in {names[item.name]} already"
                found[at] = replace(item, fault=fault, off=fault)
        return found

    def _stand(self, found: Found) -> tuple[_Loading | None, PluginState]:
        """What serves of a plugin now."""
        former = self._loadings.get(found.path)
        if found.fault is not None and former is not None and found.off is None:
            return self._former(former, found.fault)
        if found.fault is not None or found.off is not None or not found.enabled:
            return None, self._state(found)
        loading = self._loaded(found, former)
        if former is not None and former.found.digest != found.digest and loading.faults:
            return self._former(former, "; ".join(f"{name}: {fault}" for name, fault in loading.faults.items()))
        return loading, self._state(found, loading)

    def _former(self, former: _Loading, fault: str) -> tuple[_Loading | None, PluginState]:
        """The version before goes on serving, unless it was switched off meanwhile."""
        found = with_settings(former.found, self.saved)
        if found.off is not None or not found.enabled:
            return None, replace(self._state(found), fault=fault)
        kept = self._loaded(found, former)
        return kept, replace(self._state(found, kept), fault=fault, stale=True)

    def _loaded(self, found: Found, former: _Loading | None) -> _Loading:
        """The loading of this content with these settings; the former one, if nothing is different."""
        assert found.snapshot is not None  # noqa: S101 - it could be read
        assert found.manifest is not None  # noqa: S101 - as above
        again = former is None or former.found.digest != found.digest or former.faults
        if former is not None and not again and former.found.saved == found.saved:
            return former
        code = Code(found.name, found.snapshot) if former is None or again else former.code
        loading = _Loading(found=found, code=code)
        ids = {} if former is None else {name: tool.id for name, tool in former.tools.items()}
        bench = self._bench(found, code, ids=ids)
        for entry in found.manifest.tools:
            if not _is_off(entry, found):
                self._make(entry, loading, bench=bench)
        return loading

    def _bench(self, found: Found, code: Code, *, ids: dict[str, str]) -> Bench:
        assert found.manifest is not None  # noqa: S101 - as above
        return Bench(
            plugin=found.name,
            source_name=self._choices.source_name,
            code=code,
            settings=found.settings,
            switch=Switch(self.saved, found.name, by_manifest=found.manifest.enabled, keeps=code),
            accepted=found.name in self._choices.accept,
            ids=ids,
        )

    def _make(self, entry: ToolEntry, loading: _Loading, *, bench: Bench) -> None:
        try:
            loading.tools[entry.name] = make_tool(entry, bench)
        except ConfigurationError as error:
            loading.faults[entry.name] = str(error).removeprefix(f"{entry.name}: ")

    def _state(self, found: Found, loading: _Loading | None = None) -> PluginState:
        manifest = found.manifest
        usable = found.enabled and found.off is None and (found.fault is None or loading is not None)
        state = PluginState(
            name=found.name,
            folder=str(found.path),
            enabled=usable,
            accepted=found.name in self._choices.accept,
            fault=found.off or found.fault,
            digest=found.digest,
        )
        if manifest is None:
            return state
        faults = {} if loading is None else loading.faults
        tools = tuple(
            _tool_state(entry, found, usable=usable, fault=faults.get(entry.name)) for entry in manifest.tools
        )
        return replace(state, version=manifest.version, description=manifest.description, tools=tools)

    def _gathered(self) -> Loaded:
        tools: dict[str, Tool] = {}
        failures = list(_missing(self._choices.folders))
        for state in self._states:
            failures.extend(_failures(state))
            loading = self._loadings.get(Path(state.folder))
            served: dict[str, Tool] = {} if loading is None else loading.tools
            for name, tool in served.items():
                if tools.setdefault(name, tool) is not tool:
                    taken = f"the plugin {tools[name].connector} has a tool of that name"
                    failures.append(Failure(name, f"{taken}; that of {state.name} is left out"))
        developed = {name for name, tool in tools.items() if tool.connector in self._choices.developed}
        return Loaded(
            tuple(tools.values()),
            tuple(failures),
            developed=frozenset(developed),
            switched_on=frozenset(name for name, tool in tools.items() if self._is_known(tool)),
        )

    def _is_known(self, tool: Tool) -> bool:
        """Whether it was there, on or off, when the shelf was loaded for the first time."""
        known = self._known or frozenset()
        return any(
            loading.tools.get(tool.name) is tool and loading.found.digest in known
            for loading in self._loadings.values()
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _is_off(entry: ToolEntry, found: Found) -> bool:
    override = found.saved.tool_overrides.get(entry.name, {}).get("enabled")
    return not (entry.enabled if override is None else override)


def _tool_state(entry: ToolEntry, found: Found, *, usable: bool, fault: str | None) -> PluginTool:
    return PluginTool(
        name=entry.name,
        description=entry.description,
        category=entry.category,
        module=entry.module,
        function=entry.function,
        parameters=entry.parameters or {},
        enabled=usable and not _is_off(entry, found),
        fault=fault,
    )


def _missing(folders: Iterable[Path]) -> Iterable[Failure]:
    return (Failure(str(folder), "there is no such folder") for folder in folders if not folder.is_dir())


def _failures(state: PluginState) -> Iterable[Failure]:
    if state.stale:
        yield Failure(state.name, f"{state.fault}; version {state.version} goes on serving")
    elif state.fault is not None:
        yield Failure(state.name, state.fault)
    yield from (Failure(tool.name, tool.fault) for tool in state.tools if tool.fault is not None)
