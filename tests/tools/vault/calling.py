"""Calling the tools on notes in a directory of the test's own, at the autonomy that asks nobody."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.model.outcome import Outcome

TOOLS = ("vault_read", "vault_write", "vault_search", "vault_list", "vault_move", "vault_create_index")


def opened(folder: Path, *, lasting: bool = False) -> Callgate:
    """A gate that works in this directory; its indexes last only where its store does."""
    store = f"sqlite:///{folder}/.callgate/callgate.db" if lasting else "memory://"
    return Callgate.open(store, working_directory=folder, builtin_tools=["vault"])


def asker(user: str | None = None, **fields: Any) -> Context:
    """Somebody who needs nobody's yes, in a session of its own: the same again in one session is asked about."""
    key = uuid.uuid4().hex
    return Context(user=user, autonomy=Autonomy.A4, session=key, idempotency_key=key, **fields)


async def call(gate: Callgate, name: str, /, **arguments: Any) -> Outcome:
    """One call that nobody is asked about."""
    return await gate.call(name, arguments, asker())


async def done(gate: Callgate, name: str, /, **arguments: Any) -> dict[str, Any]:
    """One call that succeeds."""
    return (await call(gate, name, **arguments)).unwrap()


async def once(folder: Path, name: str, /, **arguments: Any) -> Outcome:
    """One call on a gate of its own."""
    async with opened(folder) as gate:
        return await call(gate, name, **arguments)


def home(folder: Path, user: str = "agent=agent", project: str = "default") -> Path:
    """Where the notes lie that a person opens in an editor."""
    return folder / "vault" / user / project


def put(folder: Path, notes: dict[str, str]) -> None:
    """What an editor does."""
    for path, text in notes.items():
        file = home(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")


def texts(folder: Path) -> dict[str, str]:
    """Every note that is there."""
    top = home(folder)
    files = (file for file in sorted(top.rglob("*.md")) if file.is_file())
    return {str(file.relative_to(top)): file.read_bytes().decode() for file in files}
