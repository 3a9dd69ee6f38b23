"""Complaints: everything that is wrong with one file, each with its place, told at once."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from callgate.errors import ConfigurationError

_MOST_TOLD = 50


class Fault(ValueError):
    """One value is wrong. Whoever reads the value that holds it knows the place and makes it a complaint."""


class Told(Fault):
    """The value is wrong, and its complaints have been made."""


class Complaint(NamedTuple):
    """What is wrong, and where."""

    line: int | None
    key: str
    message: str


class Complaints:
    """Collects what is wrong with one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._all: list[Complaint] = []

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, message: str, *, line: int | None, key: str = "") -> None:
        """Note a complaint; `key` is the dotted key."""
        self._all.append(Complaint(line, key, message))

    def raise_all(self) -> NoReturn:
        """Raise them as one error, in the order of the file; the first gives the error its place.

        Raises:
            ConfigurationError: Always.
        """
        ordered = sorted(self._all, key=lambda complaint: complaint.line or 0)
        first, *others = ordered
        more = [str(self._error(other, other.message)) for other in others[: _MOST_TOLD - 1]]
        if len(ordered) > _MOST_TOLD:
            more.append(f"… and {len(ordered) - _MOST_TOLD} more")
        raise self._error(first, "\n".join([first.message, *more]))

    def _error(self, complaint: Complaint, message: str) -> ConfigurationError:
        return ConfigurationError(message, file=self._file, line=complaint.line, key=complaint.key or None)
