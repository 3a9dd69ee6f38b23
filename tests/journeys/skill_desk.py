"""A desk of tools that write down what they did, and a skill over them that waits for a person in its middle."""

from __future__ import annotations

import asyncio

from callgate import Callgate, Context, Pending, SkillContext, skill, tool

BOTH = ("direct", "chain")


class Desk:
    """Tools that write down what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.entered, self.go_on = asyncio.Event(), asyncio.Event()
        self.hangs = False

        @tool(effects="modifies_files", risk="low", allowed_callers=BOTH)
        async def write(text: str) -> str:
            """Write without being asked about it."""
            self.done.append(text)
            return text

        @tool(effects="network_access", risk="medium", allowed_callers=BOTH)
        async def send(text: str) -> str:
            """Send, which somebody has to allow."""
            self.entered.set()
            if self.hangs:
                await self.go_on.wait()
            self.done.append(f"sent {text}")
            return f"sent {text}"

        self.tools = [write, send]


@skill(tools=["write", "send"])
async def report(text: str, steps: SkillContext) -> str:
    """Write, send, write."""
    (await steps.call("write", {"text": f"before {text}"})).unwrap()
    sent = (await steps.call("send", {"text": text})).unwrap()
    (await steps.call("write", {"text": f"after {text}"})).unwrap()
    return sent


ALL = ["before x", "sent x", "after x"]
ASKED_ONCE = Context(principal="bot", session="s", idempotency_key="k1")


async def approved_skill(gate: Callgate, name: str = "report") -> Pending:
    """The skill itself has the risk of its tools, so that it is asked about first."""
    first = await gate.call(name, {"text": "x"}, ASKED_ONCE)
    assert isinstance(first, Pending)
    await gate.approve(first.approval_id, by="ada")
    inside = await gate.call(name, {"text": "x"}, ASKED_ONCE)
    assert isinstance(inside, Pending)
    assert inside.approval_id != first.approval_id
    return inside
