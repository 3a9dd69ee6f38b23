"""A program that makes a chain, or runs and decides a plan, and is killed where the test says, at `before:2`, say."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from callgate import Call, Callgate, Context, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.stores.sqlite import transaction

CHAIN = "a = mark(0); b = look(a); mark(b); mark(2); c = look(b); mark(3)"
KEY = Context(idempotency_key="order", session="flows")


def die() -> None:
    """As a process dies: at once, and without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


class Work:
    """The tools and the middleware of one run."""

    def __init__(self, folder: Path, stop: str) -> None:
        self._effects = folder / "effects"
        self._where, _, place = stop.partition(":")
        self._place = int(place or -1)
        self._seen = -1

    def gate(self, url: str, settings: Settings) -> Callgate:
        effects = self._effects

        @tool(effects="system_state", risk="medium", allowed_callers={"chain", "direct"})
        async def mark(n: int) -> int:
            """Leave a mark in the file of effects."""
            with effects.open("a") as file:
                file.write(f"{n}\n")
                file.flush()
                os.fsync(file.fileno())
            if self._where == "inside" and self._place == n:
                die()
            return n + 1

        @tool(effects="read_only")
        async def look(n: int) -> int:
            """Give back what it is given."""
            return n

        gate = Callgate.open(url, settings, around=[self._around])
        gate.add(mark, look)
        return gate

    async def _around(self, call: Call, context: Context, proceed: Any) -> Any:
        self._seen += 1
        place = self._seen
        if self._where == "before" and self._place == place:
            die()
        outcome = await proceed(call, context)
        if self._where == "after" and self._place == place:
            die()
        return outcome


def die_in_the_middle_of_deciding() -> None:
    """Let the second approval that is written be the last thing this process does."""
    real, written = transaction.put_approval, list[str]()

    def put(db: Any, approval: Any) -> None:
        written.append(approval.id)
        real(db, approval)
        if len(written) > 1:
            die()

    transaction.put_approval = put


async def make_chain(work: Work, url: str) -> dict[str, Any]:
    async with work.gate(url, Settings(autonomy=Autonomy.A4)) as gate:
        chain = await gate.chain(CHAIN, KEY)
        return {"status": chain.status, "steps": [step.status for step in chain.steps], "values": chain.values}


async def run_plan(work: Work, url: str, *, decide: str) -> dict[str, Any]:
    async with work.gate(url, Settings()) as gate:
        plan = await gate.plan([Call("mark", {"n": n}) for n in range(4)], KEY, ask=True)
        if plan.approval_id is not None and decide:
            if decide == "half":
                die_in_the_middle_of_deciding()
            await gate.approve(plan.approval_id, by="ann")
        outcomes = await gate.batch(plan)
        return {"approval": plan.approval_id, "steps": [outcome.status for outcome in outcomes]}


async def main() -> None:
    """What is asked for, with what came of it on stdout."""
    order = json.loads(sys.argv[1])
    work = Work(Path(order["folder"]), order.get("stop", ""))
    if order["what"] == "chain":
        told = await make_chain(work, order["url"])
    else:
        told = await run_plan(work, order["url"], decide=order.get("decide", ""))
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
