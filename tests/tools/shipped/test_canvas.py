"""The canvas plugin, attached and called like any plugin: what is drawn, what is read back, and where it may go."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, tool
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy, Origin
from callgate.model.outcome import Refused
from callgate.model.tool_context import ToolContext
from callgate.settings.values import Settings

TOOLS = ["export_reasoning_canvas", "import_canvas_edits", "list_canvases"]
SECRET = "canvas-secret-value-5c1e77d0"


@tool(effects="read_only")
def look(place: str) -> str:
    """Look somewhere."""
    if place == "nowhere":
        raise ValueError("there is nothing to see")
    return f"{place} is fine"


@asynccontextmanager
async def gate_in(folder: Path, *enable: str) -> AsyncGenerator[Callgate]:
    settings = Settings(autonomy=Autonomy.A4)
    named = enable or ["canvas_tools", "threads"]
    gate = Callgate.open("memory://", settings, working_directory=folder, builtin_tools=named)
    gate.add(look)
    async with gate:
        yield gate


async def work(gate: Callgate, context: Context) -> None:
    """A little session: looking, thinking, failing, trying again."""
    await gate.call("look", {"place": "shelf"}, context)
    await gate.call("thread_push", {"thread_id": "t", "content": "It is on the shelf."}, context)
    await gate.call("look", {"place": "nowhere"}, context)
    await gate.call("look", {"place": "cellar"}, context)
    await gate.call("thread_push", {"thread_id": "t", "content": "Cellar.", "entry_type": "decision"}, context)


async def export(gate: Callgate, context: Context, graph: str, **more: Any) -> str:
    told = (await gate.call("export_reasoning_canvas", {"graph_type": graph, **more}, context)).unwrap()
    return str(told).partition(":")[0]


def drawn(folder: Path, path: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The texts of the cards, and the links between them by their first words."""
    body = json.loads((folder / path).read_text())
    texts = {node["id"]: node["text"] for node in body["nodes"]}
    links = [(texts[e["fromNode"]][:20], e.get("label", ""), texts[e["toNode"]][:20]) for e in body["edges"]]
    return list(texts.values()), links


def named(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern) if folder == Path("/tmp") else folder.rglob(pattern))


async def test_it_is_a_plugin_among_the_built_in_tools(tmp_path: Path) -> None:
    async with gate_in(tmp_path) as gate:
        assert sorted(t.name for t in gate.tools() if t.source is Origin.PLUGIN) == TOOLS
        [state] = gate.plugins()
        assert (state.name, state.accepted, state.fault) == ("canvas_tools", True, None)
        await gate.disable_plugin("canvas_tools")
        assert isinstance(await gate.call("list_canvases"), Refused)


async def test_who_names_one_of_its_tools_gets_that_one(tmp_path: Path) -> None:
    async with gate_in(tmp_path, "list_canvases") as gate:
        assert [t.name for t in gate.tools() if t.source is Origin.PLUGIN] == ["list_canvases"]


async def test_one_whose_name_is_taken_is_an_error_where_it_was_named(tmp_path: Path) -> None:
    def list_canvases() -> str:
        """Mine."""
        return "mine"

    gate = Callgate.open("memory://", working_directory=tmp_path, builtin_tools=["list_canvases"])
    gate.add(list_canvases, effects="read_only")
    with pytest.raises(ConfigurationError, match="list_canvases"):
        await gate.__aenter__()


async def test_a_session_is_drawn_call_by_call(tmp_path: Path) -> None:
    context = Context()
    async with gate_in(tmp_path) as gate:
        await work(gate, context)
        path = await export(gate, context, "session")
    texts, links = drawn(tmp_path, path)
    assert path.startswith("canvases/session-")
    assert len(texts) == 5
    assert "shelf is fine" in texts[0]
    assert "there is nothing to see" in texts[2]
    assert [label for _, label, _ in links] == ["then"] * 4


async def test_thoughts_are_drawn_with_their_evidence(tmp_path: Path) -> None:
    context = Context()
    async with gate_in(tmp_path) as gate:
        await work(gate, context)
        with_it = drawn(tmp_path, await export(gate, context, "hypothesis"))
        without = drawn(tmp_path, await export(gate, context, "hypothesis", include_evidence=False))
    assert without[0] == ["**thought** (t)\n\nIt is on the shelf.", "**decision** (t)\n\nCellar."]
    assert without[1] == [("**thought** (t)\n\nIt ", "leads to", "**decision** (t)\n\nCe")]
    assert sorted(label for _, label, _ in with_it[1]) == ["evidence", "evidence", "evidence", "leads to"]


async def test_failures_are_drawn_with_what_came_before_and_the_next_try(tmp_path: Path) -> None:
    context = Context()
    async with gate_in(tmp_path) as gate:
        await work(gate, context)
        texts, links = drawn(tmp_path, await export(gate, context, "failure"))
    assert [label for _, label, _ in links] == ["before", "before", "tried again"]
    assert sum("failed" in text for text in texts) == 1


async def test_what_others_did_under_the_same_trace_is_not_drawn(tmp_path: Path) -> None:
    own = Context()
    async with gate_in(tmp_path) as gate:
        for other in (
            Context(principal="other", trace_id=own.trace_id),
            Context(session="other", trace_id=own.trace_id),
            Context(user="eve", trace_id=own.trace_id),
            Context(),
        ):
            await gate.call("look", {"place": "their drawer"}, other)
        await gate.call("look", {"place": "my drawer"}, own)
        texts, _ = drawn(tmp_path, await export(gate, own, "session"))
    assert len(texts) == 1
    assert "my drawer" in texts[0]


async def test_secrets_are_struck_from_what_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_SECRET_CANVAS_KEY", SECRET)
    context = Context()

    @tool(effects="read_only")
    def leak(ctx: ToolContext) -> str:
        """Say a secret."""
        return f"it is {ctx.get_secret('canvas', 'key')}"

    async with gate_in(tmp_path) as gate:
        gate.add(leak)
        await gate.call("leak", {}, context)
        path = await export(gate, context, "session")
    assert SECRET not in (tmp_path / path).read_text()


async def test_a_tool_that_does_not_declare_it_sees_no_record(tmp_path: Path) -> None:
    async def peek(ctx: ToolContext) -> int:
        """Look at the record."""
        return len(await ctx.recorded())

    async with gate_in(tmp_path) as gate:
        gate.add(peek, effects="read_only")
        outcome = await gate.call("peek")
    assert not outcome.ok


async def test_an_edited_canvas_is_told_as_constraints(tmp_path: Path) -> None:
    context = Context()
    async with gate_in(tmp_path) as gate:
        await work(gate, context)
        path = await export(gate, context, "hypothesis", include_evidence=False)
        before = await export(gate, context, "hypothesis", include_evidence=False, output_path="before.canvas")
        body = json.loads((tmp_path / path).read_text())
        first, second = body["nodes"]
        second["text"] = "Attic."
        body["nodes"] = [second, {"id": "a1", "type": "text", "text": "Never ask Ann.", "x": 0, "y": 0}]
        body["edges"] = [{"id": "e1", "fromNode": "a1", "toNode": second["id"], "label": "about"}]
        (tmp_path / path).write_text(json.dumps(body))
        told = json.loads(
            (await gate.call("import_canvas_edits", {"canvas_path": path, "baseline_path": before})).unwrap()
        )
        alone = json.loads((await gate.call("import_canvas_edits", {"canvas_path": path})).unwrap())
    assert told["status"] == "ok"
    assert [(each["kind"], each["text"][:30]) for each in told["constraints"]] == [
        ("added", "Never ask Ann."),
        ("rejected", "**thought** (t) It is on the s"),
        ("corrected", "Attic."),
        ("linked", "Never ask Ann. → about → Attic"),
        ("unlinked", "**thought** (t) It is on the s"),
    ]
    assert told["changes_summary"]["cards_removed"] == 1
    assert [each["kind"] for each in alone["constraints"]] == ["added", "linked"]
    assert first["id"].startswith("callgate-")


async def test_canvases_are_listed_newest_first_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    context = Context()
    async with gate_in(tmp_path) as gate:
        assert json.loads((await gate.call("list_canvases")).unwrap()) == {"status": "ok", "canvases": []}
        await work(gate, context)
        old = await export(gate, context, "session", output_path="canvases/old.canvas")
        new = await export(gate, context, "failure", output_path="canvases/new.canvas")
        os.utime(tmp_path / old, (1, 1))
        (tmp_path / "canvases" / "broken.canvas").write_text("{")
        (tmp_path / "canvases" / "other.txt").write_text("{}")
        (tmp_path / "canvases" / "link.canvas").symlink_to("/etc/passwd")
        listed = json.loads((await gate.call("list_canvases")).unwrap())["canvases"]
    assert [each["path"] for each in listed] == [new, old]
    assert (listed[1]["name"], listed[1]["nodes"], listed[1]["edges"]) == ("old", 5, 4)


async def test_one_whose_name_is_no_text_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "canvases").mkdir()
    for name in (b"good.canvas", b"bad\xff.canvas"):
        (tmp_path / "canvases" / os.fsdecode(name)).write_text("{}")
    async with gate_in(tmp_path) as gate:
        listed = json.loads((await gate.call("list_canvases")).unwrap())["canvases"]
    assert [each["name"] for each in listed] == ["good"]


async def test_of_very_many_canvases_the_newest_are_listed_and_the_rest_is_counted(tmp_path: Path) -> None:
    (tmp_path / "canvases").mkdir()
    for number in range(503):
        file = tmp_path / "canvases" / f"{number:03}.canvas"
        file.write_text("{}")
        os.utime(file, (number, number))
    async with gate_in(tmp_path) as gate:
        told = json.loads((await gate.call("list_canvases")).unwrap())
    assert [each["name"] for each in told["canvases"]] == [f"{number:03}" for number in range(502, 2, -1)]
    assert told["message"] == "3 older ones are not listed"


async def test_half_a_character_in_a_card_does_not_hide_the_others(tmp_path: Path) -> None:
    texts = ["half \ud800 letter", "do not deploy", [["no text"]]]
    nodes = [{"id": f"\udfff{number}", "text": text} for number, text in enumerate(texts)]
    edges = [{"id": "e", "fromNode": "\udfff0", "toNode": "\udfff1", "label": "\ud800"}]
    (tmp_path / "x.canvas").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    async with gate_in(tmp_path) as gate:
        told = json.loads((await gate.call("import_canvas_edits", {"canvas_path": "x.canvas"})).unwrap())
    assert [each["text"] for each in told["constraints"]] == [
        "half ? letter",
        "do not deploy",
        "half ? letter → ? → do not deploy",
    ]


async def test_a_canvas_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.canvas").write_text("mine")
    async with gate_in(tmp_path) as gate:
        outcome = await gate.call("export_reasoning_canvas", {"output_path": "mine.canvas"})
    assert not outcome.ok
    assert "already" in outcome.to_human()
    assert (tmp_path / "mine.canvas").read_text() == "mine"
    assert named(tmp_path, "*.tmp") == []


@pytest.mark.parametrize(
    "path",
    ["../out.canvas", "/tmp/callgate-out.canvas", "link/out.canvas", ".git/x.canvas", ".callgate/x.canvas", "a.json"],
)
async def test_it_goes_nowhere_it_may_not(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    async with gate_in(folder) as gate:
        outcome = await gate.call("export_reasoning_canvas", {"output_path": path})
    assert not outcome.ok, outcome
    assert named(tmp_path, "*.canvas") == []
    assert named(Path("/tmp"), "callgate-out.canvas") == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"nodes": {}}',
        b'{"nodes": [{"id": 1}]}',
        b'{"nodes": [], "edges": [{"id": "e"}]}',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"nodes": [' + b",".join(b'{"id": "n%d"}' % n for n in range(20_001)) + b"]}",
    ],
    ids=["empty", "list", "nodes", "id", "edge", "deep", "bytes", "many"],
)
async def test_a_hostile_canvas_is_an_error_in_words(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.canvas").write_bytes(content)
    async with gate_in(tmp_path) as gate:
        told = json.loads((await gate.call("import_canvas_edits", {"canvas_path": "bad.canvas"})).unwrap())
    assert told["status"] == "error"
    assert "bad.canvas" in told["message"]


async def test_a_missing_canvas_is_an_error_in_words(tmp_path: Path) -> None:
    async with gate_in(tmp_path) as gate:
        told = json.loads((await gate.call("import_canvas_edits", {"canvas_path": "none.canvas"})).unwrap())
    assert told["status"] == "error"
