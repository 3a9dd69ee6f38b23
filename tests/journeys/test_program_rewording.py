"""A program that is known to fit makes its awaited calls plainly where it can: nobody sees a difference.

The first run of a short program is in its own words, the second is not; where it fails, it is told in its own again.
"""

from __future__ import annotations

import pytest

from callgate.flows.program import sandbox
from callgate.flows.program.unawaited import unawaited
from callgate.model.program import ProgramState
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import Town

pytestmark = pytest.mark.usefixtures("on_each_store")
MANY = "for item in range(60):\n    await price(item)\n"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each sandbox of a program was given other words than the program's own."""
    seen: list[bool] = []
    begin = sandbox.Session.begin

    async def noted(session: sandbox.Session, *, check: bool) -> object:
        try:
            return await begin(session, check=check)
        finally:
            seen.append(session._reworded)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(sandbox.Session, "begin", noted)
    # However busy the machine is, a step of these tests is a short one, and none is ended for having had to wait.
    for name in ("_SHORT", "_GRACE", "_LONGEST_STEP"):
        monkeypatch.setattr(sandbox, name, 60.0)
    return seen


@pytest.mark.parametrize(
    "source",
    [
        "total = 0\nfor item in range(5):\n    total += await price(item)\ntotal",
        "await price(7)",
        "await price(7) if await price(0) else [await price(1), await price(2)]",
        "x = await price(2) ** 2\nx, -await price(1), not await price(0)",
        "print(await price(1))\n[await price(item) for item in range(3)]",
        "async def twice(item):\n    return 2 * await price(item)\nawait twice(4)",
        "try:\n    await send(5)\nexcept Exception as error:\n    print(error)\nawait price(1)",
    ],
)
async def test_both_texts_come_to_the_same(source: str, begun: list[bool]) -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        first, second = [await gate.run_program(source) for _ in range(2)]
    assert (first.state, first.value, first.printed, first.calls, first.error) == (
        second.state,
        second.value,
        second.printed,
        second.calls,
        second.error,
    )
    assert first.state is ProgramState.FINISHED or first.error is not None
    assert begun[-1] or first.error is not None
    assert town.read[: len(town.read) // 2] == town.read[len(town.read) // 2 :]


async def test_what_it_raises_is_told_in_its_own_words(begun: list[bool]) -> None:
    town = Town()
    source = f"{MANY}print('here')\nawait send('a')\nx = 1 / (await price(0))\nx"
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(source)
    assert run.error is not None
    assert "x = 1 / (await price(0))" in run.error.message
    assert "line 5" in run.error.message
    assert (run.printed, town.sent, len(town.read)) == ("here\n", ["a"], 61)
    assert begun == [False, True, False]


async def test_it_sleeps_and_wakes_in_the_words_it_was_run_in(begun: list[bool]) -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        ends = ("paid = await pay(5)\npaid", "paid = await pay(6)\n[paid][await price(7)]")
        runs = [await gate.run_program(MANY + end) for end in ends]
        for run in runs:
            assert run.state is ProgramState.SLEEPING
            await gate.approve(run.waiting[0].approval_id, by="ann")
        good, bad = [await gate.resume_program(run.id) for run in runs]
    assert good.unwrap() == "paid 5"
    assert bad.error is not None
    assert "[paid][await price(7)]" in bad.error.message
    assert (town.paid, begun) == ([5, 6], [False, True, False, True, False])


OWN = "async def own(x):\n    return x\n"
WIDE = {
    "parameter": OWN + "async def f(\uff50rice):\n    return await price(5)\nawait f(own)",
    "definition": (
        "async def f():\n    async def \uff50rice(x):\n        return x\n    return await price(5)\nawait f()"
    ),
    "variable": OWN + "async def f():\n    \uff50rice = own\n    return await price(5)\nawait f()",
    "order": (
        "import \uff41syncio\nlog = []\nasync def f(x):\n    log.append(x)\n    await price(x)\n    log.append(-x)\n"
        "await \uff41syncio.gather(f(1), f(2), f(3))\nlog"
    ),
}


@pytest.mark.parametrize("what", sorted(WIDE))
async def test_wide_letters_mean_in_a_long_program_what_they_mean_in_a_short_one(what: str, begun: list[bool]) -> None:
    """The interpreter reads names as Python does, by which these are the names in plain letters."""
    town = Town()
    async with gate_of(*town.tools) as gate:
        short, long = [(await gate.run_program(begin + WIDE[what])).unwrap() for begin in ("", MANY)]
    assert short == long == (5 if what != "order" else [1, 2, 3, -1, -2, -3])
    assert not any(begun)


def test_the_programs_of_these_tests_can_be_reworded() -> None:
    assert unawaited(MANY, frozenset({"price"})) is not None
