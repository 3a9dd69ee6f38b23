"""The matrix: which verdict autonomy and risk give together, as data; its presets, and whether it is monotone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy, Risk, Verdict
from callgate.settings.values import Cell, Matrix
from callgate.settings.wording import instead, quote

CELLS: Mapping[str, Cell] = MappingProxyType(
    {
        "allow": (Verdict.ALLOW, False),
        "confirm": (Verdict.CONFIRM, False),
        "confirm+": (Verdict.CONFIRM, True),
        "preview": (Verdict.PREVIEW, False),
        "deny": (Verdict.DENY, False),
    }
)
"""The words of a matrix, from the loosest to the strictest."""

_STRICTNESS: Mapping[Cell, int] = {cell: rank for rank, cell in enumerate(CELLS.values())}
_WORDS: Mapping[Cell, str] = {cell: word for word, cell in CELLS.items()}


def _table(rows: str) -> Matrix:
    table: dict[Autonomy, Mapping[Risk, Cell]] = {}
    for line in rows.strip().splitlines():
        level, *words = line.split()
        table[Autonomy[level]] = MappingProxyType(dict(zip(Risk, map(CELLS.__getitem__, words), strict=True)))
    return MappingProxyType(table)


PRESETS: Mapping[str, Matrix] = MappingProxyType(
    {
        "default": _table(
            """
            A0 preview preview preview deny
            A1 confirm confirm confirm confirm+
            A2 allow   confirm confirm confirm+
            A3 allow   allow   confirm confirm+
            A4 allow   allow   allow   confirm+
            """
        ),
        "strict": _table(
            """
            A0 preview preview preview deny
            A1 confirm confirm confirm deny
            A2 allow   confirm confirm deny
            A3 allow   allow   confirm deny
            A4 allow   allow   allow   confirm+
            """
        ),
    }
)
"""The matrices that have a name."""


class Flaw(NamedTuple):
    """One cell of a matrix that cannot stand, and why."""

    autonomy: Autonomy
    risk: Risk
    message: str


def find_flaws(matrix: Matrix) -> list[Flaw]:
    """Every cell that is missing, looser than it may be beside its neighbours, or lets A0 execute."""
    missing = [
        Flaw(level, risk, f"{level} has no verdict for {risk} risk")
        for level in Autonomy
        for risk in Risk
        if matrix.get(level, {}).get(risk) not in _STRICTNESS
    ]
    return missing or [*_executing(matrix), *_looser(matrix)]


def resolve_matrix(matrix: Matrix | str) -> Matrix:
    """The table of a preset's name, or the table itself once it is found complete and monotone.

    Raises:
        ConfigurationError: No preset has that name, or the table has flaws.
    """
    if isinstance(matrix, str):
        if matrix not in PRESETS:
            raise ConfigurationError(f"unknown matrix {quote(matrix)}; {instead(matrix, PRESETS)}", key="matrix")
        return PRESETS[matrix]
    flaws = find_flaws(matrix)
    if flaws:
        raise ConfigurationError("; ".join(flaw.message for flaw in flaws), key="matrix")
    return matrix


def _executing(matrix: Matrix) -> Iterator[Flaw]:
    for risk in Risk:
        cell = matrix[Autonomy.A0][risk]
        if cell[0] < Verdict.PREVIEW:
            yield Flaw(Autonomy.A0, risk, f"A0 never executes an effect, so not {_WORDS[cell]}; write preview or deny")


def _looser(matrix: Matrix) -> Iterator[Flaw]:
    for level, risk in itertools.product(Autonomy, Risk):
        cell = matrix[level][risk]
        for calmer_level, calmer_risk in _calmer(level, risk):
            other = matrix[calmer_level][calmer_risk]
            if _STRICTNESS[cell] < _STRICTNESS[other]:
                looser = f"{level} at {risk} risk is {_WORDS[cell]}, looser than {calmer_level} at {calmer_risk} risk"
                rule = "less autonomy or more risk is never looser"
                yield Flaw(level, risk, f"{looser} ({_WORDS[other]}); {rule}")


def _calmer(level: Autonomy, risk: Risk) -> Iterator[tuple[Autonomy, Risk]]:
    """The neighbours that may not be stricter: one more level of autonomy, one less of risk."""
    if level < Autonomy.A4:
        yield Autonomy(level + 1), risk
    if risk > Risk.LOW:
        yield level, Risk(risk - 1)
