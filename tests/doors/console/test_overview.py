"""Policy, health and evidence at the console."""

import asyncio
import io
import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.async_api import expect

from callgate import Callgate
from callgate.cli.entry import run
from callgate.runtime.host_tools import every_host_tool
from tests.doors.console.conftest import AGENT, Console, Desk, console_of


async def test_the_policy_page_has_the_matrix_who_may_do_what_and_explains(console: Console):
    async with console.signed_in(rights=["read"]) as client:
        shown = (await client.get("/policy")).text
        assert "confirm +" in shown
        assert "/tools/word_count" in shown
        asked = {"tool": "pay", "arguments": '{"amount": 3, "to": "bob"}', "autonomy": "A4", "role": "default"}
        told = (await client.get("/policy", params=asked)).text
        assert "high risk at autonomy A4 is allow" in told
        assert (await client.get("/policy", params=asked | {"arguments": "{"})).status_code == 422
        assert (await client.get("/policy", params=asked | {"arguments": "[]"})).status_code == 422
        unknown = await client.get("/policy", params=asked | {"tool": "nothing"})
        assert (unknown.status_code, "tool not found" in unknown.text) == (200, True)
    assert await console.gate.calls() == []


async def test_roles_and_rules_in_force_are_told_as_they_are(tmp_path_factory: pytest.TempPathFactory):
    config = tmp_path_factory.mktemp("gate") / "callgate.yaml"
    config.write_text(
        "version: 1\n"
        "global:\n"
        "  deny: [send_letter]\n"
        "  rules:\n"
        '    - {match: pay, when: "args.amount > 100", verdict: confirm, by: other, why: "<b>large</b>"}\n'
        "roles:\n"
        '  assistant: {scopes: ["fs:read"], allow: ["group:read"], max_autonomy: A3}\n'
        '  default: {allow: ["group:all"]}\n',
        encoding="utf-8",
    )
    async with console_of(Callgate.open("memory://", config=config)) as console, console.signed_in() as client:
        text = (await client.get("/policy")).text
    for words in ("assistant", "args.amount &gt; 100", "&lt;b&gt;large&lt;/b&gt;", "send_letter", "by other", "A3"):
        assert words in text, words


async def test_replay_tells_what_the_policy_now_says_to_calls_of_before(tmp_path: Path):
    store = f"sqlite:///{tmp_path / 'gate.db'}"
    async with console_of(Callgate.open(store)) as console, console.signed_in() as client:
        assert "Nothing was called in this time" in (await client.get("/policy/replay")).text
        await console.ask()
        text = (await client.get("/policy/replay")).text
        assert "Asked about or denied, as before" in text
        assert "notice good" not in text
    config = tmp_path / "callgate.yaml"
    config.write_text("version: 1\nautonomy: A4\n", encoding="utf-8")
    async with console_of(Callgate.open(store, config=config)) as console, console.signed_in() as client:
        text = (await client.get("/policy/replay?span=7d")).text
        assert "Decided otherwise" in text
        assert text.index("verdict-confirm") < text.index("verdict-allow")
        assert console.paid == []


async def test_replay_lists_what_observing_let_run_and_is_green_only_where_all_is_allowed(tmp_path: Path):
    config = tmp_path / "callgate.yaml"
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    observe = {"source": "*", "since": since, "for": "1d", "by": "olga"}
    config.write_text(f"version: 1\nobserve: [{json.dumps(observe)}]\n", encoding="utf-8")
    async with console_of(Callgate.open("memory://", config=config)) as console, console.signed_in() as client:
        await console.gate.call("pay", {"amount": 5, "to": "bob"}, AGENT)
        assert len(console.paid) == 1
        text = (await client.get("/policy/replay")).text
        assert "notice good" not in text
        assert "verdict-confirm" in text[text.index('id="unasked"') :]
    config.write_text("version: 1\nautonomy: A4\n", encoding="utf-8")
    async with console_of(Callgate.open("memory://", config=config)) as console, console.signed_in() as client:
        await console.gate.call("pay", {"amount": 5, "to": "bob"}, AGENT)
        assert "Every call of this time would be allowed" in (await client.get("/policy/replay")).text
        await console.gate.call("word_count", {"text": "a"}, AGENT)
        text = (await client.get("/policy/replay")).text
    assert "notice good" not in text
    assert "its exact arguments were not kept: only those of calls that may change something" in text


@pytest.mark.parametrize("path", ["/", "/calls", "/outcomes", "/tools", "/tools/pay", "/review", "/policy", "/health"])
async def test_every_page_says_that_nobody_is_asked_while_that_is_so(tmp_path: Path, path: str):
    config = tmp_path / "callgate.yaml"
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    observe = {"source": "*", "since": since, "for": "1d", "by": "olga"}
    config.write_text(f"version: 1\nobserve: [{json.dumps(observe)}]\n", encoding="utf-8")
    async with console_of(Callgate.open("memory://", config=config)) as console, console.signed_in() as client:
        assert "run without anybody being asked" in (await client.get(path)).text
    async with console_of(Callgate.open("memory://")) as console, console.signed_in() as client:
        assert "run without anybody being asked" not in (await client.get(path)).text


async def test_coverage_tells_what_goes_through_the_gate_and_what_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(folder)
    config = tmp_path / "callgate.yaml"
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    observe = {"source": "source:function", "since": since, "for": "1d", "by": "olga"}
    config.write_text(f"version: 1\nobserve: [{json.dumps(observe)}]\n", encoding="utf-8")
    async with (
        console_of(Callgate.open("memory://", config=config)) as console,
        console.signed_in(rights=["read"]) as client,
    ):
        empty = (await client.get("/coverage")).text
        assert "No host was found here" in empty
        assert "callgate connect claude-code" in empty
        assert "Nobody is let in, and nobody has called" in empty
        assert "olga switched observing on" in empty
        (folder / ".mcp.json").write_text('{"mcpServers": {"<b>gh</b>": {"command": "gh-mcp"}}}', encoding="utf-8")
        await console.gate.admit_agent("mailer", by="olga", role="default")
        await console.gate.call("word_count", {"text": "a"}, AGENT)
        text = (await client.get("/coverage")).text
    assert "MCP server &lt;b&gt;gh&lt;/b&gt;" in text
    assert "the host reaches it by itself" in text
    for words in (
        "3 of 3 below do not",
        "its own tools",
        "not governed",
        "observed",
        "crawler",
        "this machine",
        "mailer",
        "a token",
    ):
        assert words in text, words


async def test_coverage_says_so_when_everything_is_governed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    async with console_of(Callgate.open("memory://")) as console, console.signed_in() as client:
        assert "Everything that was found goes through the gate" in (await client.get("/coverage")).text
        await console.gate.distrust("pay", by="olga", why="it lies")
        assert "1 held" in (await client.get("/coverage")).text


async def test_coverage_has_the_tools_of_hosts_only_where_a_host_asks_about_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    async with console_of(Callgate.open("memory://")) as console:
        console.gate.add(*every_host_tool(), update=True)
        before = await console.gate.coverage()
        assert (before.hosts, [each.source for each in before.sources]) == ((), ["function"])
        assert await asyncio.to_thread(run, ["connect", "claude-code", "--write", "--no-mcp"]) == 0
        after = await console.gate.coverage()
    assert [each.state for each in after.hosts] == ["governed"]
    assert [each.source for each in after.sources] == ["function", "host"]


async def test_coverage_does_not_know_a_server_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "callgate.yaml"
    config.write_text('version: 1\nmcp_servers: {gone: {command: ["/no/such/program"]}}\n', encoding="utf-8")
    async with console_of(Callgate.open("memory://", config=config)) as console, console.signed_in() as client:
        text = (await client.get("/coverage")).text
    assert "1 of 2 below does not go through the gate" in text
    for words in ("mcp gone", "undecidable", "it cannot be reached"):
        assert words in text, words


async def test_health_counts_what_was_called_and_the_charts_get_their_figures(console: Console):
    async with console.signed_in() as client:
        assert "Nothing was called in this time" in (await client.get("/health")).text
        for _ in range(3):
            await console.gate.call("word_count", {"text": "a"}, AGENT)
        await console.gate.reject(await console.ask(), by="grace", why="no")
        await console.gate.call("send_letter", {"to": "bob"}, AGENT)
        shown = (await client.get("/health?span=1h")).text
        assert "timed out" in shown
        assert "A call takes (median)" in shown
        assert "How long calls took, on average" in shown
        body = (await client.get("/health/figures?span=1h")).json()
    assert {name: sum(row) for name, row in body["ends"].items()} == {
        "succeeded": 3,
        "refused": 1,
        "failed": 0,
        "unknown": 1,
        "waiting": 0,
    }
    assert body["tools"][0] == ["word_count", 3]
    assert len(body["times"]) == 61 == len(body["took"]) == len(body["waited"])
    assert [value for value in body["waited"] if value is not None]


async def test_the_record_is_verified_and_its_evidence_verifies_elsewhere(console: Console):
    await console.ask()
    async with console.signed_in(rights=["read"]) as client:
        stamp = await console.stamp(client)
        report = (await client.post("/evidence", data={"stamp": stamp})).text
        assert "The record is as it was written" in report
        for span, trace in (("all", ""), ("day", ""), ("all", AGENT.trace_id)):
            packed = await client.post("/evidence/export", data={"stamp": stamp, "span": span, "trace": trace})
            assert packed.headers["content-type"] == "application/zip"
            assert "attachment" in packed.headers["content-disposition"]
            assert "manifest.json" in zipfile.ZipFile(io.BytesIO(packed.content)).namelist()
        assert (await client.post("/evidence/export", data={"span": "all"})).status_code == 403


@pytest.mark.slow
async def test_a_person_explains_a_decision_looks_at_charts_and_verifies_the_audit(desk: Desk):
    console, page = desk.console, await desk.sit()
    for _ in range(3):
        await console.gate.call("word_count", {"text": "a"}, AGENT)
    await console.gate.reject(await console.ask(), by="grace", why="no")
    await page.get_by_role("link", name="Policy").click()
    await page.get_by_label("Tool").fill("pay")
    await page.get_by_label("Arguments, as JSON").fill('{"amount": 3, "to": "bob"}')
    await page.get_by_role("button", name="Explain").click()
    await expect(page.get_by_text("high risk at autonomy A2 is confirm")).to_be_visible()
    await desk.keep(page, "policy-desk")
    await page.get_by_role("link", name="Health").click()
    await page.wait_for_selector("[data-drawn] canvas")
    await desk.keep(page, "health-desk")
    await page.get_by_role("link", name="Evidence").click()
    await page.get_by_role("button", name="Verify now").click()
    await expect(page.get_by_role("heading", name="The record is as it was written")).to_be_visible()
    await desk.keep(page, "evidence-desk")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download").click()
    assert (await download.value).suggested_filename == "callgate-evidence.zip"
