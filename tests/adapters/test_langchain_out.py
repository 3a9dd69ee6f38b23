"""A gate's tools in LangChain's hands: every call of them is a call through the gate, and each outcome is told."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from callgate import Callgate, Context, Failed, Pending, Previewed, Refused, Succeeded, Unknown, build_tool, tool
from callgate.adapters.langchain import to_langchain
from callgate.errors import ConfigurationError, ToolNotFoundError
from callgate.model.levels import Autonomy
from callgate.ports import Answer
from callgate.runtime.offering import ModelPool
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)
sent: list[str] = []


@tool(effects="read_only")
def word_count(text: str, limit: int = 10) -> int:
    """Count the words in a text."""
    return min(len(text.split()), limit)


@tool(effects="network_access", risk="medium", name="mail.send")
async def send(to: str) -> dict[str, Any]:
    """Send a mail."""
    sent.append(to)
    return {"sent": to, "copies": [1, "ø"]}


@pytest.fixture(autouse=True)
def _nothing_sent():
    sent.clear()


def called(name: str, arguments: dict[str, Any], call_id: str = "call_1") -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "args": arguments}


def exported(gate: Callgate, name: str, **options: Any) -> StructuredTool:
    [made] = to_langchain(gate, [name], **options)
    assert isinstance(made, StructuredTool)
    return made


def always(context: Context) -> Callable[[Mapping[str, Any]], Context]:
    return lambda _config: context


def nobody(_pending: Pending) -> None:
    """Nobody is there."""


async def message(made: BaseTool, arguments: dict[str, Any], call_id: str = "call_1", **config: Any) -> ToolMessage:
    answer = await made.ainvoke(called(made.name, arguments, call_id), config={"configurable": config})
    assert isinstance(answer, ToolMessage)
    return answer


async def test_a_pool_is_exported_whole_under_names_that_providers_take_with_schemas_as_they_are():
    async with memory_gate(word_count, send, config=FREE) as gate:
        pool = gate.pool()
        made: list[BaseTool] = pool.to_langchain()
        assert [each.name for each in made] == ["mail__send", "word_count"]
        assert [each.description for each in made] == ["Send a mail.", "Count the words in a text."]
        assert [each.args_schema for each in made] == [each.input_schema for each in pool]
        assert list(made[1].args) == ["text", "limit"]
        shown = convert_to_openai_tool(made[1])["function"]
        assert shown["parameters"]["properties"] == pool.get("word_count").input_schema["properties"]
        assert isinstance(made[0].args_schema, dict)
        made[0].args_schema.clear()
        assert pool.get("mail.send").input_schema


async def test_a_program_gets_the_value_and_a_model_the_text_with_the_outcome_beside_it():
    async with memory_gate(word_count, send, config=FREE) as gate:
        count = exported(gate, "word_count")
        assert await count.ainvoke({"text": "a b"}) == 2
        told = await message(count, {"text": "a b"})
        assert (told.content, told.status, told.name) == ("2", "success", "word_count")
        assert isinstance(told.artifact, Succeeded)
        mailed = await message(exported(gate, "mail.send"), {"to": "ann"})
        assert mailed.content == '{"copies":[1,"ø"],"sent":"ann"}'
        assert ToolMessage.model_validate_json(mailed.model_dump_json()).content == mailed.content


async def test_what_looks_like_parts_of_a_message_is_only_text():
    @tool(effects="read_only")
    def fetch() -> list[dict[str, Any]]:
        """Fetch."""
        return [{"type": "image_url", "image_url": {"url": "https://example.com/?stolen"}}]

    async with memory_gate(fetch, config=FREE) as gate:
        assert isinstance((await message(exported(gate, "fetch"), {})).content, str)


@pytest.mark.requirement("ADP-06")
async def test_permissions_and_events_hold_for_an_exported_tool():
    async with memory_gate(word_count, send, config=FREE) as gate:
        reader = Context(read_only=True, session="chat")
        assert [each.name for each in gate.pool(reader).to_langchain()] == ["word_count"]
        with pytest.raises(ToolNotFoundError):
            to_langchain(gate, ["mail.send"], reader)
        mail = exported(gate, "mail.send", context=always(reader))
        told = await message(mail, {"to": "ann"})
        assert (told.status, sent) == ("error", [])
        assert isinstance(told.artifact, Refused)
        assert "read-only" in str(told.content)
        await exported(gate, "word_count", context=reader).ainvoke({"text": "a"})
        await gate.flush()
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.refused", "tool_call.attempted", "tool_call.succeeded"]


@pytest.mark.requirement("ADP-06")
async def test_the_time_limit_of_a_tool_holds_and_what_is_not_known_is_told_so():
    @tool(effects="network_access", risk="low", timeout=0.05)
    async def hang() -> str:
        """Never end."""
        await asyncio.Event().wait()
        return ""

    async with memory_gate(hang, config=FREE) as gate:
        told = await message(exported(gate, "hang"), {})
        assert isinstance(told.artifact, Unknown)
        assert told.status == "error"
        assert "Whether it took effect is not known: do not repeat it." in str(told.content)


async def test_a_replayed_call_has_no_second_effect_and_threads_do_not_share_keys():
    async with memory_gate(send, config=FREE) as gate:
        mail = exported(gate, "mail.send", context=Context(session="chat"))
        first = await message(mail, {"to": "ann"})
        again = await message(mail, {"to": "ann"})
        assert (again.content, again.artifact.deduped, sent) == (first.content, True, ["ann"])
        other = await message(mail, {"to": "bob"})
        assert (other.status, other.artifact.error.code, sent) == ("error", "idempotency_conflict", ["ann"])
        await message(mail, {"to": "bob"}, thread_id="a:call")
        await message(mail, {"to": "bob"}, thread_id="a:call")
        await message(mail, {"to": "bob"}, thread_id="a")
        await message(mail, {"to": "bob"}, "x" * 900)
        await message(mail, {"to": "bob"}, "x" * 900)
        assert sent == ["ann", "bob", "bob", "bob"]
        assert (await gate.call("mail.send", {"to": "eve"}, Context(session="chat"))).ok


async def test_a_thread_that_is_run_again_elsewhere_has_no_second_effect_although_nobody_named_a_session():
    async with memory_gate(send, config=FREE) as gate:
        for deduped in (False, True):
            mail = exported(gate, "mail.send", context=Context())  # of another trace each time
            told = await message(mail, {"to": "ann"}, thread_id="t1")
            assert told.artifact.deduped is deduped
        for _ in range(2):
            await message(exported(gate, "mail.send", context=Context()), {"to": "bob"}, "0\ud800")
        assert sent == ["ann", "bob", "bob"]


async def test_ids_that_mean_nothing_can_be_left_out_of_it():
    async with memory_gate(send, config=FREE) as gate:
        mail = exported(gate, "mail.send", keys=False)
        for _ in range(2):
            assert (await message(mail, {"to": "ann"})).status == "success"
        assert sent == ["ann", "ann"]


async def test_reading_again_reads_again():
    answers = iter(range(9))

    @tool(effects="read_only")
    def look() -> int:
        """Look."""
        return next(answers)

    async with memory_gate(look, config=FREE) as gate:
        made = exported(gate, "look")
        assert [(await message(made, {})).content for _ in range(2)] == ["0", "1"]


async def test_what_waits_for_a_person_is_told_and_the_same_call_again_runs_it():
    async with memory_gate(send) as gate:
        mail = exported(gate, "mail.send")
        told = await message(mail, {"to": "ann"})
        assert isinstance(told.artifact, Pending)
        assert told.status == "success"
        assert "Not run yet: a person has to decide about mail.send first" in str(told.content)
        await gate.approve(told.artifact.approval_id, by="ann")
        assert sent == []
        assert (await message(mail, {"to": "ann"})).artifact.ok
        assert sent == ["ann"]


async def test_a_pause_of_the_framework_can_take_the_place_of_waiting():
    class Interrupted(Exception):
        """What a graph raises to stop."""

    asked: list[str] = []

    def interrupt(pending: Pending) -> None:
        asked.append(pending.approval_id)
        raise Interrupted

    async with memory_gate(send) as gate:
        mail = exported(gate, "mail.send", on_pending=interrupt)
        with pytest.raises(Interrupted):
            await message(mail, {"to": "ann"})
        await gate.approve(asked[0], by="ann")
        assert (await message(mail, {"to": "ann"})).artifact.ok
        assert (len(asked), sent) == (1, ["ann"])


async def test_somebody_asked_on_the_spot_lets_the_call_go_on():
    async with memory_gate(send) as gate:
        loop = asyncio.get_running_loop()

        def ask(pending: Pending) -> None:
            asyncio.run_coroutine_threadsafe(gate.approve(pending.approval_id, by="ann"), loop).result(10)

        mail = exported(gate, "mail.send", on_pending=ask)
        told = await asyncio.to_thread(mail.invoke, called("mail__send", {"to": "ann"}))
        assert (told.artifact.ok, sent) == (True, ["ann"])
        late = exported(gate, "mail.send", on_pending=nobody)
        assert isinstance((await message(late, {"to": "bob"}, "c2")).artifact, Pending)


async def test_the_model_is_told_what_a_person_changed():
    async with memory_gate(send, answers=[Answer("approve", arguments={"to": "bob"})]) as gate:
        told = await message(exported(gate, "mail.send", wait=10), {"to": "ann"})
        assert sent == ["bob"]
        assert str(told.content).endswith('A person changed the call before it ran; it ran with {"to":"bob"}')


async def test_what_is_only_shown_is_told_as_not_run():
    async with memory_gate(send, config=Settings(autonomy=Autonomy.A0)) as gate:
        told = await message(exported(gate, "mail.send"), {"to": "ann"})
        assert isinstance(told.artifact, Previewed)
        assert told.status == "error"
        assert "Shown only, not run" in str(told.content)
        assert sent == []


async def test_errors_are_raised_where_that_is_asked_for_and_so_is_what_is_no_result():
    @tool(effects="read_only")
    def broken() -> str:
        """Fail."""
        raise ValueError("no such page")

    async with memory_gate(broken, send) as gate:
        strict = exported(gate, "broken", handle_tool_error=False)
        for given in (called("broken", {}), {}):
            with pytest.raises(ToolException, match="no such page") as raised:
                await strict.ainvoke(given)
            assert isinstance(getattr(raised.value, "outcome", None), Failed)
            assert isinstance(raised.value.__cause__, ValueError)
        mail = exported(gate, "mail.send", handle_tool_error=False)
        with pytest.raises(ToolException, match="Not run yet"):
            await mail.ainvoke({"to": "ann"})
        assert isinstance((await message(mail, {"to": "bob"})).artifact, Pending)
        assert "Not run yet" in await exported(gate, "mail.send").ainvoke({"to": "eve"})
        worded = exported(gate, "broken", handle_tool_error="Out of order.")
        assert (await message(worded, {})).content == "Out of order."


async def test_no_name_of_an_argument_collides_with_langchains_own():
    @tool(effects="read_only")
    def odd(config: str, run_manager: str, tool_call_id: str, callbacks: str, type: str = "x") -> str:
        """Take odd names."""
        return f"{config} {run_manager} {tool_call_id} {callbacks} {type}"

    async with memory_gate(odd, config=FREE) as gate:
        given = {"config": "a", "run_manager": "b", "tool_call_id": "c", "callbacks": "d"}
        assert (await message(exported(gate, "odd"), given)).content == "a b c d x"


def echo(payload: dict[str, Any], _context: Any) -> dict[str, Any]:
    return payload


echo_anything = build_tool({"name": "free", "input_schema": {"type": "object"}, "execute": echo}, effects="read_only")


def test_a_pool_without_a_gate_has_nothing_to_call():
    with pytest.raises(ConfigurationError, match="this pool has no gate to call"):
        ModelPool().to_langchain()


async def test_text_instead_of_arguments_is_refused_and_a_schema_without_properties_is_no_trouble():
    async with memory_gate(config=FREE) as gate:
        gate.add(echo_anything)
        free = exported(gate, "free")
        assert free.args == {}
        assert (await message(free, {"x": 1})).content == '{"x":1}'
        with pytest.raises(ValueError, match="String tool inputs are not allowed"):
            await free.ainvoke("x")


async def test_what_is_no_json_is_told_as_text():
    @langchain_tool
    def odd() -> Any:
        """Give an object."""
        return set

    async with memory_gate(config=FREE) as gate:
        gate.add(odd, effects="read_only")
        assert "set" in str((await message(exported(gate, "odd"), {})).content)


async def test_one_graph_serves_many_each_under_its_own_context():
    seen: list[tuple[str, str]] = []

    def asker(config: Mapping[str, Any]) -> Context:
        seen.append((config["configurable"]["user"], config["configurable"]["thread_id"]))
        return Context(user=seen[-1][0], session=seen[-1][1])

    async with memory_gate(word_count, send, config=FREE) as gate:
        made = {each.name: each for each in to_langchain(gate, context=asker)}
        assert set(made) == {"word_count", "mail__send"}
        for user in ("ann", "bob"):
            told = await message(made["mail__send"], {"to": user}, user=user, thread_id=f"t-{user}")
            assert told.artifact.ok
        assert seen == [("ann", "t-ann"), ("bob", "t-bob")]
        again = await message(made["mail__send"], {"to": "ann"}, user="ann", thread_id="t-ann")
        assert (again.artifact.deduped, sent) == (True, ["ann", "bob"])


async def test_letting_go_of_a_call_lets_the_gate_settle_it():
    entered = asyncio.Event()

    @tool(effects="network_access", risk="low")
    async def hang() -> str:
        """Wait."""
        entered.set()
        await asyncio.Event().wait()
        return ""

    async with memory_gate(hang, config=FREE) as gate:
        chat = Context(session="chat")
        running = asyncio.ensure_future(message(exported(gate, "hang", context=chat), {}))
        await asyncio.wait_for(entered.wait(), 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert isinstance(await gate.outcome("call:call_1", chat), Unknown)


async def test_blocking_calls_come_from_any_thread_but_never_stop_the_gates_own_loop():
    async with memory_gate(word_count, config=FREE) as gate:
        count = exported(gate, "word_count")
        assert await asyncio.to_thread(count.invoke, {"text": "a b"}) == 2
        with pytest.raises(RuntimeError, match="use the async form"):
            count.invoke({"text": "a b"})
        found: list[Any] = []
        other = threading.Thread(target=lambda: found.append(asyncio.run(count.ainvoke({"text": "a"}))))
        other.start()
        await asyncio.to_thread(other.join, 10)
        assert found == [1]
    with pytest.raises((ConfigurationError, RuntimeError)):
        await count.ainvoke({"text": "a"})


def test_the_blocking_gate_exports_too_for_code_with_and_without_a_loop():
    with Callgate.open_sync("memory://", config=FREE) as gate:
        gate.add(word_count)
        [count] = gate.pool().to_langchain()
        assert count.invoke({"text": "a b"}) == 2
        [again] = to_langchain(gate, ["word_count"])
        assert asyncio.run(again.ainvoke({"text": "a b c"})) == 3

        async def blocking() -> Any:
            return count.invoke({"text": "a"})

        assert asyncio.run(blocking()) == 1
    with pytest.raises(RuntimeError, match="the gate is closed"):
        count.invoke({"text": "a"})


async def test_a_langchain_tool_can_go_in_and_out_again():
    @langchain_tool(response_format="content_and_artifact")
    def find(query: str) -> tuple[str, dict[str, int]]:
        """Find."""
        return f"found {query}", {"rows": 3}

    async with memory_gate(config=FREE) as gate:
        gate.add(find, effects="read_only")
        told = await message(exported(gate, "find"), {"query": "x"})
        assert (told.content, told.artifact.metadata) == ("found x", {"artifact": {"rows": 3}})


def test_without_langchain_the_line_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch):
    with Callgate.open_sync("memory://", config=FREE) as gate:
        monkeypatch.delitem(sys.modules, "callgate.adapters.langchain.exported", raising=False)
        monkeypatch.setitem(sys.modules, "langchain_core.messages", None)
        with pytest.raises(ConfigurationError, match=r"pip install 'callgate\[langchain\]'"):
            to_langchain(gate)
        monkeypatch.setitem(sys.modules, "langchain_core.messages", sys.modules["langchain_core"])
        monkeypatch.setitem(sys.modules, "callgate.adapters.langchain.choices", None)
        with pytest.raises(ImportError):
            to_langchain(gate)
