"""Chains: calls written as a short text, refused whole or made in waves, with a record of the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from callgate import Context, Refused, ToolContext, tool
from callgate.compat import ToolRegistry
from callgate.errors import ConfigurationError
from callgate.flows.chain.chain import Chain
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from tests.journeys.chained import recorded, shelf
from tests.journeys.gates import gate_of, parts_of

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)


@pytest.mark.requirement("CHN-05", "CHN-06", "CHN-07")
async def test_a_chain_runs_in_waves_and_its_record_tells_the_whole():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain("a = f(x=1); b = g(a); c = f(x=2)", Context(trace_id="t"))
        assert (chain.ok, chain.status, chain.waves) == (True, "succeeded", ((0, 2), (1,)))
        assert chain.values == {
            "a": chain.values["b"],
            "b": chain.values["b"],
            "c": {"x": 2, "items": ["a", "b"], "none": None},
        }
        assert chain.value == chain.values["c"]
        attempts = await recorded(gate, "tool_call.attempted")
        assert {(each["chain_id"], each["caller"]) for each in attempts} == {(chain.chain_id, "chain")}
        assert sorted(each["chain_index"] for each in attempts) == [0, 1, 2]
        (started,) = await recorded(gate, "chain.started")
        (ended,) = await recorded(gate, "chain.ended")
        assert (started["chain_id"], started["status"]) == (chain.chain_id, "started")
        for record in (started, ended, chain.record):
            assert record["chain_id"] == chain.chain_id
            assert (record["mode_requested"], record["mode_used"], record["fallback_to_seq"]) == ("dep", "dep", False)
            assert (record["parallel_mutations_enabled"], record["waves"], record["steps"]) == (False, 2, 3)
            assert record["tools"] == ["f", "g", "f"]
        assert {event.trace async for event in gate.events(types=["chain.*", "tool_call.*"])} == {"t"}
        assert chain.to_human().startswith("chain succeeded: 3 calls in 2 waves\n1. f (line 1) succeeded: ")
        assert (await gate.verify_audit()).ok
    assert done[2].startswith("g ")


@pytest.mark.requirement("CHN-01", "CHN-02", "CHN-04")
async def test_a_chain_with_a_tool_that_may_not_be_in_it_is_refused_whole():
    done, tools = shelf()

    @tool(effects="system_state", risk="low")
    async def also_direct() -> str:
        """Change something, for the model itself alone."""
        return ""

    async with gate_of(*tools, also_direct) as gate:
        chain = await gate.chain("f(); put('x')\nonly_direct(); also_direct(); only_direct()")
        assert (chain.ok, chain.status, chain.steps) == (False, "refused", [])
        assert chain.error == "Blocked tools: also_direct, only_direct"
        assert [(fault.line, fault.column) for fault in chain.diagnostics] == [(2, 1), (2, 16), (2, 31)]
        assert "allowed_callers" in chain.diagnostics[0].message
        assert "Blocked tools: also_direct, only_direct\nline 2, column 1: only_direct may be" in chain.to_human()
        (event,) = await recorded(gate, "chain.*", "tool_call.*")
        assert (event["chain_id"], event["code"]) == (chain.chain_id, "policy_denied")
        assert (await gate.chain("f(); g(1)")).ok
        registry = ToolRegistry(gate)
        assert registry.get_chainable_tools() == ["f", "g", "put", "pay", "breaks"]
    assert done == ["f 0", "g 1"]


@pytest.mark.requirement("CHN-03")
@pytest.mark.parametrize("name", ["delegate", "escalate", "team.delegate"])
async def test_what_hands_work_on_is_never_called_from_a_chain(name: str):
    done, tools = shelf()

    @tool(effects="read_only", name=name, allowed_callers={"chain", "direct"})
    async def hand_on() -> str:
        """Hand the work on."""
        done.append("handed on")
        return ""

    async with gate_of(*tools, hand_on) as gate:
        chain = await gate.chain(f"f(); {name}()")
        assert chain.error == f"Blocked tools: {name}"
        single = await gate.call(name, {}, Context(caller="chain"))  # pyright: ignore[reportArgumentType]
        assert isinstance(single, Refused)
        assert done == []
        assert (await gate.call(name)).ok
    assert done == ["handed on"]


@pytest.mark.requirement("CHN-14")
async def test_the_pipeline_itself_refuses_a_chain_what_is_for_direct_callers():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        refused = await gate.call("only_direct", {}, Context(caller="chain"))  # pyright: ignore[reportArgumentType]
        assert isinstance(refused, Refused)
        assert refused.error is not None
        assert refused.error.code == "policy_denied"
        assert (await gate.call("only_direct")).ok
        assert not (await gate.call("pay", {"amount": 1})).ok
    assert done == ["only_direct"]


async def test_policy_that_refuses_a_tool_refuses_the_chain_before_anything_runs():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain("f(); put('x')", Context(read_only=True))
        assert chain.error == "Blocked tools: put"
        chain = await gate.chain("f()", Context(role="nobody"))
        assert chain.error == "Blocked tools: f"
    assert done == []


@pytest.mark.requirement("CHN-08")
@pytest.mark.parametrize("parallel", [True, False])
async def test_mutations_overlap_only_where_caller_and_tools_say_so(parallel: bool):
    together = asyncio.Barrier(2)
    inside: list[str] = []
    most: list[int] = []

    def mutation(name: str) -> Any:
        @tool(effects="system_state", risk="low", name=name, allowed_callers={"chain"}, concurrency_safe=True)
        async def mutate() -> str:
            """Change something."""
            inside.append(name)
            most.append(len(inside))
            if parallel:
                await together.wait()
            else:
                for _ in range(10):
                    await asyncio.sleep(0)
            inside.remove(name)
            return name

        return mutate

    async with asyncio.timeout(30), gate_of(mutation("one"), mutation("two"), config=FREE) as gate:
        chain = await gate.chain("a = one(); b = two()", parallel_mutations=parallel)
        assert chain.ok
        assert chain.waves == (((0, 1),) if parallel else ((0,), (1,)))
        assert chain.record["parallel_mutations_enabled"] is parallel
    assert max(most) == (2 if parallel else 1)


async def test_mutations_that_are_not_declared_safe_never_overlap():
    _, tools = shelf()
    async with gate_of(*tools, config=FREE) as gate:
        chain = await gate.chain("put('a'); put('b')", parallel_mutations=True)
        assert chain.waves == ((0,), (1,))


@pytest.mark.requirement("CHN-09")
async def test_a_chain_that_is_too_long_to_be_analysed_runs_in_sequence_and_says_so():
    done, tools = shelf()
    async with gate_of(*tools, config=FREE) as gate:
        chain = await gate.chain("a = f(x=0)\n" + "".join(f"f(x={n})\n" for n in range(1, 250)) + "g(a.x)")
        assert chain.ok
        assert (chain.mode_requested, chain.mode_used, chain.fallback_to_seq) == ("dep", "seq", True)
        assert chain.fallback_reason == "a chain of 251 calls is too long to be analysed; 200 is the most"
        assert len(chain.waves) == 251
    assert done == [*(f"f {n}" for n in range(250)), "g 0"]


@pytest.mark.requirement("CHN-09", "CHN-10")
async def test_a_tool_that_changes_while_the_chain_runs_makes_the_rest_run_in_sequence_and_nothing_twice():
    done, tools = shelf()

    def looker(version: int, then: Callable[[], None]) -> Any:
        @tool(effects="read_only", name="h", description=f"Look, version {version}")
        async def h(x: int) -> int:
            """Look."""
            done.append(f"h{version} {x}")
            then()
            return x

        return h

    async with gate_of(*tools, config=FREE) as gate:
        gate.add(looker(1, lambda: None))

        @tool(effects="system_state", risk="low", allowed_callers={"chain"})
        async def change_tool() -> None:
            """Replace a tool while the chain runs."""
            done.append("change")
            gate.add(looker(2, lambda: None), update=True)

        gate.add(change_tool)
        chain = await gate.chain("a = f(x=1); change_tool(); b = h(1); c = h(2); d = h(3)")
        assert chain.ok
        assert (chain.mode_used, chain.fallback_to_seq) == ("seq", True)
        assert "was changed while it ran" in (chain.fallback_reason or "")
        assert chain.waves == ((0,), (1,), (2,), (3,), (4,))
        (ended,) = await recorded(gate, "chain.ended")
        assert (ended["mode_used"], ended["fallback_to_seq"], ended["waves"]) == ("seq", True, 5)
    assert done == ["f 1", "change", "h2 1", "h2 2", "h2 3"]


@pytest.mark.requirement("CHN-11")
async def test_none_is_a_value():
    done, tools = shelf()

    @tool(effects="read_only")
    async def nothing() -> None:
        """Find nothing."""
        done.append("nothing")

    async with gate_of(*tools, nothing) as gate:
        chain = await gate.chain("a = nothing(); b = g(a); c = g(f().none)")
        assert chain.ok
        assert (chain.mode_used, chain.fallback_to_seq) == ("dep", False)
        assert chain.values == {"a": None, "b": None, "c": None}
    assert done.count("nothing") == 1


@pytest.mark.requirement("CHN-12")
async def test_a_read_that_no_value_links_to_a_write_stays_behind_it():
    state = ["old"]
    seen: list[str] = []

    @tool(effects="system_state", risk="low", allowed_callers={"chain"})
    async def change(to: str) -> None:
        """Change the state."""
        for _ in range(10):
            await asyncio.sleep(0)
        state[0] = to

    @tool(effects="read_only")
    async def look() -> str:
        """Look at the state."""
        seen.append(state[0])
        return state[0]

    async with gate_of(change, look) as gate:
        chain = await gate.chain("a = look(); change('new'); b = look(); change(to='newest'); c = look()")
        assert chain.values == {"a": "old", "b": "new", "c": "newest"}
        assert chain.waves == ((0,), (1,), (2,), (3,), (4,))
    assert seen == ["old", "new", "newest"]


@pytest.mark.requirement("CHN-13")
async def test_a_name_given_again_keeps_its_first_value_for_the_calls_in_between():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain("a = f(x=1); b = g(a.x); a = f(x=2); c = g(a.x)")
        assert (chain.values["b"], chain.values["c"], chain.values["a"]["x"]) == (1, 2, 2)
    assert sorted(done) == ["f 1", "f 2", "g 1", "g 2"]


async def test_a_chain_inside_of_a_chain_is_a_chain_of_its_own():
    done, tools = shelf()
    async with gate_of(*tools, config=FREE) as gate:
        inner: list[Chain] = []

        @tool(effects="system_state", risk="low", allowed_callers={"chain"})
        async def nest(ctx: ToolContext) -> str:
            """Make a chain inside."""
            inner.append(await gate.chain("put('inner')", ctx.context))
            return "nested"

        gate.add(nest)
        chain = await gate.chain("put('outer'); nest()", Context(chain_id="mine", idempotency_key="k"))
        assert chain.ok
        assert (chain.chain_id, chain.key) == ("mine", "k")
        assert inner[0].ok
        assert inner[0].chain_id not in {"mine", "k"}
    assert done == ["put outer", "put inner"]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("f()\nnosuch(1)", 2, 1, "Unknown tool: nosuch"),
        ("f(1, 2)", 1, 1, "f takes at most 1 arguments, and 2 are given by position"),
        ("g(1, a=2)", 1, 1, "the argument a of g is given twice"),
        ("put('x')\nf(x='one')", 2, 1, "x"),
        ("put()", 1, 1, "text"),
        ("put('x', nosuch=1)", 1, 1, "nosuch"),
        ("f(x='a'[1])", 1, 1, "column 5: it has 1 items, and none at 1"),
        ("__import__('os').system('x')", 1, 1, "only tools can be called"),
        ("eval('1')", 1, 1, "Unknown tool: eval"),
        ("for x in f(): g(x)", 1, 1, "a loop is refused"),
    ],
)
async def test_what_cannot_be_made_is_refused_before_anything_runs(text: str, line: int, column: int, words: str):
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain(text)
        assert (chain.status, chain.steps, chain.value) == ("refused", [], None)
        fault = chain.diagnostics[0]
        assert (fault.line, fault.column) == (line, column)
        assert words in "; ".join(str(each) for each in chain.diagnostics)
        (event,) = await recorded(gate, "chain.refused")
        assert event["diagnostics"][0]["line"] == line
    assert done == []


async def test_names_that_travel_to_providers_are_known_too():
    done: list[str] = []

    @tool(name="mail.list", effects="read_only")
    async def inbox(box: str) -> str:
        """List mails."""
        done.append(box)
        return box

    async with gate_of(inbox) as gate:
        assert (await gate.chain("mail.list('a'); mail__list('b')")).ok
        assert "Unknown tool: mail__nosuch" in (await gate.chain("mail__nosuch()")).to_human()
    assert sorted(done) == ["a", "b"]


async def test_sequence_is_made_as_it_is_written():
    done, tools = shelf()
    async with gate_of(*tools) as gate:
        chain = await gate.chain("f(x=1); f(x=2); put('a'); f(x=3)", mode="seq")
        assert (chain.mode_requested, chain.mode_used, chain.fallback_to_seq) == ("seq", "seq", False)
        assert chain.waves == ((0,), (1,), (2,), (3,))
        with pytest.raises(ConfigurationError, match='mode must be "dep" or "seq"'):
            await gate.chain("f()", mode="fast")
        with pytest.raises(ConfigurationError, match="concurrency"):
            await gate.chain("f()", concurrency=0)
    assert done == ["f 1", "f 2", "put a", "f 3"]


async def test_what_a_handler_does_to_its_arguments_is_nothing_to_the_calls_after_it():
    @tool(effects="read_only")
    async def spoil(table: dict[str, Any]) -> str:
        """Change what was given."""
        table["items"].clear()
        return "spoilt"

    _, tools = shelf()
    async with gate_of(*tools, spoil) as gate:
        chain = await gate.chain("a = f(); spoil(a); b = g(a.items)")
        assert chain.values["b"] == ["a", "b"]


async def test_secrets_in_a_text_that_is_refused_reach_nobody():
    _, tools = shelf()
    async with gate_of(*tools) as gate:
        parts_of(gate).striker.remember("s3cret-value-0123", connector="c", key="k")
        chain = await gate.chain("f(x='s3cret-value-0123')")
        assert "s3cret" not in chain.to_human()
        assert "s3cret" not in str(await recorded(gate, "chain.refused"))
