"""Logs of a server, one line each, on stderr, hidden characters escaped: as text, or as JSON for programs.

What an exception says may hold anything, and so is left out in both: its kind and where it was raised are told.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from pathlib import PurePath

from callgate.cli.document import escaped
from callgate.model.visible import one_line

_OTHERS = ("uvicorn", "mcp")
"""What else is at work in a server, and logs."""


class JsonLine(logging.Formatter):
    """A record as one JSON document."""

    def format(self, record: logging.LogRecord) -> str:
        """Its time, level, logger and message; of an exception its kind and place."""
        body = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (found := _exception(record)) is not None:
            body["exception"], body["at"] = found
        return escaped(json.dumps(body, ensure_ascii=False))


class TextLine(logging.Formatter):
    """A record as one line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Its message; of an exception its kind and place."""
        found = _exception(record)
        return f"callgate: {one_line(record.getMessage())}" + ("" if found is None else f" ({found[0]} at {found[1]})")


def log_serving(*, as_json: bool) -> None:
    """From now on everything of a server is logged as the gate itself logs, and nothing past it."""
    handlers = logging.getLogger("callgate").handlers
    for handler in handlers:
        handler.setFormatter(JsonLine() if as_json else TextLine())
    for name in _OTHERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = list(handlers), False


def _exception(record: logging.LogRecord) -> tuple[str, str] | None:
    """What was raised, and where."""
    if record.exc_info is None or record.exc_info[0] is None:
        return None
    kind, _, trace = record.exc_info
    frames = traceback.extract_tb(trace, limit=-1)
    where = f"{'/'.join(PurePath(frames[0].filename).parts[-2:])}:{frames[0].lineno}" if frames else "no place"
    return kind.__name__, where
