"""Tools that run in a process of their own; at the top of a module, so that the child can find them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from callgate import ToolContext, tool


@tool(effects="read_only", isolation="process")
def whoami(text: str) -> dict[str, object]:
    """Say which process runs this."""
    return {"pid": os.getpid(), "text": text}


@tool(effects="modifies_files", risk="medium", isolation="process")
def write_and_hang(path: str) -> str:
    """Leave a trace, then never come back."""
    Path(path).write_text(str(os.getpid()))
    while True:
        time.sleep(60)  # it must hang, to be killed


@tool(effects="modifies_files", risk="medium", isolation="process")
def die(text: str) -> str:
    """End the process without an answer."""
    os._exit(3)


@tool(effects="read_only", isolation="process")
def fail(text: str) -> str:
    """Raise in the child."""
    raise ValueError(f"bad {text}")


@tool(effects="modifies_files", risk="low", isolation="process", scopes=["secrets:read"], marks_effect=True)
def sign(ctx: ToolContext) -> str:
    """Ask for a secret and say how far it is, from another process."""
    token = ctx.get_secret("bank", "token")
    ctx.progress(0.5, "halfway")
    with ctx.effect_sync():
        return f"signed with {token}"


@tool(effects="read_only", isolation="process")
def identity(ctx: ToolContext) -> dict[str, object]:
    """Say for whom this runs, as the child was told."""
    left = ctx.remaining(time.monotonic())
    return {"principal": ctx.context.principal, "session": ctx.context.session, "limited": left is not None}
