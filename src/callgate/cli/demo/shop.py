"""The small world of the demo: a price list, a bank that keeps its books in a file, and the tools that reach them."""

from __future__ import annotations

import difflib
import json
import time
from pathlib import Path
from typing import Any

from callgate import ToolContext, tool
from callgate.model.context import Context
from callgate.model.levels import Autonomy

_BALANCE = 2000

RENT = "rent-december"
"""The key of the payment that is cut off."""
PAYMENT: dict[str, Any] = {"to": "the landlord", "amount": 700.0}
PROGRAM_ID = "suppliers"
PROGRAM = """\
left = balance()
for name, share in [("the dairy", 0.1), ("the bakery", 0.2)]:
    pay(to=name, amount=round(left * share, 2))
[left, balance()]
"""
"""What a model could write to pay by what is left."""


class Shop:
    """A shop's files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.prices = folder / "prices.txt"
        self.books = folder / "bank.jsonl"
        self.line_down = folder / "line-down"
        """While this is there, the bank books and its answer does not arrive."""

    def open(self) -> None:
        """Put the first goods on the shelf."""
        self.prices.write_text("tea 3.00\ncoffee 4.00\n", encoding="utf-8")
        self.books.touch()

    def bookings(self) -> list[dict[str, Any]]:
        """What the bank has booked, asked of the bank and not of Callgate."""
        return [json.loads(line) for line in self.books.read_text(encoding="utf-8").splitlines()]

    def price_list(self, item: str, price: float) -> str:
        """The list as it would read with another price."""
        lines = self.prices.read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join(f"{item} {price:.2f}\n" if line.split()[0] == item else line for line in lines)


def free_agent() -> Context:
    """An agent with full autonomy, about to pay: nobody is asked."""
    return Context(autonomy=Autonomy.A4, idempotency_key=RENT)


def make_tools(shop: Shop) -> list[Any]:
    """The tools an agent gets: one that reads, one that writes a file, one that pays."""

    @tool(effects="read_only")
    def balance() -> float:
        """How much money the shop has."""
        return _BALANCE - sum(booking["amount"] for booking in shop.bookings())

    def price_change(arguments: dict[str, Any], _context: ToolContext) -> str:
        old = shop.prices.read_text(encoding="utf-8").splitlines()
        new = shop.price_list(**arguments).splitlines()
        return "\n".join(difflib.unified_diff(old, new, "prices.txt", "prices.txt", lineterm="", n=0))

    @tool(effects="modifies_files", risk="medium", preview=price_change)
    def set_price(item: str, price: float) -> str:
        """Change a price in the shop's list."""
        shop.prices.write_text(shop.price_list(item, price), encoding="utf-8")
        return f"{item} costs {price:.2f} now"

    def was_booked(_arguments: dict[str, Any], key: str) -> str:
        return "happened" if any(booking["key"] == key for booking in shop.bookings()) else "absent"

    @tool(effects="network_access", risk="high", verify=was_booked, allowed_callers={"direct", "chain"})
    def pay(to: str, *, amount: float, context: ToolContext) -> str:
        """Pay somebody from the shop's account."""
        with shop.books.open("a", encoding="utf-8") as books:
            books.write(json.dumps({"key": context.key, "to": to, "amount": amount}) + "\n")
        while shop.line_down.exists():
            time.sleep(0.02)
        return f"paid {amount:.2f} to {to}"

    return [balance, set_price, pay]
