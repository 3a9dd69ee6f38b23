"""What journeys with chains share: tools that leave a trace, and what was recorded of them."""

from __future__ import annotations

from typing import Any

from callgate import Callgate, tool
from callgate.flows.chain.chain import Chain


def shelf() -> tuple[list[str], list[Any]]:
    """Tools that leave a trace of what was really done, in order."""
    done: list[str] = []

    @tool(effects="read_only")
    async def f(x: int = 0) -> dict[str, Any]:
        """Look something up."""
        done.append(f"f {x}")
        return {"x": x, "items": ["a", "b"], "none": None}

    @tool(effects="read_only")
    async def g(a: Any, b: Any = None) -> Any:
        """Look at something that was found."""
        done.append(f"g {a}")
        return a

    @tool(effects="system_state", risk="low", allowed_callers={"chain", "direct"})
    async def put(text: str) -> str:
        """Change something."""
        done.append(f"put {text}")
        return f"[ERROR: not really] {text}"

    @tool(effects="system_state", risk="high", allowed_callers={"chain"})
    async def pay(amount: int) -> int:
        """Pay."""
        done.append(f"pay {amount}")
        return amount

    @tool(effects="system_state", risk="low", allowed_callers={"chain"})
    async def breaks() -> str:
        """Fail."""
        done.append("breaks")
        raise ValueError("broken")

    @tool(effects="system_state", risk="low")
    async def only_direct() -> str:
        """Change something, for the model itself alone."""
        done.append("only_direct")
        return ""

    return done, [f, g, put, pay, breaks, only_direct]


def statuses(chain: Chain) -> list[str]:
    return [step.status for step in chain.steps]


async def recorded(gate: Callgate, *types: str) -> list[dict[str, Any]]:
    return [event.payload or {} async for event in gate.events(types=types)]
