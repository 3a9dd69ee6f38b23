"""Late streams: who only looks at a store begins its stream with the first event, and mostly never."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from callgate.events.chain import Appender
from callgate.events.vocabulary import STREAM_OPENED
from callgate.stores.sqlite.known import Known
from callgate.stores.sqlite.transaction import SqliteTransaction


class LateTransaction(SqliteTransaction):
    """Begins the stream before its first event.

    Args:
        db: The write connection.
        known: What is known of the database.
        appender: Chains the events of the stream.
        readings: About how many readings are kept.
        enter: Begins the stream.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        known: Known,
        *,
        appender: Appender,
        readings: int,
        enter: Callable[[SqliteTransaction], None],
    ) -> None:
        super().__init__(db, known, appender=appender, readings=readings)
        self._enter = enter

    def _write_events(self) -> None:
        if self.tip.sequence < 0 and self.drafts[0].type != STREAM_OPENED:
            waiting = list(self.drafts)
            self.drafts.clear()
            self._enter(self)
            self.drafts.extend(waiting)
        super()._write_events()
