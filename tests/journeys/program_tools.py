"""Tools that programs of the tests call, and what they did, seen from outside the sandbox."""

from __future__ import annotations

from typing import Any

from callgate import tool

CHAINED = {"direct", "chain"}


class Town:
    """What really happened."""

    def __init__(self) -> None:
        self.read: list[int] = []
        self.paid: list[int] = []
        self.sent: list[str] = []

    @property
    def tools(self) -> list[Any]:
        """One that reads, one that is allowed to send, one that needs a person."""

        @tool(effects="read_only")
        async def price(item: int) -> int:
            """What an item costs."""
            self.read.append(item)
            return item * 10

        @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
        async def send(to: str) -> dict[str, Any]:
            """Send a note."""
            self.sent.append(to)
            return {"sent": to}

        @tool(effects="network_access", risk="high", allowed_callers=CHAINED)
        async def pay(amount: int) -> str:
            """Pay an amount."""
            self.paid.append(amount)
            return f"paid {amount}"

        @tool(effects="system_state", risk="low")
        async def direct_only(word: str) -> str:
            """Not for flows."""
            self.sent.append(word)
            return word

        return [price, send, pay, direct_only]
