"""Handlers, callers and previews that do what they should not: the record and the promise stand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from callgate import Callgate, Context, Failed, Pending, Refused, ToolContext, Unknown, tool
from callgate.errors import OutcomeNotFound
from callgate.model.layer import ConfirmBy, Layer, Rule
from callgate.model.levels import Autonomy, Verdict
from callgate.model.tool import Preview
from callgate.settings.values import Settings
from callgate.testing import ScriptedApprover
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)


def code(outcome: Any) -> str:
    assert outcome.error is not None
    return outcome.error.code


class Abort(BaseException):
    """More than an exception."""


@pytest.mark.parametrize("raised", [Abort, KeyboardInterrupt, GeneratorExit, StopIteration, asyncio.CancelledError])
@pytest.mark.parametrize("kind", ["read", "effect", "plain"])
async def test_whatever_a_handler_raises_ends_its_own_call_and_is_recorded_once(
    kind: str, raised: type[BaseException]
) -> None:
    effects = "read_only" if kind == "read" else "system_state"

    async def work(number: int) -> int:
        raise raised

    def plain(number: int) -> int:
        raise raised

    function = plain if kind == "plain" else work
    async with gate_of(config=FREE) as gate:
        gate.add(function, name="work", description="Break.", effects=effects, risk="low")
        outcome = await gate.call("work", {"number": 1})
        assert isinstance(outcome, Failed | Unknown)
        closing = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert len(closing) == 2


async def test_only_a_judged_call_is_settled_by_a_report() -> None:
    @tool(effects="network_access", risk="low")
    async def send(text: str) -> str:
        """Send; the answer is lost."""
        raise ConnectionResetError

    async with gate_of(send, config=FREE) as gate:
        lost = await gate.call("send", {"text": "x"}, Context(idempotency_key="k"))
        assert isinstance(lost, Unknown)
        with pytest.raises(OutcomeNotFound, match="no judged call"):
            await gate.report(lost.call_id, ok=False)
        assert isinstance(await gate.outcome("k"), Unknown)


async def test_a_call_without_a_key_goes_on_under_the_key_of_its_unknown_if_that_is_harmless() -> None:
    keys: list[str | None] = []

    @tool(effects="system_state", risk="low", idempotent=True)
    async def charge(amount: int, ctx: ToolContext) -> str:
        """Charge; the other side knows a key again."""
        keys.append(ctx.key)
        if len(keys) < 4:
            raise ConnectionResetError
        return "charged"

    async with gate_of(charge, config=FREE) as gate:
        assert isinstance(await gate.call("charge", {"amount": 5}), Unknown)
        assert code(await gate.call("charge", {"amount": 5}, Context(idempotency_key="other"))) == "outcome_unknown"
        assert (await gate.call("charge", {"amount": 5})).ok
    assert len(set(keys)) == 1


def test_narrowing_only_narrows() -> None:
    with pytest.raises(ValueError, match="caller"):
        Context().narrow(caller="chain")
    with pytest.raises(ValueError, match="working_directory"):
        Context().narrow(working_directory="/")
    ceiling = Context().narrow(autonomy="A1")
    assert ceiling.autonomy is None
    assert ceiling.layers[-1].max_autonomy is Autonomy.A1


async def test_an_autonomy_set_over_the_configured_one_is_a_ceiling() -> None:
    @tool(effects="system_state", risk="medium")
    async def save(text: str) -> str:
        """Save."""
        return "saved"

    async with gate_of(save) as gate:
        assert isinstance(await gate.call("save", {"text": "x"}, Context().narrow(autonomy="A4")), Pending)


async def test_who_has_to_confirm_may_tighten_after_somebody_did() -> None:
    @tool(effects="system_state", risk="high")
    async def save(text: str) -> str:
        """Save."""
        return "saved"

    ann = Context(user="ann")
    rule = Layer(name="later", rules=(Rule(match="save", verdict=Verdict.CONFIRM, by=ConfirmBy.OTHER),))
    async with gate_of(save) as gate:
        pending = await gate.call("save", {"text": "x"}, ann)
        assert isinstance(pending, Pending)
        await gate.approve(pending.approval_id, by="ann")
        again = await gate.call("save", {"text": "x"}, Context(user="ann", layers=(rule,)))
        assert isinstance(again, Pending)
        assert again.approval_id != pending.approval_id


async def test_a_preview_that_calls_the_gate_may_only_read() -> None:
    done: list[str] = []
    answers: list[Any] = []

    async def preview(arguments: dict[str, Any], context: ToolContext) -> str:
        answers.append(await gate.call("save", {"text": "from a preview"}, Context(autonomy=Autonomy.A4)))
        answers.append(await gate.call("look", {"text": "x"}))
        return "shown"

    @tool(effects="system_state", risk="low")
    async def save(text: str) -> str:
        """Save."""
        done.append(text)
        return "saved"

    @tool(effects="read_only")
    async def look(text: str) -> str:
        """Look."""
        return text

    @tool(effects="system_state", risk="low", preview=preview)
    async def publish(text: str) -> str:
        """Publish."""
        done.append(text)
        return "published"

    async with gate_of(save, look, publish) as gate:
        await gate.call("publish", {"text": "x"}, Context(autonomy=Autonomy.A0))
        assert code(answers[0]) == "policy_denied"
        assert answers[1].ok
    assert done == []


class Broken(Mapping[str, Any]):
    """A mapping that breaks when it is looked at."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("closed")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("closed")

    def __len__(self) -> int:
        return 1


async def test_values_that_break_when_looked_at_break_neither_the_call_nor_its_record() -> None:
    @tool(effects="system_state", risk="low")
    async def give() -> Any:
        """Give something broken."""
        return Broken()

    async with gate_of(give, config=FREE) as gate:
        assert code(await gate.call("give", Broken())) == "invalid_arguments"
        outcome = await gate.call("give", {})
        assert isinstance(outcome, Failed)
        assert outcome.happened.value == "done"
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.refused", "tool_call.attempted", "tool_call.failed"]


@pytest.mark.parametrize("name", [None, b"x", ["x"], {"x": 1}, 5, "\ud800", "", "x" * 10_000])
async def test_any_tool_name_gets_an_answer(name: Any) -> None:
    async with gate_of() as gate:
        assert code(await gate.call(name, {})) == "tool_not_found"
        assert [event.type async for event in gate.events(types=["tool_call.*"])] == ["tool_call.refused"]


@pytest.mark.parametrize("wait", ["60", float("nan"), -1, 10**400, True])
async def test_an_odd_wait_is_refused(wait: Any) -> None:
    @tool(effects="system_state", risk="high")
    async def save(text: str) -> str:
        """Save."""
        return "saved"

    async with gate_of(save) as gate:
        assert code(await gate.call("save", {"text": "x"}, wait=wait)) == "invalid_arguments"


@pytest.mark.parametrize(
    "odd",
    [
        {"timeout": float("inf")},
        {"timeout": float("nan")},
        {"intent": "\ud800"},
        {"step_id": b"x"},
        {"session": ""},
        {"principal": "x" * 513},
        {"idempotency_key": ""},
        {"chain_index": -1},
    ],
)
def test_an_odd_context_is_refused_when_it_is_made(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(odd))):
        Context(**odd)


def test_a_path_may_be_a_working_directory(tmp_path: Path) -> None:
    assert Context(working_directory=tmp_path).working_directory == str(tmp_path)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("sync", [False, True])
async def test_a_preview_begins_no_effect(tmp_path: Path, sync: bool) -> None:
    """A tool that shares its code with its preview."""
    witness = tmp_path / "witness"

    async def write(ctx: ToolContext) -> None:
        async with ctx.effect():
            witness.write_text("written")

    def write_sync(ctx: ToolContext) -> None:
        with ctx.effect_sync():
            witness.write_text("written")

    work: Any = write_sync if sync else write

    def preview(_arguments: dict[str, Any], ctx: ToolContext) -> Any:
        return work(ctx)

    @tool(effects="modifies_files", risk="high", preview=preview)
    async def act(ctx: ToolContext) -> None:
        """Act."""
        await write(ctx)

    async with gate_of(act) as gate:
        shown = await gate.call("act", {}, Context(autonomy=Autonomy.A0))
        assert shown.status == "previewed"
        assert "the preview failed" in str(shown)
    assert not witness.exists()


@pytest.mark.parametrize("sync", [False, True])
async def test_a_check_makes_no_effect_through_the_gate(tmp_path: Path, sync: bool) -> None:
    witness, gates, told = tmp_path / "witness", list[Callgate](), list[Any]()
    loop = asyncio.get_running_loop()

    @tool(effects="system_state", risk="low", concurrency_safe=True)
    async def count() -> str:
        """Count."""
        witness.write_text("counted")
        return "counted"

    @tool(effects="read_only")
    async def look() -> str:
        """Look."""
        return "seen"

    async def check(_arguments: dict[str, Any], context: Context) -> None:
        told.extend([await gates[0].call("count", {}, context), await gates[0].call("look", {}, context)])

    def check_sync(arguments: dict[str, Any], context: Context) -> None:
        asyncio.run_coroutine_threadsafe(check(arguments, context), loop).result(10)

    @tool(effects="system_state", risk="low", check=check_sync if sync else check)
    async def act() -> str:
        """Act."""
        return "ok"

    async with gate_of(count, look, act, config=Settings(autonomy=Autonomy.A4)) as gate:
        gates.append(gate)
        await gate.explain("act", {})
        assert (await gate.call("act", {})).ok
    assert not witness.exists()
    refused, seen = told[:2]
    assert "a preview or a check of act, or of what calls it, may only read" in refused.error.message
    assert seen.output == "seen"


@pytest.mark.parametrize("effects", [["system_state"], ["read_only", "network_access"]])
@pytest.mark.parametrize("hook", ["check", "preview"])
async def test_nor_does_what_a_check_or_a_preview_reads(hook: str, effects: list[str]) -> None:
    gates, sent, told = list[Callgate](), list[str](), list[Any]()

    @tool(effects=effects, risk="low")
    async def send() -> str:
        """Send."""
        sent.append("sent")
        return "sent"

    @tool(effects="read_only")
    async def look() -> str:
        """Look, and tell somebody."""
        told.append(await gates[0].call("send", {}))
        return "seen"

    @tool(effects="read_only")
    async def ask() -> Any:
        """Have somebody look."""
        return (await gates[0].call("look", {})).output

    async def hooked(_arguments: dict[str, Any], _context: Any) -> Any:
        assert (await gates[0].call("ask", {})).output == "seen"
        return None if hook == "check" else Preview(text="would act")

    @tool(effects="system_state", risk="low", **cast("Any", {hook: hooked}))
    async def act() -> str:
        """Act."""
        return "ok"

    async with gate_of(send, look, ask, act, config=Settings(autonomy=Autonomy.A4)) as gate:
        gates.append(gate)
        await (gate.explain("act", {}) if hook == "check" else gate.call("act", {}, Context(autonomy=Autonomy.A0)))
        assert (await gate.call("look", {})).ok
    assert sent == ["sent"]
    assert "may only read" in told[0].error.message


async def test_the_state_of_a_preview_is_bound_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def preview(arguments: dict[str, Any], context: ToolContext) -> Preview:
        return Preview(text="would save", state="the-secret-etag-of-the-page")

    @tool(effects="system_state", risk="high", preview=preview)
    async def save(text: str) -> str:
        """Save."""
        return "saved"

    async with gate_of(save) as gate:
        pending = await gate.call("save", {"text": "x"})
        assert isinstance(pending, Pending)
        approval = await gate.approval(pending.approval_id)
        assert approval.preview_state is not None
        assert "secret-etag" not in repr(approval)
        await gate.approve(pending.approval_id, by="ann")
        assert (await gate.resume(pending.approval_id)).ok


async def test_somebody_who_asks_and_breaks_leaves_the_question_open() -> None:
    def break_(approval: Any) -> str:
        raise RuntimeError("no screen")

    @tool(effects="system_state", risk="high")
    async def save(text: str) -> str:
        """Save."""
        return "saved"

    async with gate_of(save, ask=ScriptedApprover(decide=break_)) as gate:
        assert isinstance(await gate.call("save", {"text": "x"}), Pending)


async def test_an_answer_that_does_not_count_is_told_and_leaves_the_question_open() -> None:
    @tool(effects="system_state", risk="critical")
    async def wipe() -> str:
        """Erase everything."""
        return "gone"

    from callgate.model.levels import Assurance  # noqa: PLC0415

    script = ScriptedApprover("approve", assurance=Assurance.ASSERTED)
    async with gate_of(wipe, ask=script) as gate:
        outcome = await gate.call("wipe", {})
        assert isinstance(outcome, Pending | Refused)
        assert len(script.told) == 1
        assert "stays pending" in script.told[0]


class Exits(Exception):
    """Ends the process when it is shown, or asked for anything."""

    def __str__(self) -> str:
        raise SystemExit

    @property
    def retryable(self) -> bool:
        raise SystemExit

    resets_at = status_code = retryable


class Far(Exception):
    """Says that a limit ends later than any clock can tell."""

    resets_at = 10**400


@pytest.mark.parametrize("raised", [Exits, Far])
@pytest.mark.parametrize("effects", ["read_only", "system_state"])
async def test_an_exception_that_breaks_whoever_looks_at_it_is_recorded_like_any_other(
    effects: str, raised: type[Exception]
) -> None:
    @tool(effects=effects, risk="low")
    async def work() -> str:
        """Break."""
        raise raised

    async with gate_of(work, config=FREE) as gate:
        outcome = await gate.call("work", {}, Context(idempotency_key="k"))
        assert isinstance(outcome, Failed)
        assert outcome.error is not None
        assert outcome.error.message == f"work failed unexpectedly ({raised.__name__})"
        assert [event.type async for event in gate.events(types=["tool_call.*"])][1:] == ["tool_call.failed"]


class Leaves:
    """Ends the process when it is looked at."""

    def model_dump(self, **_options: Any) -> Any:
        raise SystemExit

    __str__ = __repr__ = __bool__ = model_dump  # pyright: ignore[reportAssignmentType]


async def test_an_output_that_ends_whoever_looks_at_it_ends_its_own_call() -> None:
    def redact(output: Any) -> Any:
        raise SystemExit

    async def give() -> Any:
        return Leaves()

    async def plain() -> str:
        return "fine"

    async with gate_of(config=FREE) as gate:
        gate.add(give, description="Give.", effects="system_state", risk="low")
        gate.add(plain, description="Give.", effects="system_state", risk="low", redact=redact)
        outcome = await gate.call("give", {})
        assert isinstance(outcome, Failed)
        assert outcome.happened.value == "done"
        assert (await gate.call("plain", {})).output == "fine"
        told = [event async for event in gate.events(types=["tool_call.failed", "tool_call.succeeded"])]
        assert [event.type for event in told] == ["tool_call.failed", "tool_call.succeeded"]
        assert told[1].payload is not None
        assert told[1].payload["output"] == "<redact failed: SystemExit>"
