"""Batch: what is committed together, and what each unit of it came to."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from typing import Any

from callgate.events.chain import Row
from callgate.model.event import Draft

Unit = Callable[[Any], Any]
Waiter = Future[Any]
Item = Draft | tuple[Unit, Waiter]
"""An event written behind, or a unit of work and who waits for it."""


class Batch:
    """Items in the order they came, and after the run their results."""

    __slots__ = ("before", "changed", "first", "items", "results", "rows")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.results: list[tuple[Waiter, Any, BaseException | None]] = []
        self.changed = False
        """Whether there is anything to make durable."""
        self.rows: list[Row] = []
        self.first = 0
        """The position of the first of `rows`."""
        self.before: Batch | None = None
        """One whose commit was reported as failed, and that stands."""

    def goes_after(self, before: Batch) -> None:
        """Write nothing again of a batch that stands: its events wait here, as it was taken for lost."""
        written = {id(draft) for draft in before.drafts()}
        self.items = [item for item in self.items if id(item) not in written]
        self.before = before

    def drafts(self) -> list[Draft]:
        """The events written behind: they outlive a failed commit."""
        return [item for item in self.items if isinstance(item, Draft)]

    def waiting(self) -> list[Waiter]:
        """Those who wait for a unit."""
        return [item[1] for item in self.items if not isinstance(item, Draft)]
