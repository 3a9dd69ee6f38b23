"""Logs as JSON lines, for systems that read them: one document per line, on stderr, hidden characters escaped."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from callgate.cli.document import escaped


class JsonLine(logging.Formatter):
    """A record as one JSON document."""

    def format(self, record: logging.LogRecord) -> str:
        """Its time, level, logger and message; of an exception its kind alone, for its words may hold anything."""
        body = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            body["exception"] = record.exc_info[0].__name__
        return escaped(json.dumps(body, ensure_ascii=False))


def log_json() -> None:
    """Write what the gate logs from now on as JSON lines."""
    for handler in logging.getLogger("callgate").handlers:
        handler.setFormatter(JsonLine())
