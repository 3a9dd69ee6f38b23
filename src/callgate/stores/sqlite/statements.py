"""Reads the named statements of a `.sql` file. Knows nothing of what they say."""

from __future__ import annotations

import re
from importlib.resources import files

_MARK = "-- name: "
_ORDER = re.compile(r"ORDER BY (\w+) LIMIT")


def load(name: str) -> dict[str, str]:
    """The statements of `sql/<name>.sql` by the names they carry there."""
    text = files("callgate.stores.sqlite").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    return dict(_named(part.splitlines()) for part in text.split(_MARK)[1:])


def newest_first(statements: dict[str, str]) -> dict[str, str]:
    """The same statements, those that list with their order turned round."""
    return {name: _ORDER.sub(r"ORDER BY \1 DESC LIMIT", text) for name, text in statements.items()}


def _named(lines: list[str]) -> tuple[str, str]:
    return lines[0].strip(), "\n".join(line for line in lines[1:] if line and not line.startswith("--"))
