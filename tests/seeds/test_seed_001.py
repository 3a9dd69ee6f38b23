"""The executor that seed 001 audits: registry and schemas, execute, batch, timeouts, events, staleness, categories."""

from __future__ import annotations

import asyncio
import json
import urllib.error
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, SchemaFile, ToolContext, Toolkit, tool
from callgate.compat import EventBus, ToolExecutor, ToolResult
from callgate.events.translation import Told
from callgate.model.levels import Severity
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.journeys.gates import parts_of
from tests.seeds.house_of_notes import thread_list, vault_list, vault_read, web_search
from tests.seeds.witness import log, ran, story, types

TOOL_TIMEOUTS = {
    "web_search": 60.0,
    "web_fetch": 60.0,
    "search_code": 30.0,
    "find_definition": 30.0,
    "find_references": 30.0,
    "get_repo_map": 45.0,
    "vault_read": 10.0,
    "vault_write": 10.0,
    "vault_search": 15.0,
    "vault_list": 10.0,
    "vault_move": 10.0,
    "vault_create_index": 20.0,
    "thread_push": 10.0,
    "thread_read": 10.0,
    "thread_seek": 15.0,
    "thread_list": 10.0,
    "delegate_librarian": 1200.0,
    "notify_self": 5.0,
    "github_read": 30.0,
    "github_search": 45.0,
    "deep_research": 1800.0,
}


@pytest.fixture(autouse=True)
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one note, and the program in it."""
    monkeypatch.chdir(tmp_path)
    note = tmp_path / "vault" / "test" / "note.md"
    note.parent.mkdir(parents=True)
    note.write_text("# A note")
    return note


def house() -> Callgate:
    return memory_gate(vault_read, vault_list, thread_list, web_search)


def configured(tmp_path: Path) -> None:
    """The tools stand in a module that the configuration names, for an executor that is made without a gate."""
    (tmp_path / "callgate.yaml").write_text("version: 1\nmodules: [tests.seeds.house_of_notes]\n")


async def test_single_tool_execution(tmp_path: Path):
    """Stands for the end-to-end example of one tool: an executor made without arguments reads a note."""
    configured(tmp_path)
    executor = ToolExecutor()
    result = await executor.execute("vault_read", {"path": "test/note.md"}, user_id="test-user")
    data = json.loads(result)
    assert "content" in data
    assert "error" not in data
    assert await story(executor.gate) == ran("vault_read")
    await executor.close()
    await executor.close()


async def test_batch_execution():
    """Stands for the end-to-end example of a batch, and for the input format of section 4."""
    async with house() as gate:
        results = await ToolExecutor(gate).execute_batch(
            [
                {"name": "vault_list", "arguments": {}, "id": "list"},
                {"name": "thread_list", "arguments": {}, "id": "threads"},
            ],
            user_id="test-user",
            include_call_ids=True,
        )
        assert len(results) == 2
        assert results[0][0] == "list"
        assert results[1][0] == "threads"
        assert json.loads(results[0][1]) == {"notes": ["note.md"]}
        assert sorted(await story(gate)) == sorted(ran("vault_list", "thread_list"))


async def test_tool_timeout(tmp_path: Path):
    """Stands for the end-to-end example of a timeout; a tool with a limit of its own keeps it (see section 3)."""
    configured(tmp_path)
    async with ToolExecutor(default_timeout=0.001) as executor:
        result = await executor.execute("web_search", {"query": "test"}, user_id="test-user")
        data = json.loads(result)
        assert data["timed_out"] is True
        assert "timeout" in data["error"].lower()
        assert executor.get_timeout("vault_read") == 10
        assert await story(executor.gate) == [
            ("tool_call.attempted", "web_search"),
            ("tool_call.timed_out", "web_search"),
        ]


async def test_tool_failure():
    """Stands for the end-to-end example of a failure: a path that is not there has a category."""
    async with house() as gate:
        result = await ToolExecutor(gate).execute("vault_read", {"path": "nonexistent/path.md"}, user_id="test-user")
        data = json.loads(result)
        assert "error" in data
        assert data.get("category") in ["resource_error", "file_error"]
        assert await types(gate) == ["tool_call.attempted", "tool_call.failed"]


async def test_ans_event_on_timeout():
    """Stands for the end-to-end example of the bus, and for the timeout event of section 5."""
    async with house() as gate:
        bus = EventBus(gate)
        events_received: list[Told] = []
        bus.subscribe("tool.call.timeout", events_received.append)
        executor = ToolExecutor(gate, default_timeout=0.001)
        await executor.execute("web_search", {"query": "test"}, "test-user")
        await gate.flush()
        assert len(events_received) == 1
        [event] = events_received
        assert event.payload["tool_name"] == "web_search"
        assert (event.source, event.severity) == ("tool_executor", Severity.WARNING)
        assert (event.payload["error_type"], event.payload["timeout_seconds"]) == ("timeout", 0.001)
        assert "after 0.001 seconds" in event.payload["error_message"]
        assert bus.unsubscribe(events_received.append)
        assert not bus.unsubscribe(events_received.append)


async def noted(gate: Callgate, path: str) -> None:
    """Wait until a reading is noted: that comes after the call, which does not wait for it."""
    async with asyncio.timeout(10):
        while True:
            if await parts_of(gate).store.read(lambda reader: reader.reading("user", "default", path)):
                return
            await asyncio.sleep(0.002)  # nobody tells of a note


async def test_staleness_detection(vault: Path):
    """Stands for the end-to-end example of staleness, and for section 6: read, changed outside, read again."""
    async with house() as gate:
        stale_events: list[Told] = []
        heard = asyncio.Event()

        def hear(event: Told) -> None:
            stale_events.append(event)
            heard.set()

        EventBus(gate).subscribe("source.stale", hear)
        executor = ToolExecutor(gate)
        await executor.execute("vault_read", {"path": "test/note.md"}, "user")
        await noted(gate, "test/note.md")
        await asyncio.to_thread(vault.write_text, "# Another note")
        await executor.execute("vault_read", {"path": "test/note.md"}, "user")
        async with asyncio.timeout(10):
            await heard.wait()
        assert len(stale_events) == 1
        payload = stale_events[0].payload
        assert payload["path"] == "test/note.md"
        assert payload.keys() == {"path", "project_id", "previous_hash", "current_hash", "message"}
        assert len(payload["previous_hash"]) == len(payload["current_hash"]) == 8
        assert stale_events[0].severity is Severity.WARNING
        assert await story(gate) == ran("vault_read", "vault_read")


async def test_the_events_that_were_missing_are_there():
    """Stands for sections 5 and 12.1: pending before a call, success with its duration or failure after it."""
    async with house() as gate:
        heard: list[Told] = []
        EventBus(gate).subscribe("tool.call.*", heard.append)
        executor = ToolExecutor(gate)
        await executor.execute("thread_list", {}, "ann")
        await executor.execute("vault_read", {"path": "nowhere.md"}, "ann")
        await gate.flush()
        assert [event.type for event in heard] == [
            "tool.call.pending",
            "tool.call.success",
            "tool.call.pending",
            "tool.call.failure",
        ]
        assert (heard[1].severity, heard[1].payload["tool_name"]) == (Severity.DEBUG, "thread_list")
        assert heard[1].payload["duration_ms"] >= 0


async def test_the_whole_table_of_timeouts_and_the_order_of_resolution():
    """Stands for get_timeout, its five steps, and the appendix: override, user, tool, instance, 30 seconds."""
    settings = Settings(tool_timeouts=TOOL_TIMEOUTS, user_timeouts={"ann": 2400.0})
    async with memory_gate(config=settings) as gate:
        executor = ToolExecutor(gate, default_timeout=12.0)
        assert {name: executor.get_timeout(name) for name in TOOL_TIMEOUTS} == TOOL_TIMEOUTS
        assert executor.get_timeout("web_search", override=5.0) == 5
        assert executor.get_timeout("delegate_librarian", user_id="ann") == 2400
        assert executor.get_timeout("delegate_librarian", 7.0, "ann") == 7
        assert executor.get_timeout("something_else") == 12
        assert ToolExecutor(gate).get_timeout("something_else") == ToolExecutor.DEFAULT_TIMEOUT == 30
    with pytest.raises(ValueError, match="above 0"):
        ToolExecutor(default_timeout=0)


async def test_a_default_timeout_bounds_only_what_has_none_in_a_batch_too():
    """Stands for the same order in execute_batch, and for a batch in which one call's time is up."""
    async with house() as gate:
        executor = ToolExecutor(gate, default_timeout=0.02)
        calls: list[Any] = [
            {"name": "web_search", "arguments": {"query": "a"}, "id": "slow"},
            {"name": "vault_read", "arguments": {"path": "test/note.md"}, "id": "quick"},
            {"arguments": {}},
        ]
        slow, quick, malformed = map(json.loads, await executor.execute_batch(calls, "ann"))
        assert (slow["timed_out"], slow["timeout"], quick["content"]) == (True, 0.02, "# A note")
        assert malformed["category"] == "user_input_error"
        ended = {(event.type, (event.payload or {})["tool"]) for event in await log(gate)}
        assert {("tool_call.timed_out", "web_search"), ("tool_call.succeeded", "vault_read")} <= ended


TROUBLES: list[tuple[BaseException, str]] = [
    (NameError("nothing of that name"), "configuration_error"),
    (AttributeError("no such attribute"), "configuration_error"),
    (ImportError("no such module"), "configuration_error"),
    (TimeoutError("their own"), "timeout_error"),
    (ConnectionError("unreachable"), "network_error"),
    (FileNotFoundError("no such file"), "resource_error"),
    (OSError("no space"), "resource_error"),
    (PermissionError("locked"), "permission_error"),
    (ValueError("no such value"), "user_input_error"),
    (urllib.error.HTTPError("http://127.0.0.1", 502, "bad gateway", Message(), None), "api_error"),
    (ZeroDivisionError("by zero"), "runtime_error"),
]


@pytest.mark.parametrize(("trouble", "category"), TROUBLES, ids=[type(each).__name__ for each, _ in TROUBLES])
async def test_every_exception_has_its_category(trouble: BaseException, category: str):
    """Stands for the table of categories and the handlers of section 9, and for the error form of section 3."""

    @tool(effects="read_only")
    async def breaks() -> None:
        """Break."""
        raise trouble

    async with memory_gate(breaks) as gate:
        data = json.loads(await ToolExecutor(gate).execute("breaks", {}, "ann"))
        assert {"error", "category", "tool", "suggestion"} <= data.keys()
        assert (data["category"], data["tool"], "timed_out" in data) == (category, "breaks", False)
        assert (await types(gate))[-1] == "tool_call.failed"


async def test_an_unknown_tool_is_told_as_json_and_recorded():
    """Stands for the first step of execute: the tool must be in the registry."""
    async with house() as gate:
        data = json.loads(await ToolExecutor(gate).execute("vault_reed", {}, "ann"))
        assert (data["error"], data["tool"]) == ("Unknown tool: vault_reed", "vault_reed")
        assert await story(gate) == [("tool_call.refused", "vault_reed")]


class VaultService:
    """Notes in memory, each its user's own."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, str], str] = {}


class Notes(Toolkit):
    """The service is handed in where the toolkit is made; who asks stands in the context of the call."""

    def __init__(self, vault_service: VaultService) -> None:
        super().__init__()
        self._vault = vault_service

    @tool(effects="modifies_files", risk="low")
    async def vault_write(self, path: str, body: str, ctx: ToolContext) -> dict[str, str]:
        """Write a note."""
        self._vault.notes[str(ctx.context.user), path] = body
        return {"status": "ok"}


async def test_services_are_injected_and_the_handler_knows_the_user():
    """Stands for section 2, the constructor's services, and for the user_id that every handler gets."""
    service = VaultService()
    async with memory_gate(Notes(service)) as gate:
        executor = ToolExecutor(gate)
        written = await executor.execute("vault_write", {"path": "a.md", "body": "A"}, user_id="user-123")
        assert json.loads(written) == {"status": "ok"}
        assert service.notes == {("user-123", "a.md"): "A"}
        assert await story(gate) == ran("vault_write")


def written(path: Path, **scopes: list[str]) -> None:
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    tools: list[dict[str, Any]] = [
        {
            "type": "function",
            "function": {"name": name, "description": name, "parameters": parameters},
            "agent_scope": scope,
            "category": "vault",
        }
        for name, scope in scopes.items()
    ]
    path.write_text(json.dumps({"tools": tools}))


async def test_schemas_come_from_a_file_handlers_from_a_table_and_each_agent_has_its_own(tmp_path: Path):
    """Stands for section 1: a table from names to handlers, schemas from JSON with a fallback, agent scopes."""

    @tool(effects="read_only")
    async def search() -> dict[str, list[str]]:
        """Find nothing."""
        return {"results": []}

    written(tmp_path / "spare.json", vault_search=["oracle", "librarian"], vault_move=["librarian"])
    handlers = {"vault_search": search, "vault_move": search}
    source = SchemaFile(tmp_path / "tools.json", tmp_path / "spare.json", handlers=handlers, scope="oracle")
    async with memory_gate() as gate:
        await gate.attach(source)
        executor = ToolExecutor(gate)
        assert json.loads(await executor.execute("vault_search", {}, "ann")) == {"results": []}
        assert json.loads(await executor.execute("vault_move", {}, "ann"))["error"] == "Unknown tool: vault_move"
        [schema] = source.schemas()
        assert (schema["type"], schema["function"]["name"]) == ("function", "vault_search")
        assert len(source.schemas("librarian")) == 2
        assert await story(gate) == [*ran("vault_search"), ("tool_call.refused", "vault_move")]


async def test_a_result_is_standardised():
    """Stands for section 12.4: success, data, error, category and duration of any call."""
    async with house() as gate:
        listed = ToolResult.of(await gate.call("vault_list", {}))
        assert (listed.success, listed.data, listed.error, listed.category) == (
            True,
            {"notes": ["note.md"]},
            None,
            None,
        )
        assert listed.duration_ms >= 0
        failed = ToolResult.of(await gate.call("vault_read", {"path": "nowhere.md"}))
        assert (failed.success, failed.data, failed.category) == (False, None, "resource_error")
        assert failed.error
        assert (await types(gate))[-1] == "tool_call.failed"
