"""What a person changed in a canvas is told, wherever in it they changed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools.shipped.test_canvas import gate_in

LONG = "The plan, step by step. " * 2000
CARDS = {"a": "the cache is stale", "b": "delete the cache", "c": "ask the owner first"}
ARROW = {"id": "1", "fromNode": "a", "toNode": "b", "label": "so"}


async def told(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What a comparison of two canvases tells."""
    for name, body in (("before", before), ("now", now)):
        (folder / f"{name}.canvas").write_text(json.dumps(body))
    async with gate_in(folder) as gate:
        paths = {"canvas_path": "now.canvas", "baseline_path": "before.canvas"}
        found = json.loads((await gate.call("import_canvas_edits", paths)).unwrap())
    assert found["status"] == "ok"
    return found


def canvas(cards: dict[str, str], *arrows: dict[str, Any]) -> dict[str, Any]:
    return {"nodes": [{"id": name, "type": "text", "text": text} for name, text in cards.items()], "edges": arrows}


async def corrected(folder: Path, before: str, now: str) -> dict[str, Any]:
    [found] = (await told(folder, canvas({"a": before}), canvas({"a": now})))["constraints"]
    assert found["kind"] == "corrected"
    return found


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param({"toNode": "c"}, "the cache is stale → so → ask the owner first", id="led-elsewhere"),
        pytest.param({"fromNode": "b", "toNode": "a"}, "delete the cache → so → the cache is stale", id="turned-round"),
        pytest.param({"label": "do NOT"}, "the cache is stale → do NOT → delete the cache", id="said-otherwise"),
        pytest.param(
            {"fromEnd": "arrow", "toEnd": "none"}, "the cache is stale ← so ← delete the cache", id="head-at-the-start"
        ),
        pytest.param({"fromEnd": "arrow"}, "the cache is stale ↔ so ↔ delete the cache", id="two-heads"),
        pytest.param({"toEnd": "none"}, "the cache is stale — so — delete the cache", id="no-head"),
    ],
)
async def test_an_arrow_that_a_person_changed_is_told(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    found = await told(tmp_path, canvas(CARDS, ARROW), canvas(CARDS, ARROW | changed))
    was = "the cache is stale → so → delete the cache"
    assert found["constraints"] == [{"kind": "relinked", "text": said, "before": was}]
    assert found["changes_summary"]["links_changed"] == 1


async def test_an_arrow_that_only_lies_elsewhere_is_no_edit(tmp_path: Path) -> None:
    moved = ARROW | {"fromSide": "left", "toSide": "top", "toEnd": "arrow", "fromEnd": "none"}
    found = await told(tmp_path, canvas(CARDS, ARROW), canvas(CARDS, moved))
    assert found["constraints"] == []
    assert found["changes_summary"]["links_changed"] == 0


async def test_of_a_long_card_the_part_that_was_corrected_is_told(tmp_path: Path) -> None:
    found = await corrected(tmp_path, f"{LONG}Then deploy. {LONG}", f"{LONG}Then do NOT deploy, ask Ann. {LONG}")
    assert "step. Then do NOT deploy, ask Ann. The plan" in found["text"]
    assert "step. Then deploy. The plan" in found["before"]
    assert len(found["text"]) < 300
    assert (found["text"][0], found["text"][-1]) == ("…", "…")


@pytest.mark.parametrize(("first", "last"), [("", "Ask Ann."), ("Ask Ann. ", "")], ids=["at-the-end", "at-the-start"])
async def test_what_was_put_at_an_end_of_a_long_card_is_told(tmp_path: Path, first: str, last: str) -> None:
    found = await corrected(tmp_path, LONG, f"{first}{LONG}{last}")
    assert "Ask Ann." in found["text"]
    assert "Ask Ann." not in found["before"]


async def test_of_corrections_far_apart_both_are_told_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    found = await corrected(tmp_path, LONG, f"Only on Monday. {LONG} Ask Ann.")
    assert "Only on Monday." in found["text"]
    assert "Ask Ann." in found["text"]
    assert "characters are not told" in found["text"]


async def test_a_note_that_was_added_is_told_to_its_end(tmp_path: Path) -> None:
    note = f"{LONG[:2000]} Do NOT deploy."
    [found] = (await told(tmp_path, canvas({}), canvas({"n": note})))["constraints"]
    assert found == {"kind": "added", "text": " ".join(note.split())}
