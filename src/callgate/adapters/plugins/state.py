"""How plugins stand: what is shown to people and to code that lists them. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginTool:
    """One tool of a plugin's manifest, on or off."""

    name: str
    description: str
    category: str
    module: str
    function: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    enabled: bool = True
    """Whether manifest and settings have it on, and its plugin too."""
    fault: str | None = None
    """Why it could not be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginState:
    """One plugin: found, and perhaps loaded."""

    name: str
    """As its manifest says; the folder's name where no manifest could be read."""
    folder: str
    version: str = ""
    description: str = ""
    enabled: bool = False
    accepted: bool = False
    """Whether the operator accepted what it declares."""
    fault: str | None = None
    """Why it cannot be used; or, with `stale`, why its newer self cannot."""
    stale: bool = False
    """What is in the folder could not be loaded, and what was loaded before goes on serving."""
    digest: str = ""
    tools: tuple[PluginTool, ...] = ()


def differences(before: Iterable[PluginState], after: Iterable[PluginState]) -> list[str]:
    """The names of plugins that came, went, or have other content, each once."""
    old = {state.folder: state for state in before}
    new = {state.folder: state for state in after}
    changed = [state.name for folder, state in new.items() if folder not in old or old[folder].digest != state.digest]
    gone = [state.name for folder, state in old.items() if folder not in new]
    return list(dict.fromkeys([*changed, *gone]))
