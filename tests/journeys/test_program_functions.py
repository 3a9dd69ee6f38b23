"""The functions of a program: what they are called, how many of them run at once, and what a call that fails raises."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callgate import tool
from callgate.model.program import ProgramLimits
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import Town


async def test_a_dot_is_two_underscores_and_a_name_that_python_has_gets_one_at_its_end() -> None:
    @tool(effects="read_only", name="town.visit")
    async def visit() -> str:
        """Visit it."""
        return "seen"

    @tool(effects="read_only", name="print")
    async def on_paper(text: str) -> str:
        """Print on paper."""
        return f"on paper: {text}"

    async with gate_of(visit, on_paper) as gate:
        stubs = gate.program_stubs()
        run = await gate.run_program("print('on screen')\n[await town__visit(), await print_('a')]")
    assert "async def town__visit()" in stubs
    assert "async def print_(text: str" in stubs
    assert (run.unwrap(), run.printed) == (["seen", "on paper: a"], "on screen\n")


async def test_no_more_calls_of_a_program_run_at_once_than_its_limit_says() -> None:
    running = most = 0
    three = asyncio.Barrier(3)

    @tool(effects="read_only")
    async def meet(who: int) -> int:
        """Wait for two others."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await three.wait()
        running -= 1
        return who

    async with gate_of(meet) as gate:
        run = await gate.run_program(
            "import asyncio\nawait asyncio.gather(*[meet(who) for who in range(9)])", limits=ProgramLimits(at_once=3)
        )
    assert run.unwrap() == list(range(9))
    assert most == 3


async def test_a_failed_call_is_a_runtime_error_and_one_that_took_too_long_a_timeout_error() -> None:
    @tool(effects="read_only")
    async def broken() -> None:
        """Fail."""
        raise ValueError("the line is dead")

    @tool(effects="read_only", timeout=0.01)
    async def slow() -> None:
        """Never end."""
        await asyncio.Event().wait()

    source = """
said = []
for each in ("broken", "slow"):
    try:
        await (broken() if each == "broken" else slow())
    except TimeoutError as error:
        said.append(["TimeoutError", str(error)])
    except RuntimeError as error:
        said.append(["RuntimeError", str(error)])
said
"""
    async with gate_of(broken, slow) as gate:
        [failed, late] = (await gate.run_program(source)).unwrap()
    assert failed[0] == "RuntimeError"
    assert "the line is dead" in failed[1]
    assert late[0] == "TimeoutError"
    assert late[1].startswith("timed_out: ")


async def test_a_call_that_is_used_without_await_where_others_are_awaited_is_a_type_error_with_its_line() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("a = await price(1)\nb = price(2) + a\nb")
    assert run.error is not None
    assert (run.error.kind, town.read) == ("types", [])
    assert "the program, line 2" in run.error.message


@pytest.mark.parametrize("name", ["seconds", "memory_mb", "recursion", "calls", "at_once", "output_bytes"])
@pytest.mark.parametrize("value", [0, -1, True, "ten", float("inf")], ids=str)
def test_a_limit_that_limits_nothing_or_lets_nothing_run_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a number above 0"):
        ProgramLimits(**{name: value})
