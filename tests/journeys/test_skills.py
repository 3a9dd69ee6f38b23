"""Skills: functions that put tools together and are called like any tool; each call inside is a governed call."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from callgate import (
    Callgate,
    Context,
    Failed,
    Refused,
    Skill,
    SkillContext,
    skill,
    tool,
)
from callgate.errors import ConfigurationError
from callgate.model.layer import Layer, LayerKind
from callgate.model.levels import Autonomy, Happened, Risk
from callgate.runtime.offline import check_policy
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.journeys.gates import gate_of

FREE = Settings(autonomy=Autonomy.A4)
BOTH = ("direct", "chain")
WITHIN = 10


@tool(effects="read_only")
async def find_notes(word: str) -> list[str]:
    """Find notes."""
    return [f"{word} one", f"{word} two"]


def keeping(kept: list[str], **declaration: Any) -> Any:
    fields: dict[str, Any] = {"effects": "modifies_files", "risk": "low", "allowed_callers": BOTH}

    @tool(**(fields | declaration))
    async def keep_note(text: str) -> int:
        """Keep a note."""
        kept.append(text)
        return len(kept)

    return keep_note


@skill(tools=["find_notes", "keep_note"])
async def tidy(word: str, steps: SkillContext) -> int:
    """Keep every note that has a word.

    Args:
        word: Which notes.
    """
    found = (await steps.call("find_notes", {"word": word})).unwrap()
    for note in found:
        (await steps.call("keep_note", {"text": note})).unwrap()
    return len(found)


async def told(gate: Callgate, *types: str) -> list[dict[str, Any]]:
    return [dict(event.payload or {}) async for event in gate.events(types=list(types))]


def code(outcome: Any) -> str:
    assert outcome.error is not None
    return outcome.error.code


@pytest.mark.requirement("SKL-03")
@pytest.mark.usefixtures("on_each_store")
async def test_a_skill_is_called_like_a_tool_and_every_call_inside_is_a_call_of_its_own():
    kept: list[str] = []
    async with gate_of(tidy, find_notes, keeping(kept), config=FREE) as gate:
        context = Context(trace_id="t1", idempotency_key="k1")
        outcome = await gate.call("tidy", {"word": "tea"}, context)
        assert (outcome.unwrap(), kept) == (2, ["tea one", "tea two"])
        attempts = [event async for event in gate.events(types=["tool_call.attempted"])]
        told_of = [(e.payload or {}) for e in attempts]
        assert [e["tool"] for e in told_of] == ["tidy", "find_notes", "keep_note", "keep_note"]
        assert {event.trace for event in attempts} == {"t1"}
        assert [e["caller"] for e in told_of] == ["direct", "chain", "chain", "chain"]
        assert [(e.get("chain_id"), e.get("chain_index")) for e in told_of[1:]] == [("k1", 0), ("k1", 1), ("k1", 2)]
        assert len(await told(gate, "tool_call.succeeded")) == 4
        again = await gate.call("tidy", {"word": "tea"}, context)
        assert (again.unwrap(), again.deduped, len(kept)) == (2, True, 2)
        assert (await gate.verify_audit()).ok


@pytest.mark.requirement("SKL-03")
async def test_a_tool_inside_a_skill_is_refused_where_the_asker_lacks_its_permission():
    kept: list[str] = []
    async with memory_gate(tidy, find_notes, keeping(kept, scopes=["fs:write"]), config=FREE) as gate:
        outcome = await gate.call("tidy", {"word": "tea"}, Context(scopes=frozenset({"fs:read"})))
        assert isinstance(outcome, Failed)
        assert "fs:write" in str(outcome)
        assert outcome.happened is Happened.NONE
        assert [(e["tool"], e["code"]) for e in await told(gate, "tool_call.refused")] == [
            ("keep_note", "scope_violation")
        ]
        assert kept == []
        assert (await gate.call("tidy", {"word": "tea"}, Context(scopes=frozenset({"fs:write"})))).ok


def test_what_a_skill_declares_is_what_its_tools_declare_together():
    @tool(effects=["read_only", "network_access"], concurrency_safe=True)
    async def look_up(word: str) -> str:
        """Look something up."""
        return word

    @tool(effects="system_state", risk="medium", destructive=True, sensitive_output=True)
    async def drop(name: str) -> None:
        """Drop something."""

    @skill(tools=["find_notes"])
    async def reading(steps: SkillContext) -> int:
        """Read."""
        return len((await steps.call("find_notes", {"word": "x"})).unwrap())

    @skill(tools=["look_up", "find_notes"])
    async def searching(steps: SkillContext) -> None:
        """Search."""

    @skill(tools=["look_up", "drop"], risk="low", timeout=90, tags=["mine"])
    async def both(steps: SkillContext) -> None:
        """Both."""

    @skill(tools=["find_notes", "absent"])
    async def lacking(steps: SkillContext) -> None:
        """Uses something that is not there."""

    gate = memory_gate(find_notes, look_up, drop, reading, searching, both, lacking)
    made = {each.name: each for each in gate.tools(tags=["skill"])}
    assert list(made) == ["reading", "searching", "both", "lacking"]
    assert made["reading"].side_effects == ("read_only",)
    assert made["reading"].base_risk is Risk.LOW
    assert made["reading"].concurrency_safe
    assert made["reading"].plain_read
    assert made["searching"].side_effects == ("network_access", "read_only")
    assert (made["searching"].egress, made["searching"].untrusted_output) == (True, True)
    assert made["both"].side_effects == ("network_access", "system_state")
    assert (made["both"].base_risk, made["both"].destructive, made["both"].timeout) == (Risk.HIGH, True, 90)
    assert (made["both"].sensitive_output, made["both"].concurrency_safe) == (True, False)
    assert {"uses:look_up", "uses:drop", "mine"} <= set(made["both"].tags)
    worst = made["lacking"]
    assert "read_only" not in worst.side_effects
    assert len(worst.side_effects) == 5
    assert (worst.base_risk, worst.destructive, worst.egress) == (Risk.HIGH, True, True)
    assert all(each.idempotent for each in made.values())


@pytest.mark.requirement("SKL-04")
async def test_a_skill_that_names_what_is_not_there_is_reported_and_follows_what_comes(
    caplog: pytest.LogCaptureFixture,
):
    kept: list[str] = []
    caplog.set_level(logging.WARNING, logger="callgate")
    gate = memory_gate(tidy, find_notes, config=FREE)
    assert caplog.text == ""  # its tools may still be coming
    async with gate:
        assert "tidy names tools that are not there: keep_note" in caplog.text
        gate.add(tidy, name="tidy_too")
        assert "tidy_too names tools that are not there: keep_note" in caplog.text
        gate.remove("tidy_too")
        [report] = gate.skills()
        assert (report.name, report.tools, report.missing, report.ok) == (
            "tidy",
            ("find_notes", "keep_note"),
            ("keep_note",),
            False,
        )
        assert gate.tool("tidy").destructive
        outcome = await gate.call("tidy", {"word": "tea"})
        assert "Unknown tool" in str(outcome)
        gate.add(keeping(kept))
        assert gate.skills()[0].ok
        assert gate.tool("tidy").side_effects == ("modifies_files",)
        assert gate.quarantined() == ()
        assert (await gate.call("tidy", {"word": "tea"}, Context(session="s2"))).unwrap() == 2
        gate.remove("keep_note")
        assert gate.tool("tidy").destructive
        gate.remove("tidy")
        assert gate.skills() == ()
        gate.add(keeping(kept))
        assert [each.name for each in gate.tools()] == ["find_notes", "keep_note"]


async def test_a_skill_whose_tools_come_and_go_with_restarts_is_not_held_for_it(tmp_path: Path):
    kept: list[str] = []
    url = f"sqlite:///{tmp_path / 'gate.db'}"
    for things in ([tidy, find_notes, keeping(kept)], [tidy, find_notes], [find_notes, keeping(kept), tidy]):
        async with memory_gate(*things, store=url, config=FREE) as gate:
            assert gate.quarantined() == ()


async def test_findings_name_tools_that_cannot_be_called_from_a_skill():
    kept: list[str] = []

    @skill(tools=["tidy", "find_notes"])
    async def outer(steps: SkillContext) -> None:
        """Use another skill, and not its tools."""

    gate = memory_gate(tidy, find_notes, keeping(kept, allowed_callers="direct"), outer)
    assert [report.findings for report in gate.skills()] == [
        ("tidy cannot call keep_note, which may be called directly only; add chain to its allowed_callers",),
        (
            "outer cannot call tidy, which may be called directly only; add chain to its allowed_callers",
            "outer uses the skill tidy, and not the tools that needs: keep_note",
        ),
    ]
    async with gate:
        outcome = await gate.call("tidy", {"word": "x"}, Context(autonomy=Autonomy.A4))
        assert isinstance(outcome, Failed)
        assert "may be called by direct" in str(outcome)


async def test_plain_functions_methods_and_modules_of_skills_are_added_like_tools():
    kept: list[str] = []

    @skill(tools=["find_notes", "keep_note"], name="tidy_plainly", description="Tidy, blocking.")
    def plain(steps: SkillContext, word: str = "tea") -> dict[str, Any]:
        found = steps.call_blocking("find_notes", {"word": word}).unwrap()
        steps.progress(0.5, "found")
        kept_at = steps.call_blocking("keep_note", {"text": found[0]}).unwrap()
        return {"found": found, "at": kept_at, "key": steps.key, "has_limit": steps.deadline is not None}

    class Clerk:
        def __init__(self, word: str) -> None:
            self.word = word

        @skill(tools=["find_notes"])
        async def count(self, steps: SkillContext) -> int:
            """Count."""
            return len((await steps.call("find_notes", {"word": self.word})).unwrap())

    module = ModuleType("of_skills")
    vars(module).update(plain=plain, again=plain)
    mixed = ModuleType("of_both")
    vars(mixed).update(find=find_notes, keep=keeping(kept))
    async with memory_gate([module, [Clerk("x").count]], mixed, config=FREE) as gate:
        outcome = await gate.call("tidy_plainly", {}, Context(idempotency_key="k"))
        assert outcome.unwrap() == {"found": ["tea one", "tea two"], "at": 1, "key": "k", "has_limit": True}
        assert gate.tool("tidy_plainly").description == "Tidy, blocking."
        assert (await gate.call("count")).unwrap() == 2
        assert [report.name for report in gate.skills()] == ["tidy_plainly", "count"]
        with pytest.raises(ConfigurationError, match="has no @tool function"):
            gate.add(ModuleType("of_nothing"))


def test_a_policy_is_judged_beside_the_skills_of_modules():
    module = ModuleType("of_skills")
    vars(module).update(tidy=tidy)
    policy = Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, deny=("tidy", "tydi")))
    assert [finding.text for finding in check_policy(policy, [module, find_notes]) if finding.level == "error"] == [
        "there is no tool tydi; there are find_notes, tidy"
    ]


async def test_a_skill_on_a_blocking_gate():
    def main() -> tuple[Any, list[str]]:
        kept: list[str] = []
        with Callgate.open_sync("memory://", FREE) as gate:
            gate.add(tidy, find_notes, keeping(kept))
            return gate.call("tidy", {"word": "tea"}).unwrap(), kept

    assert await asyncio.to_thread(main) == (2, ["tea one", "tea two"])


def test_what_cannot_be_a_skill_is_told_where_it_is_written():
    async def lonely(word: str) -> None:
        """Takes no context."""

    async def greedy(one: SkillContext, two: SkillContext) -> None:
        """Takes two."""

    with pytest.raises(ConfigurationError, match="lonely takes the SkillContext not"):
        memory_gate(Skill(name="lonely", tools=("find_notes",), function=lonely))
    with pytest.raises(ConfigurationError, match="greedy takes the SkillContext twice"):
        memory_gate(Skill(name="greedy", tools=("find_notes",), function=greedy))
    with pytest.raises(ConfigurationError, match="names no tools"):
        skill(tools=[])(tidy)
    with pytest.raises(ConfigurationError, match="names itself"):
        Skill(name="tidy", tools=("tidy",))
    with pytest.raises(ConfigurationError, match="no tool name"):
        skill(tools=["group:all"])(tidy)
    with pytest.raises(ConfigurationError, match="no tool name"):
        skill(tools="*")(tidy)
    with pytest.raises(ConfigurationError, match="must be a list of tool names"):
        skill(tools=7)(tidy)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="a skill declares no 'effects'; what it does follows from its tools"):
        skill(tools=["find_notes"], effects="read_only")(tidy)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ConfigurationError, match="did you mean 'timeout'"):
        skill(tools=["find_notes"], timeouts=3)(tidy)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ConfigurationError, match="is no risk"):
        memory_gate(find_notes).add(tidy, risk="grave")
    with pytest.raises(ConfigurationError, match="builtin_function_or_method cannot be marked"):
        skill(tools=["find_notes"], name="sorting")(sorted)


def test_hints_that_name_what_is_nowhere_are_told():
    def bad(steps: SkillContext, thing: int) -> None:
        """A hint that nobody knows."""

    bad.__annotations__["thing"] = "Absent"
    with pytest.raises(ConfigurationError, match="a type hint of bad cannot be read"):
        memory_gate(Skill(name="bad", tools=("find_notes",), function=bad))


async def test_hints_may_name_what_is_known_only_where_the_skill_is_written():
    class Wish(BaseModel):
        word: str

    @skill(tools=["find_notes"])
    async def wished(wish: Wish, steps: SkillContext) -> list[str]:
        """Find what is wished for."""
        return (await steps.call("find_notes", {"word": wish.word})).unwrap()

    async with memory_gate(find_notes, wished) as gate:
        assert (await gate.call("wished", {"wish": {"word": "tea"}})).unwrap() == ["tea one", "tea two"]


async def test_what_is_said_where_it_is_added_stands_and_an_unbound_skill_says_that_it_is():
    gate = memory_gate(find_notes, keeping([]))
    [made] = gate.add(tidy, name="clean_up", risk="high", allowed_callers=BOTH, scopes=["fs:write"])
    assert (made.name, made.base_risk, made.scopes) == ("clean_up", Risk.HIGH, {"fs:write"})
    gate.add(Skill(name="idea", tools=("find_notes",), fields={"description": "Not written yet."}))
    async with gate:
        outcome = await gate.call("idea", {})
        assert isinstance(outcome, Refused)
        assert "no function is bound to this skill" in str(outcome)
        other = tool(effects="read_only", name="clean_up")(lambda: None)
        gate.add(other, update=True)
        assert [report.name for report in gate.skills()] == ["idea"]


# What a skill can reach.


async def in_a_bare_thread(steps: SkillContext) -> Any:
    answers: list[Any] = []
    bare = threading.Thread(target=lambda: answers.append(steps.call_blocking("destroy")))
    bare.start()
    await asyncio.to_thread(bare.join)
    return answers[0]


async def in_an_executor(*work: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, *work)


async def in_a_callback(gate: Callgate) -> Any:
    loop = asyncio.get_running_loop()
    made: asyncio.Future[asyncio.Task[Any]] = loop.create_future()
    loop.call_later(0, lambda: made.set_result(loop.create_task(gate.call("destroy"))))
    return await (await made)


WAYS: dict[str, Callable[[Callgate, SkillContext], Awaitable[Any]]] = {
    "its own way": lambda _, steps: steps.call("destroy"),
    "a gate in a closure": lambda gate, _: gate.call("destroy", {}, Context(autonomy=Autonomy.A4)),
    "a widened context": lambda gate, steps: gate.call("destroy", {}, replace(steps.context, layers=())),
    "a task": lambda gate, _: asyncio.create_task(gate.call("destroy")),
    "a thread": lambda gate, _: asyncio.to_thread(gate.anywhere().call_blocking, "destroy", {}),
    "a bare thread": lambda _, steps: in_a_bare_thread(steps),
    "an executor": lambda _, steps: in_an_executor(steps.call_blocking, "destroy"),
    "an executor that was handed the context": lambda gate, _: in_an_executor(
        contextvars.copy_context().run, gate.anywhere().call_blocking, "destroy", {}
    ),
    "a callback of the loop": lambda gate, _: in_a_callback(gate),
}


@pytest.mark.requirement("SKL-04")
@pytest.mark.parametrize("way", WAYS)
async def test_a_skill_reaches_no_tool_that_it_did_not_declare(way: str, tmp_path: Path):
    witness = tmp_path / "done"

    @tool(effects="modifies_files", risk="low", allowed_callers=BOTH)
    def destroy() -> str:
        """Leave a trace."""
        witness.write_text("done")
        return "done"

    @skill(tools=["find_notes"])
    async def sneaky(steps: SkillContext) -> str:
        """Try what it may not."""
        outcome = await WAYS[way](gate, steps)
        return f"{outcome.status} {outcome.error.code}: {outcome.error.message}"

    async with memory_gate(find_notes, destroy, sneaky, config=FREE) as gate:
        answer = (await gate.call("sneaky")).unwrap()
        assert answer.startswith("refused policy_denied: ")
        assert "find_notes" in answer
        assert not witness.exists()
        assert [e["tool"] for e in await told(gate, "tool_call.refused")] == ["destroy"]


@pytest.mark.requirement("SKL-04")
async def test_neither_a_skill_nor_a_tool_inside_reaches_further_than_the_skill_around_it(tmp_path: Path):
    witness = tmp_path / "done"

    @tool(effects="modifies_files", risk="low", allowed_callers=BOTH)
    def destroy() -> str:
        """Leave a trace."""
        witness.write_text("done")
        return "done"

    @tool(effects="modifies_files", risk="low", allowed_callers=BOTH)
    async def helpful() -> str:
        """A tool that calls others."""
        return (await gate.call("destroy")).unwrap()

    @skill(tools=["destroy"], allowed_callers=BOTH)
    async def inner(steps: SkillContext) -> str:
        """May destroy, when it is asked alone."""
        return (await steps.call("destroy")).unwrap()

    @skill(tools=["inner", "helpful"])
    async def outer(way: str, steps: SkillContext) -> str:
        """May not."""
        return (await steps.call(way)).unwrap()

    @skill(tools=["inner", "destroy"])
    async def honest(steps: SkillContext) -> str:
        """Names everything that it reaches."""
        return (await steps.call("inner")).unwrap()

    async with memory_gate(destroy, helpful, inner, outer, honest, config=FREE) as gate:
        for way in ("inner", "helpful"):
            outcome = await gate.call("outer", {"way": way})
            assert isinstance(outcome, Failed)
            assert "destroy" in str(outcome)
        assert not witness.exists()
        assert (await gate.call("honest")).unwrap() == "done"
        assert witness.exists()


async def test_a_skill_that_only_reads_stays_one_while_its_tool_is_replaced_by_another(tmp_path: Path):
    witness = tmp_path / "done"
    looked, replaced = asyncio.Event(), asyncio.Event()

    @skill(tools=["look"])
    async def looking(steps: SkillContext) -> str:
        """Look twice."""
        (await steps.call("look")).unwrap()
        looked.set()
        await replaced.wait()
        return (await steps.call("look")).unwrap()

    async with memory_gate(tool(effects="read_only", name="look")(lambda: "seen"), looking, config=FREE) as gate:
        call = asyncio.ensure_future(gate.call("looking"))
        await asyncio.wait_for(looked.wait(), WITHIN)
        other = tool(effects="modifies_files", risk="low", name="look", allowed_callers=BOTH)(
            lambda: witness.write_text("done")
        )
        gate.add(other, update=True)
        await gate.trust("look", by="ada", definition_hash=gate.tool("look").definition_hash)
        assert gate.tool("looking").effectful
        replaced.set()
        outcome = await asyncio.wait_for(call, WITHIN)
        assert "this context is read-only" in str(outcome)
        assert not witness.exists()


async def test_a_layer_that_a_skill_adds_narrows_and_never_widens():
    kept: list[str] = []

    @skill(tools=["find_notes", "keep_note"])
    async def careful(steps: SkillContext) -> list[str]:
        """Try contexts of its own."""
        narrowed = steps.context.narrow(read_only=True)
        with pytest.raises(ValueError, match="cannot change principal"):
            steps.context.narrow(principal="root")
        with pytest.raises(ValueError, match="cannot widen read_only"):
            narrowed.narrow(read_only=False)
        wide = steps.context.narrow(layers=[*steps.context.layers])
        outcomes = [
            await gate.call("keep_note", {"text": "a"}, narrowed),
            await gate.call("drop_all", {}, wide),
            await gate.call("keep_note", {"text": "b"}, wide),
        ]
        return [outcome.status for outcome in outcomes]

    @tool(effects="modifies_files", risk="low", allowed_callers=BOTH)
    async def drop_all() -> None:
        """Drop everything."""
        kept.clear()

    async with memory_gate(find_notes, keeping(kept), drop_all, careful, config=FREE) as gate:
        assert (await gate.call("careful")).unwrap() == ["refused", "refused", "succeeded"]
        assert kept == ["b"]


async def test_a_skill_that_comes_back_to_itself_is_stopped():
    @skill(tools=["second", "find_notes"], allowed_callers=BOTH)
    async def first(steps: SkillContext) -> Any:
        """Ask the second."""
        return (await steps.call("second")).unwrap()

    @skill(tools=["first", "second", "find_notes"], name="second_one", allowed_callers=BOTH)
    async def unused(steps: SkillContext) -> None:
        """Only there to be listed."""

    @skill(tools=["first", "find_notes"], allowed_callers=BOTH)
    async def second(steps: SkillContext) -> Any:
        """Ask the first, which asked."""
        return (await steps.call("first")).unwrap()

    async with memory_gate(find_notes, first, second, unused, config=FREE) as gate:
        outcome = await gate.call("first")
        assert isinstance(outcome, Failed)
        # Its own layer does not name it, which is found before it could be run.
        assert "first" in str(outcome)


async def test_a_call_that_outlives_its_skill_is_refused():
    late: asyncio.Queue[Any] = asyncio.Queue()
    ended = asyncio.Event()

    @skill(tools=["find_notes"])
    async def hasty(steps: SkillContext) -> str:
        """Leave work behind."""

        async def later() -> None:
            await ended.wait()
            late.put_nowait(await steps.call("find_notes", {"word": "x"}))

        tasks.append(asyncio.create_task(later()))
        return "done"

    tasks: list[asyncio.Task[None]] = []
    async with memory_gate(find_notes, hasty) as gate:
        assert (await gate.call("hasty")).ok
        ended.set()
        outcome = await asyncio.wait_for(late.get(), WITHIN)
        assert "the call of hasty it belongs to has ended" in str(outcome)
