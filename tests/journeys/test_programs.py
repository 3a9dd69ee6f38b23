"""A model's program: its calls are ordinary governed calls, it sleeps when a person is needed, and wakes anywhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Succeeded, tool
from callgate.errors import ProgramConflict, ProgramFailed, ProgramNotFound
from callgate.model.levels import Autonomy
from callgate.model.program import ProgramLimits, ProgramRun, ProgramState
from callgate.settings.load import parse_settings
from tests.journeys.gates import gate_of, parts_of
from tests.journeys.program_tools import CHAINED, Town

pytestmark = pytest.mark.usefixtures("on_each_store")


async def decide(gate: Callgate, run: ProgramRun) -> None:
    for question in run.waiting:
        await gate.approve(question.approval_id, by="ann")


async def test_a_program_passes_results_on_and_its_last_expression_is_its_value() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("a = await price(4)\nb = await price(item=a)\nprint('b is', b)\n{'total': a + b}")
    assert run.unwrap() == {"total": 440}
    assert (run.state, run.printed, run.calls) == (ProgramState.FINISHED, "b is 400\n", 2)
    assert town.read == [4, 40]


async def test_a_program_without_await_calls_plainly() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("sum(price(item) for item in items)", inputs={"items": [1, 2, 3]})
    assert run.unwrap() == 60


async def test_a_program_rounds_as_python_does() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("a = await price(2)\nround(a / 8 + 0.175, 2), round(a)")
    assert run.unwrap() == [round(20 / 8 + 0.175, 2), 20] == [2.67, 20]


async def test_calls_that_are_gathered_run_at_the_same_time() -> None:
    met = asyncio.Barrier(3)

    @tool(effects="read_only")
    async def meet(who: int) -> int:
        """Wait for the others."""
        await met.wait()
        return who

    async with gate_of(meet) as gate:
        run = await gate.run_program("import asyncio\nawait asyncio.gather(meet(1), meet(2), meet(3))")
    assert run.unwrap() == [1, 2, 3]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "x = 1\nawait prize(4)",
            (
                "the program, line 2, column 7: unresolved-reference: Name `prize` used when not defined\n"
                "Did you mean price?"
            ),
        ),
        (
            "await direct_only('a')",
            (
                "the program, line 1, column 7: unresolved-reference: Name `direct_only` used when not defined\n"
                "direct_only is a tool that programs may not call: declare it with "
                'allowed_callers={"direct", "chain"}, or call it outside of the program'
            ),
        ),
        (
            "await town.visit()",
            (
                "the program, line 1, column 7: unresolved-reference: Name `town` used when not defined\n"
                "Did you mean town__visit?"
            ),
        ),
        (
            "await secret_thing()",
            "the program, line 1, column 7: unresolved-reference: Name `secret_thing` used when not defined",
        ),
        (
            "def half():\n    return 1 / 0\nhalf()",
            (
                "Traceback (most recent call last):\n  The program, line 3, in <module>\n    half()\n    ~~~~~~\n"
                "  The program, line 2, in half\n    return 1 / 0\n           ~~~~~\n"
                "ZeroDivisionError: division by zero"
            ),
        ),
    ],
    ids=["near", "direct-only", "dotted", "not-for-this-asker", "raised"],
)
async def test_what_is_wrong_with_a_program_is_told_with_its_line_and_what_was_meant(source: str, told: str) -> None:
    @tool(effects="read_only", name="town.visit")
    async def visit() -> str:
        """Visit it."""
        return "seen"

    @tool(effects="system_state", risk="low")
    async def secret_thing() -> str:
        """Not for this asker."""
        return "seen"

    rules = parse_settings("global: {deny: [secret_thing]}", file="callgate.yaml")
    async with gate_of(*Town().tools, visit, secret_thing, config=rules) as gate:
        run = await gate.run_program(source)
    assert run.error is not None
    assert run.error.message == told


async def test_every_call_of_a_program_is_recorded_as_a_call_of_its_chain() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        context = Context(trace_id="t-1")
        run = await gate.run_program("await price(1)\nawait send('bob')", context)
        events = [event async for event in gate.events(types=["tool_call.attempted"], trace_id="t-1")]
        told = [event async for event in gate.events(types=["program.*"], trace_id="t-1")]
    found = [(event.payload or {}) for event in events]
    assert [(body["caller"], body["chain_id"], body["chain_index"]) for body in found] == [
        ("chain", run.id, 0),
        ("chain", run.id, 1),
    ]
    assert [event.type for event in told] == ["program.started", "program.finished"]
    assert "bob" not in str([event.payload for event in told])


async def test_a_refused_call_is_a_permission_error_that_the_program_can_handle() -> None:
    town = Town()
    rules = "global: {rules: [{match: send, when: 'args.to == \"eve\"', verdict: deny, why: not to eve}]}"
    source = "try:\n    x = send('eve')\nexcept PermissionError as error:\n    x = str(error)\n[x, send('bob')]"
    async with gate_of(*town.tools, config=parse_settings(rules, file="test")) as gate:
        [said, sent] = (await gate.run_program(source)).unwrap()
    assert "not to eve" in said
    assert (sent, town.sent) == ({"sent": "bob"}, ["bob"])


async def test_a_tool_that_its_asker_may_not_use_is_no_function() -> None:
    town = Town()
    settings = parse_settings("roles: {default: {allow: ['group:all'], deny: [send]}}", file="test")
    async with gate_of(*town.tools, config=settings) as gate:
        assert "send" not in gate.program_stubs()
        refused = await gate.run_program("send('bob')")
    assert refused.error is not None
    assert refused.error.kind == "types"
    assert "send" in refused.error.message
    assert town.sent == []


async def test_a_call_that_middleware_turns_into_another_is_judged_as_that() -> None:
    town = Town()

    async def turn(call: Any, context: Any, proceed: Any) -> Any:
        return await proceed(call._replace(tool="direct_only", arguments={"word": "x"}), context)

    async with gate_of(*town.tools, around=[turn]) as gate:
        run = await gate.run_program(
            "try:\n    x = send('bob')\nexcept PermissionError as error:\n    x = str(error)\nx"
        )
    assert "may be called by direct" in run.unwrap()
    assert town.sent == []


async def test_a_tool_that_is_not_for_flows_is_no_function() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        assert "direct_only" not in gate.program_stubs()
        run = await gate.run_program("direct_only('a')")
    assert run.state is ProgramState.FAILED
    assert town.sent == []


async def test_a_program_that_does_not_fit_its_functions_runs_nothing() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("await price(1)\nawait price('two')")
    assert run.error is not None
    assert run.error.kind == "types"
    assert "Expected `int`" in run.error.message
    assert town.read == []
    with pytest.raises(ProgramFailed, match="types"):
        run.unwrap()


async def test_a_text_that_fitted_the_functions_of_one_asker_is_checked_against_those_of_another() -> None:
    town = Town()
    settings = parse_settings("roles: {all: {allow: ['group:all']}, few: {allow: [price]}}", file="test")
    source = "if price(1) > 10:\n    send('bob')"
    async with gate_of(*town.tools, config=settings) as gate:
        for _ in range(2):
            (await gate.run_program(source, Context(role="all"))).unwrap()
        refused = await gate.run_program(source, Context(role="few"))
        again = await gate.run_program(source, Context(role="few"))
    assert refused.error is not None
    assert (refused.error.kind, refused.error) == ("types", again.error)
    assert town.read == [1, 1]


async def test_a_text_that_fitted_is_checked_again_when_its_functions_have_changed() -> None:
    town = Town()

    @tool(effects="read_only")
    async def look(item: int) -> int:
        """Look at an item."""
        return item

    @tool(effects="read_only", name="look")
    async def look_at_words(item: str) -> str:
        """Look at a word."""
        return item

    async with gate_of(*town.tools, look) as gate:
        (await gate.run_program("price(look(1))")).unwrap()
        gate.remove("look")
        gate.add(look_at_words)
        run = await gate.run_program("price(look(1))")
    assert run.error is not None
    assert run.error.kind == "types"
    assert town.read == [1]


async def test_a_program_sleeps_until_a_person_decides_and_then_goes_on() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("a = await price(3)\nprint('asking')\np = await pay(a)\nawait send(p)\np")
        assert (run.state, town.paid, town.sent) == (ProgramState.SLEEPING, [], [])
        [question] = run.waiting
        assert question.tool == "pay"
        assert (await gate.approval(question.approval_id)).what.endswith("amount: 30")
        still = await gate.resume_program(run.id)
        assert (still.state, still.waiting) == (ProgramState.SLEEPING, run.waiting)
        await decide(gate, run)
        done = await gate.resume_program(run.id)
    assert (done.unwrap(), done.printed) == ("paid 30", "asking\n")
    assert (town.read, town.paid, town.sent) == ([3], [30], ["paid 30"])


async def test_a_rejection_is_told_to_the_program() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("try:\n    x = pay(3)\nexcept PermissionError as error:\n    x = str(error)\nx")
        await gate.reject(run.waiting[0].approval_id, by="ann", why="too much")
        done = await gate.resume_program(run.id)
    assert "too much" in done.unwrap()
    assert town.paid == []


async def test_what_a_person_edited_is_what_runs() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("pay(300)")
        await gate.approve(run.waiting[0].approval_id, by="ann", arguments={"amount": 3})
        done = await gate.resume_program(run.id)
    assert (done.unwrap(), town.paid) == ("paid 3", [3])


async def test_of_gathered_calls_those_that_need_nobody_are_made_before_the_program_sleeps() -> None:
    town = Town()
    source = "import asyncio\nawait asyncio.gather(price(1), pay(5), send('a'), pay(6))"
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(source)
        assert (len(run.waiting), town.sent, town.paid) == (2, ["a"], [])
        await gate.approve(run.waiting[1].approval_id, by="ann")
        half = await gate.resume_program(run.id)
        assert (half.state, town.paid) == (ProgramState.SLEEPING, [6])
        await decide(gate, half)
        done = await gate.resume_program(run.id)
    assert done.unwrap() == [10, "paid 5", {"sent": "a"}, "paid 6"]
    assert (town.paid, town.sent, town.read) == ([6, 5], ["a"], [1])


async def test_the_caller_can_wait_for_the_person() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:

        async def approve(event: Any) -> None:
            await gate.approve(event.payload["approval_id"], by="ann")

        gate.on("gate.required", approve)
        run = await gate.run_program("pay(7)", wait=30)
    assert (run.unwrap(), town.paid) == ("paid 7", [7])


async def test_time_and_chance_are_the_same_when_a_program_is_run_again() -> None:
    town = Town()
    source = (
        "import random, time\nt, r = time.time(), random.random()\nsend(f'{t} {r}')\npay(1)\n[t, r, time.time() >= t]"
    )
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(source)
        await _forget_snapshot(gate, run.id)
        await decide(gate, run)
        [then, chance, later] = (await gate.resume_program(run.id)).unwrap()
    assert later is True
    assert town.sent == [f"{then} {chance}"]


async def test_every_clock_says_the_same_again_also_after_a_wait() -> None:
    town = Town()
    source = (
        "import asyncio, time\nfrom datetime import date, datetime, timezone\n"
        "seen = [str(datetime.now()), datetime.now(timezone.utc).isoformat(), date.today().isoformat()]\n"
        "await asyncio.sleep(0)\ntime.sleep(0)\nseen.append(time.time())\n"
        "await send(str(seen))\nawait pay(1)\nseen"
    )
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(source)
        await _forget_snapshot(gate, run.id)
        await decide(gate, run)
        seen = (await gate.resume_program(run.id)).unwrap()
    assert (town.sent, town.paid) == ([str(seen)], [1])
    [naive, aware, day, _] = seen
    assert aware.endswith("+00:00")
    assert "+" not in naive
    assert len(day) == len("2026-01-01")


async def test_an_effect_that_is_only_shown_is_a_permission_error() -> None:
    town = Town()
    source = "try:\n    x = send('bob')\nexcept PermissionError as error:\n    x = str(error)\nx"
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(source, Context(autonomy=Autonomy.A0))
    assert (run.unwrap(), town.sent) == ("send was only shown, not run", [])


async def test_a_call_that_the_program_does_not_await_is_made_all_the_same() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("left = [send('a'), pay(4)]\nawait price(1)\n'end'")
        assert (run.state, [each.tool for each in run.waiting]) == (ProgramState.SLEEPING, ["pay"])
        await decide(gate, run)
        done = await gate.resume_program(run.id)
    assert done.unwrap() == "end"
    assert (town.sent, town.paid) == (["a"], [4])


async def test_a_sleeping_program_is_only_its_asker_s() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("pay(1)", Context(principal="bot", session="s1"))
        other = Context(principal="bot", session="s2")
        with pytest.raises(ProgramNotFound):
            await gate.resume_program(run.id, other)
        with pytest.raises(ProgramNotFound):
            await gate.find_program(run.id, other)
        mine = await gate.find_program(run.id, Context(principal="bot", session="s1"))
    assert mine.state is ProgramState.SLEEPING


async def test_one_id_is_one_program() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        first = await gate.run_program("send('a')", program_id="p1")
        again = await gate.run_program("send('a')", program_id="p1")
        assert first == again
        with pytest.raises(ProgramConflict, match="another program"):
            await gate.run_program("send('b')", program_id="p1")
    assert town.sent == ["a"]


async def test_two_who_wake_it_at_once_have_its_effects_once() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("pay(1)\nsend('x')")
        await decide(gate, run)
        both = await asyncio.gather(gate.resume_program(run.id), gate.resume_program(run.id), return_exceptions=True)
    assert sorted(type(each).__name__ for each in both) == ["ProgramConflict", "ProgramRun"]
    assert (town.paid, town.sent) == ([1], ["x"])


async def test_a_cancelled_program_keeps_its_place_and_makes_no_call_twice() -> None:
    town = Town()
    entered, go = asyncio.Event(), asyncio.Event()

    @tool(effects="read_only")
    async def slow() -> int:
        """Wait to be let go."""
        entered.set()
        await go.wait()
        return 1

    async with gate_of(*town.tools, slow) as gate:
        task = asyncio.create_task(gate.run_program("send('a')\nslow()\nsend('b')", program_id="p1"))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await gate.find_program("p1")).state is ProgramState.INTERRUPTED
        go.set()
        done = await gate.resume_program("p1")
    assert done.ok
    assert town.sent == ["a", "b"]


async def test_a_program_that_raises_lets_its_other_calls_end() -> None:
    town = Town()
    entered, go = asyncio.Event(), asyncio.Event()

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def slow(word: str) -> str:
        """Wait to be let go."""
        entered.set()
        await go.wait()
        town.sent.append(word)
        return word

    @tool(effects="read_only")
    async def fail() -> int:
        """Fail once the other runs."""
        await entered.wait()
        go.set()
        message = "no"
        raise ValueError(message)

    async with gate_of(slow, fail) as gate:
        run = await gate.run_program("import asyncio\nawait asyncio.gather(slow('a'), fail())")
    assert run.error is not None
    assert run.error.kind == "raised"
    assert town.sent == ["a"]


async def test_a_call_whose_end_is_unknown_is_told_as_that() -> None:
    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def vanish() -> int:
        """Reach nobody."""
        raise ConnectionError

    async with gate_of(vanish) as gate:
        run = await gate.run_program("try:\n    x = vanish()\nexcept RuntimeError as error:\n    x = str(error)\nx")
    assert run.unwrap().startswith("unknown: whether vanish took effect cannot be known")


async def test_programs_are_listed_with_where_they_stand() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        await gate.run_program("1", program_id="one")
        await gate.run_program("1 / 0", program_id="two")
        await gate.run_program("pay(1)", program_id="three")
        listed = await gate.programs()
        assert await gate.program_source("three") == "pay(1)"
        with pytest.raises(ProgramNotFound, match="Unknown program: four"):
            await gate.find_program("four")
    assert [(entry.id, entry.state.value) for entry in listed] == [
        ("three", "sleeping"),
        ("two", "failed"),
        ("one", "finished"),
    ]
    assert listed[0].waiting[0].tool == "pay"


async def test_a_model_runs_programs_by_a_tool_and_goes_on_by_their_id() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        gate.add_programs()
        context = Context(session="s1", idempotency_key="k1")
        first = await gate.call("run_program", {"source": "p = await pay(2)\np"}, context)
        assert isinstance(first, Succeeded)
        body: dict[str, Any] = first.output
        assert body["state"] == "sleeping"
        again = await gate.call("run_program", {"source": "p = await pay(2)\np"}, context)
        assert again.output == body
        await gate.approve(body["waiting_for"][0]["approval_id"], by="ann")
        done = await gate.call("run_program", {"program_id": body["program_id"]}, Context(session="s1"))
        assert done.output["value"] == "paid 2"
        nothing = await gate.call("run_program", {}, Context(session="s1"))
    assert town.paid == [2]
    assert nothing.error is not None
    assert "either source" in nothing.error.message


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        ("while True:\n    pass", "limit", "time limit"),
        ("x = 'a' * 10**9", "limit", "memory limit"),
        ("def f():\n    return f()\nf()", "limit", "recursion"),
        ("while True:\n    price(1)", "limit", "20 calls"),
        ("try:\n    while True:\n        pass\nexcept BaseException:\n    pass", "limit", "time limit"),
        ("while True:\n    try:\n        price(1)\n    except BaseException:\n        pass", "limit", "20 calls"),
        ("'a' * 5000", "value", "more than 1000 bytes"),
        ("{1, 2}", "value", "no JSON"),
        ("price(", "types", "syntax"),
        ("1 / 0", "raised", "ZeroDivisionError"),
    ],
)
async def test_a_program_that_uses_more_than_it_may_is_stopped(source: str, kind: str, said: str) -> None:
    town = Town()
    limits = ProgramLimits(seconds=0.3, memory_mb=16, recursion=50, calls=20, output_bytes=1000)
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(source, limits=limits)
    assert run.error is not None
    assert (run.state, run.error.kind) == (ProgramState.FAILED, kind)
    assert said in run.error.message
    assert len(town.read) <= 20


async def test_what_is_printed_is_bounded_and_struck_of_secrets() -> None:
    @tool(effects="read_only")
    async def leak() -> str:
        """Give something away, in two parts."""
        return "-".join(["sk", "ant", "api03", "A" * 90 + "AA"])

    limits = ProgramLimits(output_bytes=500)
    async with gate_of(leak) as gate:
        told = await gate.run_program("k = leak()\nprint(k)\nk", limits=limits)
        much = await gate.run_program("for i in range(1000):\n    print('line', i)", limits=limits)
    assert "AAAAAAAAAA" not in f"{told.printed}{told.value}"
    assert len(much.printed) < 600
    assert "more was printed" in much.printed


@pytest.mark.parametrize(
    ("source", "inputs", "said"),
    [
        ("", {}, "not empty"),
        ("x" * 200_000, {}, "characters at most"),
        ("1", {"no name": 1}, "a name Python accepts"),
        ("1", {"a": {1, 2}}, "JSON values"),
        ("'\ud800'", {}, "text and JSON"),
    ],
)
async def test_what_is_no_program_is_refused_at_once(source: str, inputs: dict[str, Any], said: str) -> None:
    async with gate_of() as gate:
        with pytest.raises(ValueError, match=said):
            await gate.run_program(source, inputs=inputs)
        with pytest.raises(ValueError, match="id has letters"):
            await gate.run_program("1", program_id="../x")


async def test_a_gate_that_closes_lets_its_program_wake_in_the_next(tmp_path: Path) -> None:
    town = Town()
    store = f"sqlite:///{tmp_path / 'town.db'}"
    async with Callgate.open(store, working_directory=tmp_path) as gate:
        gate.add(town.tools)
        run = await gate.run_program("a = await price(2)\nawait pay(a)")
        await decide(gate, run)
    async with Callgate.open(store, working_directory=tmp_path) as gate:
        gate.add(town.tools)
        done = await gate.resume_program(run.id)
    assert (done.unwrap(), town.paid, town.read) == ("paid 20", [20], [2])


async def _forget_snapshot(gate: Callgate, program_id: str) -> None:
    """As if the interpreter's state had been of another version."""
    store = parts_of(gate).store
    await store.write(lambda tx: tx.put_sealed(f"program:{program_id}:snapshot", b"", keep_until=None))
