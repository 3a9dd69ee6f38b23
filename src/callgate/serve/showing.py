"""Showing: the command by which a person finds a question, for doors whose asker may have no console."""

from __future__ import annotations

from collections.abc import Callable

Show = Callable[[str], str]
"""From the id of an approval to the command that shows it."""


def show_here(approval_id: str) -> str:
    """For who works in the folder that the gate works in, with its store."""
    return f"callgate approvals show {approval_id}"
