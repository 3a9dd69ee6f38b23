"""Observing: the face of a gate for the systems that watch it. Counts begin when somebody asks for them first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError
from callgate.runtime.opened import Around, Face

if TYPE_CHECKING:
    from callgate.observe.metrics import Metrics
    from callgate.settings.values import Observe

_NAME_DIGITS = 12
"""The last of a store's id: its first tell when it was made, and those that were made together would share them."""


def spans_around() -> tuple[Around, ...]:
    """Middleware that tells every call as a span, where the environment says to send them; else none."""
    try:
        from callgate.observe.export import export_spans  # noqa: PLC0415 - an extra, and only where something is served
        from callgate.observe.spans import spans  # noqa: PLC0415
    except ImportError:
        return ()
    return (spans(),) if export_spans() else ()


class Observing(Face):
    """What a gate tells of itself in numbers."""

    _metrics: Metrics | None = None

    @property
    def own_name(self) -> str:
        """What this gate is called among those of a machine: the same for everybody who opens its store."""
        return f"callgate-{self._open().parts.store.store_id.replace('-', '')[-_NAME_DIGITS:]}"

    def observed(self) -> tuple[Observe, ...]:
        """The observe modes that are in force now: what they name is judged and recorded, and runs all the same."""
        parts = self._open().parts
        now = parts.clock.now()
        return tuple(mode for mode in parts.settings.observe if mode.since <= now < mode.until)

    def served_at(self, url: str) -> None:
        """Say where people find this gate's console: links that they are sent lead there."""
        self._open().served_at = url

    def count(self) -> Metrics:
        """Begin to count what is recorded, if nobody did yet.

        Raises:
            ConfigurationError: The extra `observe` is not installed.
        """
        if self._metrics is not None:
            return self._metrics
        try:
            from callgate.observe.metrics import Metrics  # noqa: PLC0415 - an extra, and only where somebody counts
        except ImportError:
            raise ConfigurationError("metrics need the extra: pip install 'callgate[observe]'") from None
        self._metrics = Metrics()
        self._open().bus.on("*", self._metrics.note)
        return self._metrics

    def metrics(self, *, pending: int, unknown: int) -> bytes:
        """Everything counted so far, in the text format of Prometheus.

        Args:
            pending: Questions that wait now.
            unknown: Calls nobody knows the end of now.

        Raises:
            ConfigurationError: The extra `observe` is not installed.
        """
        return self.count().text(pending=pending, unknown=unknown)
