"""A permit is proof for one run: whoever has it twice in hand enters the handler once."""

from __future__ import annotations

from callgate import Call, Context, tool
from callgate.model.ids import uuid7
from callgate.model.levels import Autonomy
from callgate.pipeline.execute import execute
from callgate.pipeline.parts import Asked
from callgate.pipeline.pipeline import permit_or_stop
from callgate.pipeline.settle import settle
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.journeys.gates import parts_of


async def test_a_permit_enters_its_handler_once() -> None:
    paid: list[int] = []

    @tool(effects="network_access", risk="medium")
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    async with memory_gate(pay, config=Settings(autonomy=Autonomy.A4)) as gate:
        parts = parts_of(gate)
        call = Call("pay", {"amount": 5})
        permit = await permit_or_stop(parts, Asked(call, Context(), uuid7(), None, None))
        first, second = await execute(parts, permit), await execute(parts, permit)
        assert (first.entered, second.entered) == (True, False)
        assert "was used already" in str(second.error)
        assert (await settle(parts, first)).output == "paid"
    assert paid == [5]
