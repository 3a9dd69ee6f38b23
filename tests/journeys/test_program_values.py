"""What goes into a program and comes out of it: it can be written down, and is told for what it is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from callgate import ToolContext, tool
from callgate.flows.program.sandbox import Session
from callgate.flows.program.steps import Step
from callgate.model.program import ProgramLimits, ProgramState
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import CHAINED, Town

pytestmark = pytest.mark.usefixtures("on_each_store")


async def test_what_a_program_cannot_hand_over_is_told_to_it_and_again_when_it_is_run_again() -> None:
    town = Town()
    source = (
        "told = []\n"
        "for odd in [{1, 2}, b'x', {1: 2}, 10**5000, ...]:\n"
        "    try:\n"
        "        await look(odd)\n"
        "    except ValueError as error:\n"
        "        told.append(str(error))\n"
        "await pay(1)\n"
        "told"
    )
    looked: list[Any] = []

    @tool(effects="read_only")
    async def look(what: object) -> int:
        """Look at something."""
        looked.append(what)
        return 1

    async with gate_of(*town.tools, look) as gate:
        run = await gate.run_program(source)
        await gate.approve(run.waiting[0].approval_id, by="ann")
        told = (await gate.resume_program(run.id)).unwrap()
    assert [each.removeprefix("look cannot be called with this: ") for each in told] == [
        "set is not JSON",
        "bytes is not JSON",
        "a key is int, not text",
        "an integer has more digits than can be written",
        "ellipsis is not JSON",
    ]
    assert looked == []


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), "\ud800", [float("nan")], {"a": "\ud800"}],
    ids=["nan", "infinity", "lone surrogate", "nan in a list", "lone surrogate in an object"],
)
async def test_an_answer_that_is_no_json_is_told_and_the_program_goes_on(value: Any) -> None:
    town = Town()

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED, check_output=False)
    async def measure() -> Any:
        """Measure; the sensor may have no value."""
        town.read.append(1)
        return value

    source = "try:\n    x = await measure()\nexcept ValueError as error:\n    x = str(error)\nawait pay(1)\nx"
    async with gate_of(*town.tools, measure) as gate:
        run = await gate.run_program(source)
        await gate.approve(run.waiting[0].approval_id, by="ann")
        told = (await gate.resume_program(run.id)).unwrap()
    assert told.startswith("the call succeeded, and what it returned cannot be handed to a program: ")
    assert (town.read, town.paid) == ([1], [1])


async def test_an_error_of_a_tool_can_be_kept_whatever_its_words_are() -> None:
    @tool(effects="read_only")
    async def fail() -> int:
        """Fail."""
        message = "no \ud800"
        raise ValueError(message)

    town = Town()
    source = "try:\n    x = await fail()\nexcept RuntimeError as error:\n    x = str(error)\nawait send('ann')\nx"
    async with gate_of(*town.tools, fail) as gate:
        assert "\\ud800" in (await gate.run_program(source)).unwrap()
    assert town.sent == ["ann"]


async def test_an_effect_that_was_interrupted_is_unknown_to_its_program_and_not_forbidden() -> None:
    done: list[str] = []
    inside = asyncio.Event()

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def pay() -> str:
        """Pay; the answer takes long."""
        done.append("paid")
        inside.set()
        await asyncio.Event().wait()
        return "paid"

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def pay_by_card() -> str:
        """Pay in another way."""
        done.append("paid by card")
        return "paid"

    source = (
        "try:\n    how = await pay()\n"
        "except PermissionError:\n    how = await pay_by_card()\n"
        "except RuntimeError as error:\n    how = str(error)\n"
        "how"
    )
    async with gate_of(pay, pay_by_card) as gate:
        running = asyncio.ensure_future(gate.run_program(source, program_id="p"))
        await asyncio.wait_for(inside.wait(), 30)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        run = await gate.resume_program("p")
    assert done == ["paid"]
    assert run.unwrap().startswith("unknown: ")


async def test_no_part_of_a_secret_is_printed_where_much_is(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "".join(chr(97 + (i * 7 + i // 26) % 26) for i in range(1000))
    monkeypatch.setenv("CALLGATE_SECRET_VAULT_TOKEN", secret)

    @tool(effects="read_only", connector="vault")
    async def use(ctx: ToolContext) -> int:
        """Use the secret."""
        return len(ctx.get_secret("vault", "token"))

    told = "await use()\nfor i in range(1000):\n    print(s)\n"
    limits = ProgramLimits(output_bytes=10_250)
    async with gate_of(use) as gate:
        printed = await gate.run_program(told + "1", inputs={"s": secret}, limits=limits)
        raised = await gate.run_program(told + "raise ValueError(s * 1000)", inputs={"s": secret}, limits=limits)
    assert raised.error is not None
    shown = f"{printed.printed}{raised.printed}{raised.error.message}"
    assert "vault" in shown
    assert not [at for at in range(0, 990, 10) if secret[at : at + 10] in shown]


async def test_a_program_whose_interpreter_is_killed_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    entered, go = asyncio.Event(), asyncio.Event()
    interpreters: list[int] = []
    begin = Session.begin

    async def seen(session: Session, *, check: bool) -> Step:
        interpreters.append(session._worker or 0)  # pyright: ignore[reportPrivateUsage]
        return await begin(session, check=check)

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def slow() -> int:
        """Take long."""
        entered.set()
        await go.wait()
        town.paid.append(1)
        return 1

    monkeypatch.setattr(Session, "begin", seen)
    async with gate_of(*town.tools, slow, store=f"sqlite:///{tmp_path / 'a.db'}") as gate:
        running = asyncio.ensure_future(
            gate.run_program('await send("one")\nawait slow()\nawait send("two")\n3', program_id="p")
        )
        await asyncio.wait_for(entered.wait(), 30)
        os.kill(interpreters[-1], signal.SIGKILL)  # as the system does when memory runs out
        go.set()
        run = await running
        assert run.error is not None
        assert (run.state, run.error.kind) == (ProgramState.INTERRUPTED, "interrupted")
        assert (await gate.resume_program("p")).unwrap() == 3
    assert (town.sent, town.paid) == (["one", "two"], [1])


async def test_a_program_whose_interpreter_is_killed_while_it_is_asked_about_sleeps_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town = Town()
    dump = Session.dump

    async def gone(session: Session) -> bytes:
        os.kill(session._worker or 0, signal.SIGKILL)  # pyright: ignore[reportPrivateUsage]
        return await dump(session)

    monkeypatch.setattr(Session, "dump", gone)
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("await send('ann')\nawait pay(1)")
        assert run.state is ProgramState.SLEEPING
        await gate.approve(run.waiting[0].approval_id, by="ann")
        assert (await gate.resume_program(run.id)).unwrap() == "paid 1"
    assert (town.sent, town.paid) == (["ann"], [1])
