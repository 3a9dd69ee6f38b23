"""A tool that pays, and what it paid: written to a file, where no gate and no framework has a hand in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from callgate import tool
from callgate.model.layer import Layer, LayerKind, Rule
from callgate.model.levels import Verdict
from callgate.settings.values import Role, Settings


class Till:
    """Somebody's money. `pay` is the tool, `paid` reads the file."""

    def __init__(self, folder: Path, risk: str = "high") -> None:
        self._book = folder / "paid.txt"

        @tool(name="bank.pay", effects="system_state", risk=risk)
        async def pay(amount: int, to: str = "bob") -> str:
            """Pay somebody."""
            self.note(f"{amount} to {to}")
            return f"paid {amount} to {to}"

        self.pay: Any = pay

    def note(self, line: str) -> None:
        """Write down what was paid."""
        with self._book.open("a", encoding="utf-8") as book:
            book.write(f"{line}\n")

    @property
    def paid(self) -> list[str]:
        """Every payment there ever was."""
        return self._book.read_text(encoding="utf-8").splitlines() if self._book.exists() else []


@tool(effects="read_only")
async def balance(account: str) -> dict[str, Any]:
    """Tell the balance of an account."""
    return {"account": account, "balance": 700}


def roles(**allowed: tuple[str, ...]) -> Settings:
    """Settings in which each role may use these tools and no others."""
    made = {
        name: Role(name=name, layer=Layer(name=name, kind=LayerKind.ROLE, allow=allow))
        for name, allow in allowed.items()
    }
    return Settings(roles=made)


def ruled(match: str, verdict: Verdict, **more: Any) -> Settings:
    """Settings with one rule for everybody."""
    rule = Rule(match=match, verdict=verdict, why="the house says so", **more)
    return Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, rules=(rule,)))
