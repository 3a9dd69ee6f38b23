"""Reads the named statements of a `.sql` file. Knows nothing of what they say."""

from __future__ import annotations

from importlib.resources import files

_MARK = "-- name: "


def load(name: str) -> dict[str, str]:
    """The statements of `sql/<name>.sql` by the names they carry there."""
    text = files("callgate.stores.sqlite").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    return dict(_named(part.splitlines()) for part in text.split(_MARK)[1:])


def _named(lines: list[str]) -> tuple[str, str]:
    return lines[0].strip(), "\n".join(line for line in lines[1:] if line and not line.startswith("--"))
