"""PluginFolder: plugin folders as a source of a gate. Loads off the loop, and watches when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from callgate.adapters.plugins.saved import Saved
from callgate.adapters.plugins.shelf import Choices, Shelf
from callgate.adapters.plugins.state import PluginState
from callgate.adapters.plugins.watch import need_watchfiles, watch
from callgate.model.levels import Origin
from callgate.model.source import Loaded
from callgate.policy.own_files import STORE_FOLDER
from callgate.ports import Desk

DEFAULT_SETTINGS = Path(STORE_FOLDER) / "plugins"


class PluginFolder:
    """Plugins: `await gate.attach(PluginFolder("plugins", accept=["canvas_tools"]))`.

    Args:
        folders: A folder of plugin folders, or several.
        settings: Where settings are saved, one file per plugin; `.callgate/plugins` when left out.
        accept: Names of plugins whose own declarations (effects, scopes, …) count. The tools of all others are refused.
        reload: Load again whenever something changes; for development. Changes of accepted plugins that loosen nothing
            then count without a look.
        name: Of the source.
        only: The tools that are wanted; all of them when left out.
    """

    origin = Origin.PLUGIN

    def __init__(
        self,
        folders: str | Path | Iterable[str | Path],
        *,
        settings: str | Path = DEFAULT_SETTINGS,
        accept: Iterable[str] = (),
        reload: bool = False,
        name: str = "plugins",
        only: Collection[str] | None = None,
    ) -> None:
        self.name = name
        self.announced = True
        """Whether loading it is worth an event."""
        self._only = only
        several = [folders] if isinstance(folders, (str, Path)) else list(folders)
        accepted = frozenset(accept)
        self._choices = Choices(
            folders=tuple(Path(folder).absolute() for folder in several),
            settings=Path(settings).absolute(),
            accept=accepted,
            developed=accepted if reload else frozenset(),
            source_name=name,
        )
        self.files = (*self._choices.folders, self._choices.settings)
        """Out of reach of every tool: who writes there decides what runs."""
        self._shelf = Shelf(self._choices)
        self._states: tuple[PluginState, ...] = ()
        self._reload = reload
        self._watching: asyncio.Task[None] | None = None

    def plugins(self) -> tuple[PluginState, ...]:
        """How every plugin stood when they were loaded last."""
        return self._states

    async def load(self, desk: Desk) -> Loaded:
        """Load every plugin; see `Source.load`.

        Raises:
            ConfigurationError: It has to watch, and `watchfiles` is not installed.
        """
        if self._reload:
            need_watchfiles()
        if self._reload and self._watching is None:
            # Before anything is read, so that no change falls in between.
            self._watching = asyncio.ensure_future(watch(self.files, desk.changed))
            await asyncio.sleep(0)
        loaded = await asyncio.to_thread(self._shelf.load)
        # Told only now: whoever looks on the loop sees what serves, and not what is about to.
        self._states = self._shelf.states()
        if self._only is None:
            return loaded
        return replace(loaded, tools=tuple(tool for tool in loaded.tools if tool.name in self._only))

    async def switch(self, plugin: str, *, on: bool, tool: str | None = None) -> Saved:
        """Switch a plugin or one of its tools on or off, for good. The source has to be loaded again afterwards.

        Raises:
            ConfigurationError: There is no such plugin or tool, or its settings cannot be read.
            StoreError: It cannot be written.
        """
        return await asyncio.to_thread(self._shelf.switch, plugin, on=on, tool=tool)

    async def close(self) -> None:
        """Stop watching."""
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
