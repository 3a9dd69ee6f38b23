"""What a canvas shows of the record: how calls stand now, the newest ones, and no secret known by then."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from callgate import Context, tool
from callgate.model.tool_context import ToolContext
from callgate.pipeline import past_calls
from callgate.tools.shipped.canvas_tools import drawing
from callgate.tools.shipped.canvas_tools.canvas import MOST_BYTES, MOST_PARTS, read_canvas
from tests.tools.shipped.test_canvas import drawn, export, gate_in

ME = Context(user="ann", session="s")


@tool(effects="system_state", scopes=[], risk="low", destructive=False)
async def hang(amount: int) -> str:
    """Pay, and never say so."""
    await asyncio.Event().wait()
    return f"{amount} paid"


@tool(effects="system_state", scopes=[], risk="high", destructive=False)
def pay() -> str:
    """Pay."""
    return "paid"


def call(number: int, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"call": str(number), "tool": "look", "args": {}, "status": "succeeded", "success": True}
    return {**told, "result": "x", "error": None, **more}


@pytest.mark.parametrize("graph", ["session", "failure"])
async def test_an_unknown_end_is_drawn_as_unknown(tmp_path: Path, graph: str) -> None:
    async with gate_in(tmp_path) as gate:
        gate.add(hang)
        assert (await gate.call("hang", {"amount": 5}, ME, timeout=0.2)).status == "unknown"
        [text], _ = drawn(tmp_path, await export(gate, ME, graph))
    assert "**hang** has an unknown end" in text
    assert "failed" not in text


@pytest.mark.parametrize(("happened", "shown"), [(True, "**hang**\n"), (False, "**hang** failed")])
async def test_what_a_person_resolved_is_drawn_as_that(tmp_path: Path, *, happened: bool, shown: str) -> None:
    asker = Context(user="ann", session="s", idempotency_key="k", trace_id=ME.trace_id)
    async with gate_in(tmp_path) as gate:
        gate.add(hang)
        assert (await gate.call("hang", {"amount": 5}, asker, timeout=0.2)).status == "unknown"
        await gate.resolve("k", asker, happened=happened, by="ann")
        texts, _ = drawn(tmp_path, await export(gate, ME, "session"))
    assert texts[0].startswith(shown)
    assert "unknown" not in texts[0]


async def test_what_waits_and_what_was_refused_is_drawn_too(tmp_path: Path) -> None:
    careful = Context(user="ann", session="s", autonomy="A1", trace_id=ME.trace_id)  # pyright: ignore[reportArgumentType]
    async with gate_in(tmp_path) as gate:
        gate.add(pay)
        waiting = await gate.call("pay", {}, careful)
        assert waiting.status == "pending"
        await gate.call("no_such_tool", {}, ME)
        before, _ = drawn(tmp_path, await export(gate, ME, "session"))
        await gate.reject(waiting.approval_id, by="ann")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        after, _ = drawn(tmp_path, await export(gate, ME, "session"))
    assert [text.partition("\n")[0] for text in before] == [
        "**pay** waits for a person",
        "**no_such_tool** was refused",
    ]
    assert after[0].startswith("**pay** was refused")


async def test_the_newest_calls_are_drawn_and_the_rest_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_calls, "_MOST_CALLS", 6)
    monkeypatch.setattr(past_calls, "_PAGE", 4)
    async with gate_in(tmp_path) as gate:
        for number in range(20):
            await gate.call("look", {"place": f"place {number}"}, ME)
        told = str((await gate.call("export_reasoning_canvas", {"graph_type": "session"}, ME)).unwrap())
        texts, _ = drawn(tmp_path, told.partition(":")[0])
    # The sixth is the export itself.
    assert [f"place {number} is fine" in text for number, text in enumerate(texts[:5], 15)] == [True] * 5
    assert texts[5].startswith("**15 older calls are not drawn**")
    assert told.endswith("15 older calls are not drawn")


async def test_what_others_did_in_the_trace_takes_nobodys_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_calls, "_MOST_CALLS", 3)
    async with gate_in(tmp_path) as gate:
        await gate.call("look", {"place": "mine"}, ME)
        for _ in range(9):
            await gate.call("look", {"place": "theirs"}, Context(user="bob", session="s", trace_id=ME.trace_id))
        texts, _ = drawn(tmp_path, await export(gate, ME, "session"))
    assert len(texts) == 1
    assert "mine is fine" in texts[0]


async def test_a_secret_that_was_handed_out_later_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "later-secret-of-the-door-77ab1c"
    monkeypatch.setenv("CALLGATE_SECRET_DOOR_KEY", secret)

    @tool(effects="read_only", scopes=[])
    def unlock(ctx: ToolContext) -> str:
        """Use the key."""
        return f"used {len(ctx.get_secret('door', 'key'))} characters"

    async with gate_in(tmp_path) as gate:
        gate.add(unlock)
        await gate.call("look", {"place": secret}, ME)
        (await gate.call("unlock", {}, ME)).unwrap()
        path = await export(gate, ME, "session")
    text = (tmp_path / path).read_text()
    assert "is fine" in text
    assert secret not in text


async def test_it_is_drawn_beside_the_event_loop(tmp_path: Path) -> None:
    entered: set[str] = set()

    async with gate_in(tmp_path) as gate:
        await gate.call("no_such_tool", {}, ME)
        before = sys.getprofile()
        sys.setprofile(lambda frame, _event, _arg: entered.add(Path(frame.f_code.co_filename).name))
        try:
            path = await export(gate, ME, "failure")
        finally:
            sys.setprofile(before)
    assert len(drawn(tmp_path, path)[0]) == 1
    assert "past_calls.py" in entered
    assert "drawing.py" not in entered


class Counted(list[dict[str, Any]]):
    """Calls that count how often one of them is looked at."""

    looked = 0

    def __iter__(self) -> Any:
        for each in super().__iter__():
            self.looked += 1
            yield each

    def __getitem__(self, place: Any) -> Any:
        found = cast("Any", super().__getitem__(place))
        self.looked += len(found) if isinstance(place, slice) else 1
        return found


def test_failures_of_a_long_trace_are_drawn_in_one_go() -> None:
    calls = Counted(call(n, tool=f"no_such_{n}", status="refused", success=False, error="no") for n in range(2000))
    canvas = drawing.failure_graph(calls, evidence=True)
    assert len(canvas.cards) == 2000
    assert calls.looked < 20 * len(calls)


@pytest.mark.parametrize("graph", ["session", "failure"])
def test_what_is_drawn_can_be_read_back_however_much_there_was(graph: str) -> None:
    calls = [call(n, status="failed", success=False, args="\U0001f600" * 700, error="no") for n in range(9000)]
    drawn = drawing.draw(graph, calls, evidence=True)
    canvas = read_canvas(drawn.content, "x")
    assert len(drawn.content) <= MOST_BYTES
    assert len(canvas.arrows) <= MOST_PARTS
    assert 1000 < len(canvas.cards) < 9000
    assert "8999" in "".join(canvas.cards)
    assert str(drawn.left_out) in canvas.cards["callgate-older"].text
    assert json.loads(drawn.content)["nodes"]
