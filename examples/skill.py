"""A skill: a function that puts tools together, reaches no others, waits for a person inside, and goes on.

Run it: python examples/skill.py
"""

from __future__ import annotations

import asyncio

from callgate import Callgate, Context, Pending, SkillContext, skill, tool

BOTH = ("direct", "chain")  # a skill's calls are `chain` calls
orders: list[str] = []


@tool(effects="read_only")
async def low_stock() -> list[str]:
    """What is running out."""
    return ["tea", "paper"]


@tool(effects="network_access", risk="medium", allowed_callers=BOTH)
async def order(item: str) -> str:
    """Order something."""
    orders.append(item)
    return f"ordered {item}"


@tool(effects="system_state", risk="high", allowed_callers=BOTH)
async def close_account() -> None:
    """Nothing that a skill for shopping should reach."""
    orders.clear()


@skill(tools=["low_stock", "order"], risk="medium")
async def restock(steps: SkillContext) -> list[str]:
    """Order what is running out."""
    out = (await steps.call("low_stock")).unwrap()
    done = [(await steps.call("order", {"item": item})).unwrap() for item in out]
    refused = await steps.call("close_account")  # not declared: refused, whoever asked
    return [*done, f"close_account: {refused.status}"]


async def main() -> None:
    """Tell the story."""
    async with Callgate.open("memory://") as gate:
        gate.add(low_stock, order, close_account, restock)
        print("restock does:", ", ".join(gate.tool("restock").side_effects))

        mine = Context(session="shop", idempotency_key="monday")
        outcome = await gate.call("restock", {}, mine)
        while isinstance(outcome, Pending):
            question = await gate.approval(outcome.approval_id)
            print("somebody is asked about:", question.tool, "- done so far:", orders)
            await gate.approve(question.id, by="ann")
            outcome = await gate.call("restock", {}, mine)  # the same key: it goes on, and nothing happens twice
        print(outcome.unwrap())


if __name__ == "__main__":
    asyncio.run(main())
