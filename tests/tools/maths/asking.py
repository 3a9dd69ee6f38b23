"""Asking one maths tool through a gate."""

from __future__ import annotations

from typing import Any

from callgate import Callgate
from callgate.model.levels import Category


async def ask(name: str, **arguments: Any) -> Any:
    """The outcome of one call."""
    async with Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        return await gate.call(name, arguments)


async def refusal(name: str, **arguments: Any) -> str:
    """What is said of wrong input; fails where it was taken."""
    outcome = await ask(name, **arguments)
    assert not outcome.ok, outcome
    assert outcome.error.category is Category.USER_INPUT, outcome
    return str(outcome)
