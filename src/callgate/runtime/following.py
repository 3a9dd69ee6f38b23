"""Following: the face of a gate for doors that keep clients up to date. Which tools there are, how far a call is."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from callgate.runtime.opened import Face

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.registry.registry import Registry
    from callgate.runtime.progress import Listener

_MAY_CHANGE_TOOLS = ("tool.*", "source.*", "health.changed", "grant.*")
"""What this process records when an asker may have other tools than before. Of others it hears by what they trust."""


class Following(Face):
    """Hearing what changes, without asking again and again."""

    _registry: Registry

    def on_tools(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` at once when other tools are registered; the function returned ends that."""
        return self._registry.on_change(lambda _changes: listener())

    def on_pools(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after something that may change what an asker may call; the function returned ends that."""
        opened = self._open()
        bus = opened.bus
        kept = [bus.on(pattern, lambda _event: listener()) for pattern in _MAY_CHANGE_TOOLS]
        unlisten = opened.pinning.on_adopted(listener)

        def end() -> None:
            unlisten()
            for each in kept:
                bus.off(each)

        return end

    @contextmanager
    def progress_of(self, context: Context, listener: Listener) -> Generator[None]:
        """Hear, on the gate's loop, what this asker's calls of this trace say of their progress."""
        with self._open().progress.heard(context, listener):
            yield
