"""The structured envelope: every outcome is a value, whichever form it is read in."""

import asyncio
from typing import Any

import pytest

from callgate import tool
from callgate.compat import ToolOutput
from callgate.model.context import Context
from callgate.model.levels import Autonomy
from callgate.model.outcome import Outcome
from callgate.runtime.gate import Callgate
from callgate.testing import memory_gate

KEYS = {"protocol_version", "ok", "status", "output", "side_effects_declared", "requires_approval", "metadata"}


@tool(effects="read_only")
async def echo(text: str) -> str:
    """Say it again."""
    return text


@tool(effects="read_only")
async def count(text: str) -> dict[str, int]:
    """Count letters and words."""
    return {"letters": len(text), "words": len(text.split())}


@tool(effects="read_only")
async def breaks() -> str:
    """Never ends well."""
    raise ValueError("no such thing")


@tool(effects="read_only", timeout=0.02)
async def hangs() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


@tool(effects=["modifies_files", "system_state"])
async def wipe(name: str) -> str:
    """Remove what cannot be brought back."""
    raise AssertionError(name)


@tool(scopes="records:erase")
async def erase() -> str:
    """Says what it needs, and not what it does."""
    raise AssertionError


def house() -> Callgate:
    return memory_gate(echo, count, breaks, hangs, wipe, erase)


CALLS: list[tuple[str, dict[str, Any], Context]] = [
    ("echo", {"text": "a b"}, Context()),
    ("count", {"text": "a b"}, Context()),
    ("breaks", {}, Context()),
    ("hangs", {}, Context()),
    ("echo", {}, Context()),
    ("nowhere", {}, Context()),
    ("echo", {"text": "a"}, Context(role="stranger")),
    ("wipe", {"name": "x"}, Context()),
    ("wipe", {"name": "x"}, Context(autonomy=Autonomy.A0)),
]


async def each_outcome() -> list[Outcome]:
    async with house() as gate:
        return [await gate.call(*call) for call in CALLS]


@pytest.mark.requirement("ERR-07")
async def test_the_machine_form_of_every_outcome_has_exactly_the_seven_keys():
    for outcome in await each_outcome():
        machine = ToolOutput.from_outcome(outcome).to_machine()
        assert machine.keys() == KEYS
        assert machine["protocol_version"] == 1
        assert machine["status"] in {"success", "error", "pending_approval"}
        assert machine == outcome.to_machine()


@pytest.mark.requirement("ERR-06")
async def test_every_error_is_a_value_with_its_text_refusals_and_bad_arguments_too():
    troubles = [outcome for outcome in await each_outcome() if outcome.status in {"failed", "refused", "previewed"}]
    assert len(troubles) == 6
    for outcome in troubles:
        output = ToolOutput.from_outcome(outcome)
        assert (output.ok, output.status) == (False, "error")
        assert isinstance(output.output, str)
        assert output.to_human() == f"[ERROR] {output.output}"
        if outcome.error is not None:
            assert output.output == outcome.error.message


async def test_a_success_is_its_output_in_both_forms():
    outcomes = await each_outcome()
    text, counted = (ToolOutput.from_outcome(outcome) for outcome in outcomes[:2])
    assert (text.ok, text.status, text.output, text.to_human()) == (True, "success", "a b", "a b")
    assert counted.output == {"letters": 3, "words": 2}
    assert counted.to_human() == str({"letters": 3, "words": 2})


async def test_both_human_forms_say_the_same():
    for outcome in await each_outcome():
        if outcome.status != "previewed":
            assert ToolOutput.from_outcome(outcome).to_human() == outcome.to_human()


@pytest.mark.requirement("APR-09")
async def test_the_human_text_names_what_waits_and_what_went_wrong():
    async with house() as gate:
        waiting = await gate.call("wipe", {"name": "x"})
        undeclared = await gate.call("erase", {})
        failed = await gate.call("breaks", {})
    for outcome, text in (
        (waiting, "[PENDING APPROVAL] Side effects: modifies_files, system_state"),
        (undeclared, "[PENDING APPROVAL] Side effects: none"),
        (failed, "[ERROR] no such thing"),
    ):
        assert outcome.to_human() == ToolOutput.from_outcome(outcome).to_human() == text


@pytest.mark.requirement("GATE-12")
@pytest.mark.parametrize("level", [Autonomy.A1, Autonomy.A2, Autonomy.A3])
async def test_a_destructive_call_is_pending_with_its_side_effects_in_whatever_form_it_is_read(level: Autonomy):
    async with house() as gate:
        outcome = await gate.call("wipe", {"name": "x"}, Context(autonomy=level))
        output = ToolOutput.from_outcome(outcome)
        (question,) = await gate.approvals()
    assert outcome.status == "pending"
    assert (output.ok, output.status, output.requires_approval, output.output) == (True, "pending_approval", True, None)
    assert output.side_effects_declared == ["modifies_files", "system_state"]
    assert output.metadata["approval_id"] == question.id


@pytest.mark.requirement("GATE-12")
async def test_a_destructive_call_of_low_risk_is_pending_too_below_full_autonomy():
    @tool(effects="system_state", risk="low", destructive=True)
    async def tidy() -> str:
        """Throw away what nobody misses."""
        return "tidied"

    async with memory_gate(tidy) as gate:
        assert (await gate.call("tidy", {}, Context(autonomy=Autonomy.A3))).status == "pending"
        assert (await gate.call("tidy", {}, Context(autonomy=Autonomy.A4))).unwrap() == "tidied"


def test_an_envelope_made_by_hand_is_a_success_without_output():
    assert ToolOutput().to_machine() == {
        "protocol_version": 1,
        "ok": True,
        "status": "success",
        "output": None,
        "side_effects_declared": [],
        "requires_approval": False,
        "metadata": {},
    }
