"""Calling the tools on files in a directory of the test's own, at the autonomy that asks nobody."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.model.outcome import Outcome


def opened(folder: Path, *categories: str) -> Callgate:
    """A gate that works in this directory."""
    return Callgate.open("memory://", working_directory=folder, builtin_tools=list(categories or ("files",)))


async def call(gate: Callgate, name: str, /, **arguments: Any) -> Outcome:
    """One call that nobody is asked about."""
    asker = Context(autonomy=Autonomy.A4, idempotency_key=uuid.uuid4().hex)
    return await gate.call(name, arguments, asker)


async def once(folder: Path, name: str, /, **arguments: Any) -> Outcome:
    """One call on a gate of its own."""
    async with opened(folder) as gate:
        return await call(gate, name, **arguments)
