"""Calls of a server's tools: what is kept of its tools, what its answers become, and what else it says."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, Failed, Refused, Succeeded, Unknown
from callgate.errors import ConfigurationError
from callgate.model.levels import Happened, Origin, Risk
from tests.adapters.mcp.servers import FREE, READS, WRITES, gate_of, scripted, told, until_told, witnessed
from tests.waiting import until

SECRET = "s3cret-value-of-the-test"


@pytest.mark.requirement("ADP-04")
async def test_a_tool_keeps_its_words_and_schema_and_a_call_reaches_the_server(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(scripted(tmp_path))
        assert report.ok
        tool = gate.tool("srv.note")
        assert (tool.description, tool.source, tool.source_name) == ("The tool note.", Origin.MCP, "srv")
        assert tool.input_schema["required"] == ["text"]
        assert tool.scopes == {"mcp:connect"}
        assert set(tool.tags) == {"source:mcp", "mcp_server:srv"}
        assert (await gate.call("srv.note", {"text": "hello"})).unwrap() == "noted"
        assert (witnessed(tmp_path, "notes"), witnessed(tmp_path, "calls")) == (["hello"], ["note"])
    assert witnessed(tmp_path, "ended") == [""]


async def test_all_calls_share_one_session_and_one_listing(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        answers = await asyncio.gather(*(gate.call("srv.echo", {"text": str(n)}) for n in range(20)))
        assert [answer.unwrap() for answer in answers] == [f"{n} " for n in range(20)]
        assert len(witnessed(tmp_path, "starts")) == len(witnessed(tmp_path, "lists")) == 1


async def test_what_is_not_declared_is_refused_with_the_place_to_declare_it(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, declare={"ad*": READS}))
        assert (await gate.call("srv.add")).ok
        refused = await gate.call("srv.note", {"text": "x"})
        assert isinstance(refused, Refused)
        assert "under mcp_servers.srv.declare, for example effects: read_only" in refused.to_human()
        assert [tool.name for tool in gate.pool()] == ["srv.add"]
        assert witnessed(tmp_path, "calls") == ["add"]


async def test_the_exact_name_stands_before_a_glob_and_the_first_glob_before_the_next(tmp_path: Path) -> None:
    declared = {"*o*": {"effects": "network_access"}, "n*": READS, "note": WRITES}
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, declare=declared))
        assert gate.tool("srv.note").side_effects == ("modifies_files",)
        assert gate.tool("srv.echo").side_effects == ("network_access",)
        assert gate.tool("srv.note").base_risk is Risk.MEDIUM  # it leaves the process


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"note": {"effects": ["read_only", "modifies_files"]}}, "note: effects: read_only combines with"),
        ({"note": {"efects": "read_only"}}, "note: efects: a tool declares no 'efects'"),
        ({"note": {"effects": "read_only", "name": "other"}}, "note: name is the server's own"),
    ],
)
def test_a_wrong_declaration_is_refused_before_anything_starts(
    tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        scripted(tmp_path, declare=fields)
    assert witnessed(tmp_path, "starts") == []


async def test_structured_content_is_checked_and_preferred(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        assert (await gate.call("srv.add")).unwrap() == {"sum": 3}
        for name in ("srv.lie", "srv.silent"):
            failed = await gate.call(name)
            assert isinstance(failed, Failed)
            assert failed.error is not None
            assert failed.error.code == "output_invalid"


async def test_images_and_resources_are_kept_beside_the_text(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        output = (await gate.call("srv.picture")).unwrap()
    assert output == {
        "text": "one\ntwo",
        "blocks": [
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}},
        ],
    }


async def test_structured_content_beside_an_image_is_checked_and_kept(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        output = (await gate.call("srv.chart")).unwrap()
    assert output["structured"] == {"sum": 3}
    assert [block["type"] for block in output["blocks"]] == ["image"]


async def test_a_failure_the_server_tells_of_may_have_left_something(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, declare={"fail": WRITES, "refuse": WRITES, "ask": READS}))
        for name, words in (("srv.fail", "it broke"), ("srv.refuse", "not today"), ("srv.ask", "server")):
            failed = await gate.call(name)
            assert isinstance(failed, Failed)
            assert words in failed.to_human()
            assert failed.happened is (Happened.NONE if name == "srv.ask" else Happened.POSSIBLE)


async def test_progress_is_forwarded_as_events_of_the_call(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        done = await gate.call("srv.steps")
        assert done.unwrap() == "all done"
        steps = await told(gate, "tool_call.progress")
        assert [(step["call"], step["fraction"], step["note"].strip()) for step in steps] == [
            (done.call_id, 0.5, "step 1"),
            (done.call_id, 1.0, "step 2"),
        ]


async def test_a_call_past_its_time_is_cancelled_at_the_server(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, declare={"hang": WRITES, "add": READS}))
        late = await gate.call("srv.hang", timeout=0.2)
        assert isinstance(late, Unknown)
        await until(lambda: witnessed(tmp_path, "cancelled"))
        assert (await gate.call("srv.add")).ok


async def test_a_caller_who_lets_go_is_told_to_the_server(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        calling = asyncio.ensure_future(gate.call("srv.hang"))
        await until(lambda: witnessed(tmp_path, "calls"))
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await until(lambda: witnessed(tmp_path, "cancelled"))
        assert (await gate.call("srv.add")).ok


async def test_a_child_sees_only_what_was_declared_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVATE_TOKEN", "mine")
    monkeypatch.setenv("CALLGATE_SECRET_SRV_TOKEN", SECRET)
    env = {"TOKEN": "secret:srv/token", "PLAIN": "yes", "HEADER": "Bearer secret:srv/token"}
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, env=env))
        seen = json.loads((await gate.call("srv.environment")).unwrap())
        assert seen["PLAIN"] == "yes"
        assert "PRIVATE_TOKEN" not in seen
        assert seen["PATH"] == os.environ["PATH"]
        assert seen["TOKEN"] != SECRET, "struck on its way back"
        assert (await gate.call("srv.echo", {"text": "x"})).unwrap().startswith("x [")


async def test_the_servers_own_log_is_kept_apart_and_struck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_SECRET_SRV_TOKEN", SECRET)
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path, env={"TOKEN": "secret:srv/token"}))
        assert (await gate.call("srv.say")).unwrap() == "said"
        said = await until_told(gate, "source.said", times=2)
        lines = {(line["level"], line["text"].partition(" ")[0]) for line in said}
        assert lines == {("stderr", "warming"), ("warning", "careful")}
        everything = [event.payload async for event in gate.events()]
        assert SECRET not in json.dumps(everything)


async def test_paths_are_confined_where_the_tool_is_declared_to_touch_files(tmp_path: Path) -> None:
    declared = {"open_file": {"effects": "read_only", "scopes": "fs:read"}}
    async with gate_of(config=FREE, working_directory=tmp_path) as gate:
        await gate.attach(scripted(tmp_path, declare=declared))
        assert (await gate.call("srv.open_file", {"path": "a.txt"})).ok
        refused = await gate.call("srv.open_file", {"path": "/etc/passwd"})
        assert isinstance(refused, Refused)
    assert witnessed(tmp_path, "calls") == ["open_file"]


async def test_two_calls_with_one_key_reach_the_server_once(tmp_path: Path) -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(scripted(tmp_path))
        for _ in range(2):
            assert isinstance(await gate.call("srv.note", {"text": "a"}, Context(idempotency_key="k")), Succeeded)
    assert witnessed(tmp_path, "notes") == ["a"]
