"""What journeys with plans share: an office whose tools leave a trace, and asking about a list of calls there."""

from __future__ import annotations

from typing import Any

from callgate import Call, Callgate, Context, tool
from callgate.flows.plan import Plan


def office() -> tuple[list[str], list[Any]]:
    """Tools of an office, and what was really done there, in order."""
    done: list[str] = []

    @tool(effects="read_only")
    async def look(at: str) -> str:
        """Look at something."""
        done.append(f"look {at}")
        return at

    @tool(effects="system_state", risk="low")
    async def note(text: str) -> str:
        """Write something down."""
        done.append(f"note {text}")
        return text

    @tool(effects="network_access", risk="high")
    async def pay(amount: int, to: str = "ann") -> int:
        """Pay somebody."""
        if amount < 0:
            raise ValueError("no negative payments")
        done.append(f"pay {amount}")
        return amount

    return done, [look, note, pay]


CALLS = [
    Call("look", {"at": "prices"}),
    Call("pay", {"amount": 5, "to": "bob\u202e"}),
    Call("note", {"text": "paid"}),
    Call("pay", {"amount": 7}),
]


async def asked(gate: Callgate, calls: list[Any] | None = None, context: Context | None = None) -> tuple[Plan, str]:
    plan = await gate.plan(CALLS if calls is None else calls, context, ask=True)
    assert plan.approval_id is not None
    return plan, plan.approval_id


async def types_of(gate: Callgate, *types: str) -> list[str]:
    return [event.type async for event in gate.events(types=types)]


def codes(outcomes: list[Any]) -> list[str]:
    return [outcome.error.code if outcome.error else outcome.status for outcome in outcomes]
