"""Reads `matrix`: a preset's name, or a whole table that is complete and monotone."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from callgate.model.levels import Autonomy, Risk
from callgate.settings.complaints import Told
from callgate.settings.kinds import Block, Fields, Key, Reading, either
from callgate.settings.leaves import Choice
from callgate.settings.matrix import CELLS, PRESETS, find_flaws
from callgate.settings.nodes import MapNode, Node
from callgate.settings.values import Matrix


def _build_row(fields: Fields, _: Reading) -> Any:
    return MappingProxyType({Risk[name.upper()]: cell for name, cell in fields.items()})


def _build_table(fields: Fields, _: Reading) -> Any:
    return MappingProxyType({Autonomy[name]: row for name, row in fields.items()})


_PRESET = Choice({name: name for name in PRESETS})
_ROW = Block(
    {risk.label: Key(Choice(CELLS), f"The verdict at {risk} risk.", required=True) for risk in Risk}, _build_row
)
_TABLE = Block({level.label: Key(_ROW, f"The verdicts at {level}.", required=True) for level in Autonomy}, _build_table)


@dataclass(frozen=True, slots=True)
class MatrixKind:
    """A preset, or a table of verdicts by autonomy and risk."""

    def read(self, node: Node, reading: Reading) -> Matrix | str:
        if not isinstance(node, MapNode):
            return _PRESET.read(node, reading)
        matrix: Matrix = _TABLE.read(node, reading)
        flaws = find_flaws(matrix)
        for flaw in flaws:
            reading.complain(node.at([flaw.autonomy.label, flaw.risk.label]), flaw.message)
        if flaws:
            raise Told
        return matrix

    def schema(self) -> dict[str, Any]:
        return either([_PRESET.schema(), _TABLE.schema()])
