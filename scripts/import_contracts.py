"""Import contracts that may name a room before it is built, so that a contract never waits for the last room.

A room that is absent is left out. A module missing from a room that exists is still an error, so a renamed
module cannot slip out of its contract.
"""

from collections.abc import Iterable

from grimp import ImportGraph
from importlinter import ContractCheck
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.imports import ModuleExpression

HOUSE = "callgate"


class ForbiddenAmongRooms(ForbiddenContract):
    """The forbidden contract, over the rooms that exist."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's signature
        self.source_modules = _built(graph, self.source_modules)
        self.forbidden_modules = _built(graph, self.forbidden_modules)
        return super().check(graph, verbose)


class ProtectedAmongRooms(ProtectedContract):
    """The protected contract, over the rooms that exist."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's signature
        self.protected_modules = _built(graph, self.protected_modules)
        self.allowed_importers = _built(graph, self.allowed_importers)
        return super().check(graph, verbose)


def _built(graph: ImportGraph, expressions: Iterable[ModuleExpression]) -> list[ModuleExpression]:
    return [expression for expression in expressions if _room_is_built(graph, expression)]


def _room_is_built(graph: ImportGraph, expression: ModuleExpression) -> bool:
    house, *inner = expression.expression.split(".")
    return house != HOUSE or not inner or f"{HOUSE}.{inner[0]}" in graph.modules
