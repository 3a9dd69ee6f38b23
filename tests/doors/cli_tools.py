"""Tools for the command line's tests; they leave what they did in files of the working directory."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from callgate import NoEffect, ToolContext, tool
from callgate.model.tool import Preview

PAID = Path("paid.txt")


@tool(effects="read_only")
def word_count(text: str = "") -> int:
    """Count the words in a text."""
    return len(text.split())


@tool(effects="read_only")
def hidden() -> dict[str, str]:
    """Return text that would hide on a terminal."""
    return {"text": "pay\u202e\u200b \x1b[2Jme", "wide": "日本語"}


@tool(effects="read_only")
def loud(words: str) -> str:
    """Print on stdout, also from a child process, and return the words."""
    print("a tool prints this")  # noqa: T201
    subprocess.run([sys.executable, "-c", "print('a child prints this')"], check=True)
    return words


@tool(effects="read_only")
def broken() -> None:
    """Fail."""
    raise ValueError("the tool is broken")


def _shown(arguments: dict[str, Any], _context: ToolContext) -> Preview:
    return Preview(text=f"-nothing\n+pay {arguments['amount']} to {arguments['to']}", details=arguments)


def _was_paid(_arguments: dict[str, Any], key: str) -> str:
    return "happened" if PAID.exists() and key in PAID.read_text().split() else "absent"


@tool(effects="network_access", risk="high", preview=_shown, verify=_was_paid)
def pay(to: str, *, amount: float, context: ToolContext) -> str:
    """Pay somebody.

    Args:
        to: Who gets it.
        amount: How much.
        context: The call's own.
    """
    with PAID.open("a") as file:
        file.write(f"{context.key}\n")
    return f"paid {amount:g} to {to}"


@tool(effects="network_access", risk="low", verify=_was_paid)
def flaky(context: ToolContext, *, booked: bool = True) -> str:
    """Pay, and lose the connection before the answer comes."""
    if booked:
        with PAID.open("a") as file:
            file.write(f"{context.key}\n")
    raise ConnectionError("the line went dead")


def _answer(_arguments: dict[str, Any], _key: str) -> str:
    return Path("answer").read_text()


@tool(effects="system_state", risk="low", verify=_answer)
def half_done() -> None:
    """Fail where something may have been left behind; the file `answer` says whether it was."""
    raise ValueError("in the middle")


@tool(effects="network_access", risk="low")
def harmless(_text: str = "") -> None:
    """Fail before anything happened."""
    raise NoEffect("nothing was sent")


@tool(effects="network_access", risk="high", allowed_callers={"direct", "chain"})
def order(amount: int) -> str:
    """Order something, also in flows."""
    with Path("ordered.txt").open("a") as file:
        file.write(f"{amount}\n")
    return f"ordered {amount}"
