"""A loop with a model, told with each provider's own SDK against a server that refuses what the provider would."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, ToolContext, tool
from callgate.errors import ConfigurationError, Conflict, LoopInterrupted, MalformedResponse
from callgate.frameworks.conversation import Stop
from callgate.settings.load import parse_settings
from callgate.testing import ScriptedApprover, memory_gate
from tests.frameworks.finishing import MINE, payment
from tests.frameworks.providers import Provider, Told, Wanted
from tests.frameworks.stub_server import Cut, Fault, Request

ROOT = Path(__file__).parents[2]
PAY = Wanted("call_1", "bank__pay", {"amount": 5, "to": "bob"})
OnEvent = Callable[[object], None] | None


@tool(effects="read_only")
async def weather(city: str) -> dict[str, Any]:
    """Tell the weather."""
    return {"city": city, "sky": "clear"}


@tool(effects="read_only")
async def broken(city: str) -> str:
    """Fail."""
    raise ValueError(city)


def paid(folder: Path) -> list[str]:
    """What the witness says was paid."""
    witness = folder / "witness"
    return witness.read_text().splitlines() if witness.exists() else []


def till(folder: Path, risk: str = "low") -> Any:
    return payment(folder / "witness", risk=risk)


async def test_a_model_that_calls_nothing_is_asked_once(provider: Provider, on_event: OnEvent):
    async with memory_gate() as gate, provider.stub([provider.says("Good day.")]) as stub:
        result = await provider.loop(stub.url, gate).run("Hello.", on_event=on_event)
    assert (result.stopped, result.finished, result.text) == (Stop.DONE, True, "Good day.")
    assert (result.turns, result.pending, result.state) == ([], [], None)
    assert len(stub.requests) == 1
    assert "tools" not in stub.bodies[0]


async def test_a_read_is_made_and_the_model_reads_its_result(provider: Provider, on_event: OnEvent):
    script = [provider.calls(Wanted("call_1", "weather", {"city": "Oslo"})), provider.says("It is clear.")]
    async with memory_gate(weather) as gate, provider.stub(script) as stub:
        result = await provider.loop(stub.url, gate).run("How is Oslo?", MINE, on_event=on_event)
    assert (result.stopped, result.text) == (Stop.DONE, "It is clear.")
    assert provider.names(stub.bodies[0]) == ["weather"]
    assert provider.told(stub.bodies[1]) == [Told("call_1", '{"city":"Oslo","sky":"clear"}', is_error=False)]
    assert [turn.ids for turn in result.turns] == [["call_1"]]
    assert {number for name, number in result.usage.items() if name.startswith(("input", "prompt"))} == {20}
    assert result.messages[: len(provider.history(stub.bodies[1]))] == provider.history(stub.bodies[1])
    assert stub.refusals == []


async def test_of_calls_made_together_one_may_fail(provider: Provider, on_event: OnEvent):
    calls = [Wanted("call_1", "broken", {"city": "Oslo"}), Wanted("call_2", "weather", {"city": "Rome"})]
    async with (
        memory_gate(weather, broken) as gate,
        provider.stub([provider.calls(*calls), provider.says("Half of it.")]) as stub,
    ):
        result = await provider.loop(stub.url, gate).run("And there?", MINE, on_event=on_event)
    first, second = provider.told(stub.bodies[1])
    assert (first.id, first.is_error, second.id, second.is_error) == ("call_1", True, "call_2", False)
    assert "Failed" in first.text
    assert (result.stopped, stub.refusals) == (Stop.DONE, [])


async def wait_for_question(gate: Callgate, loop: asyncio.Task[Any]) -> str:
    """The approval that somebody is asked for while the loop waits."""
    asked = asyncio.Event()
    subscription = gate.on("gate.required", lambda event: asked.set())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] - any event
    while not (found := await gate.approvals()):
        assert not loop.done()
        await asked.wait()
        asked.clear()
    gate.off(subscription)
    return found[0].id


@pytest.mark.parametrize(
    ("decision", "told", "ran"),
    [
        ("approve", "paid 5 to bob", ["5 bob"]),
        (
            "edit",
            'paid 3 to eve\nA person changed the call before it ran; it ran with {"amount":3,"to":"eve"}',
            ["3 eve"],
        ),
        ("reject", "Not run (approval_rejected): ann rejected this call: too much.", []),
        ("respond", "Not run (approval_answered): Ask me in May.", []),
    ],
)
async def test_a_loop_waits_for_a_person(provider: Provider, tmp_path: Path, decision: str, told: str, ran: list[str]):
    script = [provider.calls(PAY), provider.says("So it is.")]
    async with asyncio.timeout(60), memory_gate(till(tmp_path, "high")) as gate, provider.stub(script) as stub:
        loop = asyncio.create_task(provider.loop(stub.url, gate, wait=50).run("Pay.", MINE))
        question = await wait_for_question(gate, loop)
        assert paid(tmp_path) == []
        if decision == "approve":
            await gate.approve(question, by="ann")
        elif decision == "edit":
            await gate.approve(question, by="ann", arguments={"amount": 3, "to": "eve"})
        elif decision == "reject":
            await gate.reject(question, by="ann", why="too much")
        else:
            await gate.respond(question, by="ann", text="Ask me in May.")
        result = await loop
    [read] = provider.told(stub.bodies[1])
    assert told in read.text
    assert read.is_error is (not ran)
    assert paid(tmp_path) == ran
    assert (result.stopped, result.pending, stub.refusals) == (Stop.DONE, [], [])


async def test_a_loop_that_does_not_wait_hands_back_what_it_waits_for(
    provider: Provider, tmp_path: Path, on_event: OnEvent
):
    script = [provider.calls(Wanted("call_0", "weather", {"city": "Oslo"}), PAY), provider.says("Paid.")]
    async with memory_gate(weather, till(tmp_path, "high")) as gate, provider.stub(script) as stub:
        loop = provider.loop(stub.url, gate)
        result = await loop.run("Pay.", MINE, on_event=on_event)
        assert result.stopped is Stop.PENDING
        assert result.state is not None
        assert [outcome.status for outcome in result.turns[0].outcomes] == ["succeeded", "pending"]
        again = await loop.resume(json.dumps(result.state), MINE, on_event=on_event)
        assert (again.stopped, again.pending) == (Stop.PENDING, result.pending)
        assert len(stub.requests) == 1
        await gate.approve(result.pending[0], by="ann")
        done = await loop.resume(again.state or {}, MINE, on_event=on_event)
    assert (done.stopped, done.text, done.pending) == (Stop.DONE, "Paid.", [])
    assert [read.text for read in provider.told(stub.bodies[1])] == ['{"city":"Oslo","sky":"clear"}', "paid 5 to bob"]
    assert paid(tmp_path) == ["5 bob"]
    assert done.usage == {name: 2 * number for name, number in result.usage.items()}


async def test_a_loop_waits_for_so_long_and_no_longer(provider: Provider, tmp_path: Path):
    async with memory_gate(till(tmp_path, "high")) as gate, provider.stub([provider.calls(PAY)]) as stub:
        result = await provider.loop(stub.url, gate, wait=0.02).run("Pay.", MINE)
        assert (result.stopped, len(result.pending)) == (Stop.PENDING, 1)
    assert paid(tmp_path) == []


async def test_one_loop_has_many_conversations_at_a_time(provider: Provider):
    def answer(request: Request) -> dict[str, Any]:
        who = provider.history(request.body)[0]["content"]
        told = [read.text for read in provider.told(request.body)] if len(provider.history(request.body)) > 1 else []
        return provider.says("".join(told)) if told else provider.calls(Wanted("call_1", "weather", {"city": who}))

    cities = [f"city-{at}" for at in range(8)]
    async with memory_gate(weather) as gate, provider.stub(answer) as stub:
        loop = provider.loop(stub.url, gate)
        results = await asyncio.gather(*(loop.run(city, Context(session=city)) for city in cities))
    assert [json.loads(result.text)["city"] for result in results] == cities


async def in_another_process(**order: Any) -> tuple[int, str]:
    """What the program of `finishing` answers, which speaks with the server of this process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.frameworks.finishing", json.dumps(order), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


@pytest.mark.slow
async def test_a_conversation_that_was_saved_is_finished_by_another_process_with_one_effect(
    provider: Provider, tmp_path: Path
):
    order = {"provider": provider.name, "folder": str(tmp_path), "risk": "high", "part": "finish"}
    async with asyncio.timeout(100), provider.stub([provider.calls(PAY)]) as stub:
        async with Callgate.open(f"sqlite:///{tmp_path / 'gate.db'}") as gate:
            gate.add(till(tmp_path, "high"))
            result = await provider.loop(stub.url, gate).run("Pay.", MINE)
        assert result.stopped is Stop.PENDING
        (tmp_path / "state.json").write_text(json.dumps(result.state))
        for _ in range(2):  # the second finds everything done
            stub.answer_next(provider.says("Paid."))
            code, out = await in_another_process(url=stub.url, **order)
            assert (code, json.loads(out)) == (0, {"stopped": "done", "text": "Paid."})
    assert paid(tmp_path) == ["5 bob"]
    assert [provider.told(body)[0].text for body in stub.bodies[1:]] == ["paid 5 to bob"] * 2


@pytest.mark.crash
@pytest.mark.slow
async def test_a_process_that_dies_in_an_effect_leaves_a_conversation_to_go_on_with(provider: Provider, tmp_path: Path):
    order = {"provider": provider.name, "folder": str(tmp_path), "risk": "low"}
    async with asyncio.timeout(100), provider.stub([provider.calls(PAY), provider.says("Let us look.")]) as stub:
        code, _ = await in_another_process(url=stub.url, part="begin", **order)
        assert code == 9
        code, out = await in_another_process(url=stub.url, part="finish", **order)
        assert (code, json.loads(out)) == (0, {"stopped": "done", "text": "Let us look."})
    [read] = provider.told(stub.bodies[-1])
    assert read.is_error
    assert "outcome_unknown" in read.text
    assert paid(tmp_path) == ["5 bob"]


@pytest.mark.parametrize("trouble", [Fault(500), Cut(), Fault(400)], ids=["error", "lost connection", "refused"])
async def test_a_provider_that_fails_behind_an_effect_costs_no_second_one(
    provider: Provider, tmp_path: Path, on_event: OnEvent, trouble: Any
):
    script = [provider.calls(PAY), trouble, provider.says("Paid."), provider.says("Paid.")]
    async with memory_gate(till(tmp_path)) as gate, provider.stub(script) as stub:
        loop = provider.loop(stub.url, gate)
        with pytest.raises(LoopInterrupted, match="asking the model") as stopped:
            await loop.run("Pay.", MINE, on_event=on_event)
        assert type(stopped.value.__cause__).__module__.startswith(("anthropic", "openai", "httpx"))
        state = stopped.value.state
        resumed = await loop.resume(json.dumps(state), MINE, on_event=on_event)
        retried = await loop.run(state["messages"], MINE, on_event=on_event)
    assert resumed.finished
    assert retried.finished
    assert [provider.told(body)[0].text for body in stub.bodies[1:]] == ["paid 5 to bob"] * 3
    assert paid(tmp_path) == ["5 bob"]


async def test_a_conversation_that_ends_with_calls_has_them_made_once(provider: Provider, tmp_path: Path):
    kept: list[dict[str, Any]] = []
    script = [provider.calls(PAY), provider.says("Paid."), provider.says("Paid again?")]
    async with memory_gate(till(tmp_path)) as gate, provider.stub(script) as stub:
        loop = provider.loop(stub.url, gate)
        await loop.run("Pay.", MINE, keep=kept.append)
        before, after = kept
        assert len(before["messages"]) < len(after["messages"])
        again = await loop.run(before["messages"], MINE)
    assert again.text == "Paid again?"
    assert again.turns[0].outcomes[0].deduped
    assert provider.told(stub.bodies[2])[0].text == "paid 5 to bob"
    assert paid(tmp_path) == ["5 bob"]


async def test_without_a_session_a_state_that_was_kept_is_made_once_all_the_same(provider: Provider, tmp_path: Path):
    kept: list[dict[str, Any]] = []
    async with (
        memory_gate(till(tmp_path)) as gate,
        provider.stub([provider.calls(PAY), provider.says("1"), provider.says("2")]) as stub,
    ):
        loop = provider.loop(stub.url, gate)
        await loop.run("Pay.", Context(), keep=kept.append)
        assert (await loop.resume(kept[0], Context())).text == "2"
    assert paid(tmp_path) == ["5 bob"]


async def test_what_cannot_be_kept_is_not_run(provider: Provider, tmp_path: Path):
    async def keep(state: dict[str, Any]) -> None:
        raise OSError("the disk is full")

    script = [provider.calls(PAY), provider.says("Paid.")]
    async with memory_gate(till(tmp_path)) as gate, provider.stub(script) as stub:
        loop = provider.loop(stub.url, gate)
        with pytest.raises(LoopInterrupted, match="keeping the state") as stopped:
            await loop.run("Pay.", MINE, keep=keep)
        assert paid(tmp_path) == []
        assert (await loop.resume(stopped.value.state, MINE)).text == "Paid."
    assert paid(tmp_path) == ["5 bob"]


@pytest.mark.parametrize("status", [500, 529])
async def test_an_sdk_that_tries_again_makes_no_second_effect(provider: Provider, tmp_path: Path, status: int):
    script = [Fault(status), provider.calls(PAY), Fault(status), Fault(status), provider.says("Paid.")]
    async with memory_gate(till(tmp_path)) as gate, provider.stub(script) as stub:
        result = await provider.loop(stub.url, gate, max_retries=3).run("Pay.", MINE)
    assert result.text == "Paid."
    assert len(stub.requests) == 5
    assert paid(tmp_path) == ["5 bob"]


async def test_a_model_that_never_ends_is_stopped_and_can_go_on(provider: Provider, on_event: OnEvent):
    def forever(request: Any) -> dict[str, Any]:
        return provider.calls(Wanted(f"call_{len(stub.requests)}", "weather", {"city": "Oslo"}))

    async with memory_gate(weather) as gate, provider.stub(forever) as stub:
        loop = provider.loop(stub.url, gate, max_turns=3)
        result = await loop.run("How is Oslo?", MINE, on_event=on_event)
        assert (result.stopped, result.finished, len(stub.requests)) == (Stop.MAX_TURNS, False, 3)
        assert [turn.ids for turn in result.turns] == [["call_1"], ["call_2"], ["call_3"]]
        assert result.state is not None
        more = await loop.resume(result.state, MINE, on_event=on_event)
    assert (more.stopped, len(stub.requests), stub.refusals) == (Stop.MAX_TURNS, 6, [])
    assert provider.told(stub.bodies[3])[-1].id == "call_3"


async def test_a_call_that_was_cut_short_is_not_made(provider: Provider, tmp_path: Path, on_event: OnEvent):
    whole = Wanted("call_1", "bank__pay", {"amount": 5, "to": "bob"})
    cut = Wanted("call_2", "bank__pay", {"amount": 90, "to": "bo"})
    script = [provider.is_cut(whole, cut, json_text='{"amount": 90, "to": "bo'), provider.says("I try again.")]
    async with memory_gate(till(tmp_path)) as gate, provider.stub(script) as stub:
        loop = provider.loop(stub.url, gate)
        result = await loop.run("Pay.", MINE, on_event=on_event)
        assert (result.stopped, len(stub.requests)) == (Stop.CUT, 1)
        assert result.state is not None
        assert (await loop.resume(result.state, MINE, on_event=on_event)).finished
    first, second = provider.told(stub.bodies[1])
    assert (first.text, first.is_error) == ("paid 5 to bob", False)
    assert "cut short" in second.text
    assert second.is_error
    assert (paid(tmp_path), stub.refusals) == (["5 bob"], [])


async def test_a_state_kept_before_the_calls_of_a_cut_response_knows_that_it_was_cut(
    provider: Provider, tmp_path: Path
):
    kept: list[dict[str, Any]] = []
    cut = Wanted("call_1", "bank__pay", {"amount": 90, "to": "bo"})
    script = [provider.is_cut(cut, json_text='{"amount": 90, "to": "bo"}')]
    async with memory_gate(till(tmp_path)) as gate, provider.stub(script) as stub:
        loop = provider.loop(stub.url, gate)
        await loop.run("Pay.", MINE, keep=kept.append)
        again = await loop.resume(kept[0], MINE)
    assert again.stopped is Stop.CUT
    assert paid(tmp_path) == []


async def test_a_refused_response_is_not_run_and_not_kept(provider: Provider, tmp_path: Path, on_event: OnEvent):
    async with memory_gate(till(tmp_path)) as gate, provider.stub([provider.refuses("I can not.", PAY)]) as stub:
        result = await provider.loop(stub.url, gate).run("Pay.", MINE, on_event=on_event)
    assert (result.stopped, result.text, result.state) == (Stop.REFUSED, "I can not.", None)
    assert result.messages == [{"role": "user", "content": "Pay."}]
    assert result.response is not None
    assert paid(tmp_path) == []


async def test_dotted_and_long_names_come_back_as_their_tools(provider: Provider):
    names = ["mail.send", "mail_send", "mail.send_all", f"{'c' * 30}.{'x' * 32}"]

    def saying(name: str) -> Any:
        @tool(name=name, effects="read_only")
        async def say() -> str:
            """Say who it is."""
            return name

        return say

    async with memory_gate(*map(saying, names)) as gate:
        wires = gate.pool(MINE).wire_names
        calls = [Wanted(f"call_{at}", wires[name], {}) for at, name in enumerate(names)]
        async with provider.stub([provider.calls(*calls), provider.says("Done.")]) as stub:
            await provider.loop(stub.url, gate).run("Say.", MINE)
    assert sorted(provider.names(stub.bodies[0])) == sorted(wires.values())
    assert [read.text for read in provider.told(stub.bodies[1])] == names
    assert stub.refusals == []


async def test_strict_tools_pass_the_rules_of_the_provider(provider: Provider):
    @tool(effects="read_only")
    async def find(words: str, where: list[str] | None = None, limit: int = 5) -> str:
        """Find."""
        return f"{words} {where} {limit}"

    call = Wanted("call_1", "find", {"words": "x", "where": None, "limit": None})
    async with memory_gate(find) as gate, provider.stub([provider.calls(call), provider.says("Done.")]) as stub:
        await provider.loop(stub.url, gate, strict=True).run("Find.", MINE)
    assert "strict" in json.dumps(stub.bodies[0]["tools"])
    assert (provider.told(stub.bodies[1])[0].text, stub.refusals) == ("x None 5", [])


async def test_a_secret_in_an_output_does_not_reach_the_model(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, on_event: OnEvent
):
    secret = "s3cr3t-t0ken-for-the-bank"
    monkeypatch.setenv("CALLGATE_SECRET_BANK_TOKEN", secret)
    roles = parse_settings(
        "autonomy: A4\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}", file="x"
    )

    @tool(effects="network_access", risk="low", scopes=["secrets:read"])
    async def balance(ctx: ToolContext) -> str:
        """Look into the account, and say far too much."""
        return f"700, signed with {ctx.get_secret('bank', 'token')}"

    approver = ScriptedApprover("approve")
    script = [provider.calls(Wanted("call_1", "balance", {})), provider.says("700.")]
    async with memory_gate(balance, config=roles, ask=approver) as gate, provider.stub(script) as stub:
        result = await provider.loop(stub.url, gate).run("How much?", MINE, on_event=on_event)
    assert "700, signed with" in provider.told(stub.bodies[1])[0].text
    assert secret not in json.dumps(stub.bodies)
    assert secret not in json.dumps(result.messages)


async def test_a_choice_that_forces_a_call_holds_until_calls_were_made(provider: Provider):
    forced = {
        "anthropic": {"type": "any", "disable_parallel_tool_use": True},
        "openai": {"type": "function", "name": "weather"},
        "openai_chat": "required",
    }
    script = [provider.calls(Wanted("call_1", "weather", {"city": "Oslo"})), provider.says("Clear.")]
    async with memory_gate(weather) as gate, provider.stub(script) as stub:
        await provider.loop(stub.url, gate, tool_choice=forced[provider.name]).run("Oslo?", MINE)
    assert stub.bodies[0]["tool_choice"] == forced[provider.name]
    free = {"anthropic": {"type": "auto", "disable_parallel_tool_use": True}}
    assert stub.bodies[1]["tool_choice"] == free.get(provider.name, "auto")


async def test_a_state_is_read_with_care(provider: Provider, tmp_path: Path):
    async with memory_gate(till(tmp_path, "high")) as gate, provider.stub([provider.calls(PAY)]) as stub:
        loop = provider.loop(stub.url, gate)
        state = (await loop.run("Pay.", MINE)).state
        assert state is not None
        await gate.approve(state["turn"]["calls"][0]["outcome"]["approval_id"], by="ann")
        with pytest.raises(Conflict, match="somebody else's"):
            await loop.resume(state, Context(session="other"))
        for wrong in ("{", "[]", b"1", {**state, "version": 9}, {**state, "provider": "another"}):
            with pytest.raises(MalformedResponse):
                await loop.resume(wrong, MINE)
        with pytest.raises(MalformedResponse, match="no messages"):
            await loop.resume({**state, "messages": []}, MINE)
        for name, value in {"messages": ["x"], "turn": 3, "usage": None, "carry": [], "trace_id": ""}.items():
            with pytest.raises(MalformedResponse):
                await loop.resume({**state, name: value}, MINE)
    assert paid(tmp_path) == []


async def test_a_loop_says_what_it_cannot_take(provider: Provider):
    async with memory_gate(weather) as gate, provider.stub() as stub:
        with pytest.raises(ConfigurationError, match="max_turns"):
            provider.loop(stub.url, gate, max_turns=0)
        with pytest.raises(ConfigurationError, match="stream: hand on_event"):
            provider.loop(stub.url, gate, stream=True)
        loop = provider.loop(stub.url, gate)
        for wrong in ([], ["Hello."]):
            with pytest.raises(ConfigurationError, match="messages must be"):
                await loop.run(wrong, MINE)
    assert stub.requests == []


@pytest.mark.parametrize("clean", [True, False], ids=["ended", "broken off"])
async def test_a_stream_that_ends_too_early_runs_nothing(provider: Provider, tmp_path: Path, clean: bool):
    answer = provider.calls(PAY)
    async with memory_gate(till(tmp_path)) as gate, provider.stub([Fault(500)]) as stub:
        loop = provider.loop(stub.url, gate)
        with pytest.raises(LoopInterrupted):
            await loop.run("Pay.", MINE, on_event=print)
        events = list(stub.events(answer, stub.requests[0]))
        for count in range(len(events) - provider.ending_events + 1):
            stub.answer_next(Cut(answer, events=count, clean=clean))
            with pytest.raises(LoopInterrupted, match="asking the model"):
                await loop.run("Pay.", MINE, on_event=print)
        assert paid(tmp_path) == []
        stub.answer_next(answer, provider.says("Paid."))
        assert (await loop.run("Pay.", MINE, on_event=print)).text == "Paid."
    assert paid(tmp_path) == ["5 bob"]


async def test_events_are_handed_on_to_functions_that_await_and_their_failure_interrupts(provider: Provider):
    seen: list[object] = []

    async def take(event: object) -> None:
        await asyncio.sleep(0)
        seen.append(event)

    def fail(event: object) -> None:
        raise RuntimeError("no screen")

    async with memory_gate() as gate, provider.stub(lambda _: provider.says("Good day.")) as stub:
        loop = provider.loop(stub.url, gate)
        assert (await loop.run("Hello.", on_event=take)).text == "Good day."
        with pytest.raises(LoopInterrupted, match="RuntimeError"):
            await loop.run("Hello.", on_event=fail)
    assert seen
