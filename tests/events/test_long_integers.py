"""A number longer than any reader of JSON takes is marked in the record, and never makes the record unreadable."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import ToolContext, tool
from callgate.events import chain
from callgate.events.evidence import verify_evidence
from callgate.events.recordable import read_back, recordable_bytes
from callgate.events.verify import verify_store
from callgate.model.canonical import NotCanonical, dumps, loads
from callgate.pipeline.recorded import json_form, view
from callgate.runtime.gate import Callgate
from tests.events.offices import Office
from tests.events.stories import HouseKeys, Story, record
from tests.journeys.gates import gate_of

LONG = 10**400
MARK = {"unrecordable": "an integer of 401 digits"}


@given(st.integers(0, 6000), st.integers(-9, 9), st.sampled_from([1, -1]))
def test_whatever_the_length_what_is_written_can_be_read(digits: int, offset: int, sign: int):
    number = sign * (10**digits + offset)
    body = recordable_bytes({"a": [number], "b": "kept"})
    again = read_back(body)
    assert again["b"] == "kept"
    assert recordable_bytes(again) == body
    kept = abs(number) < 10**308
    assert (again["a"] == [number]) is kept
    assert again == {"a": [json_form(number)], "b": "kept"}
    assert read_back(recordable_bytes(view({"a": [number]}))) == json_form({"a": [number]}) == {"a": again["a"]}


def test_only_the_number_is_marked_also_as_a_key_and_deep_inside():
    value: dict[Any, Any] = {"x": [{"y": -LONG}, 2**70], LONG: 1}
    assert read_back(recordable_bytes(value)) == {"x": [{"y": MARK}, 2**70], "<int>": 1}
    assert read_back(recordable_bytes(view(10**5000))) == {"unrecordable": "an integer of 5001 digits"}
    assert json_form(True) is True


def test_the_canonical_form_says_no_to_what_python_does_not_spell():
    assert loads(dumps(LONG)) == LONG
    with pytest.raises(NotCanonical, match="more digits"):
        dumps([10**5000])
    with pytest.raises(NotCanonical):
        loads(b"1" * 5000)


def test_what_an_older_record_holds_is_read_as_it_is_and_beyond_the_limit_of_python_marked():
    assert read_back(dumps({"n": LONG})) == {"n": LONG}
    assert read_back(b'{"n":-' + b"7" * 5000 + b"}") == {"n": {"unrecordable": "an integer of 5000 digits"}}
    with pytest.raises(ValueError, match="line 1"):
        read_back(b"{")


async def test_a_store_that_already_holds_a_long_number_verifies_exports_and_lists(
    office: Office, keys: HouseKeys, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as before:
        before.setattr(chain, "recordable_bytes", dumps)
        story = Story()
        await record(office.store, story.attempted(arguments={"n": LONG}), story.succeeded(LONG))
    report = await verify_store(office.store, public_keys=keys.public_keys)
    assert report.ok, report.problems
    shown = await office.store.read(lambda reader: reader.events(call=story.call))
    assert [event.payload.get("output") for event in shown if event.payload] == [None, LONG]
    assert verify_evidence(await office.pack("all.zip"), public_keys=keys.public_keys).ok


@tool(effects="system_state", risk="low", idempotent=True)
async def measure(kind: str, context: ToolContext) -> Any:
    """Measure something far away."""
    if kind == "progress":
        context.progress(LONG, "far away")
    return {"distance": LONG} if kind == "output" else 1


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/gate.db"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("measure", {"kind": "output"}),
        ("measure", {"kind": "progress"}),
        ("measure", {"kind": LONG}),
        ("nothing_like_it", {"kind": 10**5000}),
    ],
)
async def test_a_call_with_a_long_number_leaves_a_readable_record(
    tmp_path: Path, url: str, name: str, arguments: dict[str, Any]
):
    async with gate_of(measure, store=url.format(tmp_path)) as gate:
        outcome = await gate.call(name, arguments)
        assert outcome.status in {"succeeded", "refused"}
        if outcome.ok:
            again = await gate.outcome(outcome.key or "")
            assert again is not None
            assert again.output == ({"distance": MARK} if arguments["kind"] == "output" else 1)
        await asyncio.wait_for(_read_all(gate, tmp_path / "evidence.zip"), 30)


async def _read_all(gate: Callgate, evidence: Path) -> None:
    assert await gate.newest_events(100)
    await gate.calls()
    await gate.usage()
    await gate.rebuild()
    await gate.export_evidence(evidence)
    assert verify_evidence(evidence).ok
    report = await gate.verify_audit()
    assert report.ok, report.problems
