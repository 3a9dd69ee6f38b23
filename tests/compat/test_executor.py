"""Three conventions of calling a tool, each over the one gate."""

import asyncio
import json
from typing import Any

import pytest

from callgate import tool
from callgate.compat import ToolExecutor
from callgate.errors import (
    ApprovalRequired,
    InvalidArguments,
    PreviewRequired,
    ToolExecutionError,
    ToolNotFoundError,
    ToolPermissionError,
    ToolTimeoutError,
)
from callgate.events.translation import Told
from callgate.model.context import Context
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FULL = Context(autonomy=Autonomy.A4)


@tool(effects="read_only")
async def echo(text: str) -> dict[str, str]:
    """Say it again."""
    return {"said": text}


@tool(effects="read_only", timeout=0.02)
async def hangs() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


@tool(effects="system_state", timeout=0.02, risk="low")
async def hangs_in_the_middle() -> str:
    """Never ends, and may have changed something."""
    await asyncio.Event().wait()
    return ""


@tool(effects="read_only")
async def soft() -> dict[str, str]:
    """Fails politely."""
    return {"error": "the index is empty"}


def show(arguments: dict[str, Any], _context: Any) -> dict[str, Any]:
    return {"to": arguments["to"]}


@tool(effects="system_state", name="mail.send", risk="high", preview=show)
async def send(to: str) -> str:
    """Send something."""
    raise AssertionError(to)


class Hearing:
    """Everything a vocabulary heard."""

    def __init__(self) -> None:
        self.heard: list[Told] = []

    def __call__(self, told: Told) -> None:
        self.heard.append(told)

    @property
    def types(self) -> list[str]:
        return [told.type for told in self.heard]


async def execute(*args: Any, **options: Any) -> dict[str, Any]:
    async with memory_gate(echo, hangs, hangs_in_the_middle, soft, send) as gate:
        return json.loads(await ToolExecutor(gate, context=FULL).execute(*args, **options))


async def test_execute_gives_the_output_as_json():
    assert await execute("echo", {"text": "a"}, "ada") == {"said": "a"}


@pytest.mark.requirement("ERR-02")
@pytest.mark.parametrize(
    ("name", "arguments", "category", "text"),
    [
        ("nowhere", {}, "configuration_error", "Unknown tool: nowhere"),
        ("soft", {}, "runtime_error", "the index is empty"),
        ("echo", {}, "user_input_error", "Missing required parameter: text"),
    ],
)
async def test_execute_gives_every_error_as_json_with_category_tool_and_suggestion(
    name: str, arguments: dict[str, Any], category: str, text: str
):
    result = await execute(name, arguments, "ada")
    assert (result["error"], result["category"], result["tool"]) == (text, category, name)
    assert result["suggestion"]


@pytest.mark.requirement("TMO-03")
@pytest.mark.parametrize("name", ["hangs", "hangs_in_the_middle"])
async def test_execute_gives_a_timeout_as_json_that_says_so(name: str):
    result = await execute(name, {}, "ada")
    assert (result["timed_out"], result["timeout"], result["tool"]) == (True, 0.02, name)
    assert result["category"] == "timeout_error"
    assert name in result["error"]
    assert "timeout" in result["error"]
    assert "timed out" in result["error"]
    assert "0.02 seconds" in result["error"]
    assert result["suggestion"]


@pytest.mark.requirement("TMO-08")
@pytest.mark.parametrize("override", [0, -1, float("nan"), float("inf"), True, "5", 10**400])
async def test_execute_refuses_a_limit_that_is_none_as_input(override: Any):
    result = await execute("echo", {"text": "a"}, "ada", override)
    assert result["category"] == "user_input_error"
    assert "timeout must be a number of seconds above 0" in result["error"]


async def test_execute_tells_who_reads_json_that_a_call_waits_or_was_only_shown():
    async with memory_gate(send) as gate:
        asked = json.loads(await ToolExecutor(gate).execute("mail.send", {"to": "bob"}, "ada"))
        (question,) = await gate.approvals()
        shy = ToolExecutor(gate, context=Context(autonomy=Autonomy.A0))
        shown = json.loads(await shy.execute("mail.send", {"to": "bob"}, "ada"))
    assert question.user == "ada"
    assert (asked["code"], asked["approval_id"], asked["tool"]) == ("approval_required", question.id, "mail.send")
    assert (shown["code"], shown["preview"]) == ("preview_required", "{'to': 'bob'}")
    assert {asked["category"], shown["category"]} == {"permission_error"}
    assert asked["error"]
    assert shown["error"]


async def test_execute_gives_json_whatever_the_handler_returned():
    @tool(effects="read_only", check_output=False)
    async def odd() -> Any:
        """Give what JSON cannot hold."""
        return {("a", 1): {float("nan"), "\ud800"}, "self": object}

    async with memory_gate(odd) as gate:
        text = await ToolExecutor(gate).execute("odd", {}, "ada")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert isinstance(json.loads(text, parse_constant=refuse), dict)
    text.encode()


@pytest.mark.requirement("BAT-05", "BAT-07", "BAT-08")
async def test_execute_batch_gives_json_in_order_under_one_id_each():
    calls: list[Any] = [
        {"name": "echo", "arguments": {"text": "a"}, "id": "first"},
        {"name": "echo", "arguments": {"text": "b"}},
        {"name": "echo", "arguments": None, "id": "third"},
        {"arguments": {}},
        "echo",
        {"name": "echo", "arguments": {"text": "c"}, "id": "first"},
    ]
    async with memory_gate(echo) as gate:
        executor = ToolExecutor(gate)
        assert await executor.execute_batch([], "ada") == []
        pairs = await executor.execute_batch(calls, "ada", include_call_ids=True)
        plain = await executor.execute_batch(calls, "ada")
    assert [name for name, _ in pairs] == ["first", "batch_1", "third", "batch_3", "batch_4", "first#2"]
    assert plain == [text for _, text in pairs]
    results = [json.loads(text) for text in plain]
    assert [result.get("said") for result in results] == ["a", "b", None, None, None, "c"]
    assert [result.get("category") for result in results[2:5]] == ["user_input_error"] * 3


@pytest.mark.requirement("TMO-03")
async def test_execute_batch_holds_every_call_to_its_limit():
    @tool(effects="read_only")
    async def waits() -> str:
        """Never ends."""
        await asyncio.Event().wait()
        return ""

    async with memory_gate(waits) as gate:
        (text,) = await ToolExecutor(gate).execute_batch([{"name": "waits", "arguments": {}}], "ada", 0.02)
    assert json.loads(text)["timeout"] == 0.02


@pytest.mark.requirement("TMO-01", "TMO-02")
async def test_the_limit_is_the_calls_then_the_users_then_the_tools_then_the_instances_then_30():
    @tool(effects="read_only", timeout=60)
    async def web_search() -> None:
        """Search."""

    @tool(effects="read_only")
    async def vault_read() -> None:
        """Read."""

    tools = [web_search, vault_read]
    async with memory_gate(*tools, config=Settings(tool_timeouts={"vault_read": 10.0, "later": 7.0})) as gate:
        plain = ToolExecutor(gate)
        assert plain.get_timeout("web_search") == 60
        assert plain.get_timeout("vault_read") == 10
        assert plain.get_timeout("later") == 7
        assert plain.get_timeout("unknown") == 30
        assert plain.get_timeout("web_search", 5) == 5
        assert plain.get_timeout("vault_read", override=90.0) == 90
    async with memory_gate(*tools, config=Settings(timeout=0.001, user_timeouts={"ada": 1200.0})) as gate:
        settled = ToolExecutor(gate)
        assert settled.get_timeout("web_search") == 60
        assert settled.get_timeout("vault_read") == 0.001
        assert settled.get_timeout("web_search", user_id="ada") == 1200
        assert settled.get_timeout("web_search", 5, "ada") == 5
        assert settled.get_timeout("web_search", user_id="bob") == 60


@pytest.mark.requirement("TMO-08")
async def test_an_override_of_nothing_is_refused_and_not_taken_for_absent():
    async with memory_gate() as gate:
        for override in (0, -1):
            with pytest.raises(ValueError, match="above 0"):
                ToolExecutor(gate).get_timeout("web_search", override)


async def test_run_gives_the_output_and_no_argument_collides():
    @tool(effects="read_only")
    async def named(tool: str, context: str, self: str) -> list[str]:
        """Take the names of others."""
        return [tool, context, self]

    async with memory_gate(named) as gate:
        (registered,) = gate.tools()
        executor = ToolExecutor(gate)
        assert await executor.run(registered, Context(), tool="a", context="b", self="c") == ["a", "b", "c"]
        assert await executor.run("named", Context(), tool="a", context="b", self="c") == ["a", "b", "c"]


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize("effects", ["read_only", "system_state"])
async def test_run_raises_the_very_exception_and_it_is_told_as_invoked_then_failed(effects: str):
    thrown = ValueError("no such mailbox")

    @tool(effects=effects, risk="low")
    async def throws() -> str:
        """Throw it."""
        raise thrown

    told = Hearing()
    async with memory_gate(throws) as gate:
        gate.on("tool.*", told, vocabulary="tool")
        with pytest.raises(ValueError, match="no such mailbox") as caught:
            await ToolExecutor(gate).run("throws", FULL)
        await gate.flush()
    assert caught.value is thrown
    assert told.types == ["tool.invoked", "tool.failed"]
    assert told.heard[1].payload["error"] == "no such mailbox"
    assert told.heard[1].payload["duration_ms"] >= 0


@pytest.mark.requirement("EVT-03")
@pytest.mark.parametrize("name", ["hangs", "hangs_in_the_middle"])
async def test_run_raises_a_timeout_and_it_is_told_as_invoked_then_timeout(name: str):
    told = Hearing()
    async with memory_gate(hangs, hangs_in_the_middle) as gate:
        gate.on("tool.*", told, vocabulary="tool")
        with pytest.raises(ToolTimeoutError, match="timed out"):
            await ToolExecutor(gate).run(name, FULL)
        await gate.flush()
    assert told.types == ["tool.invoked", "tool.timeout"]
    assert told.heard[1].payload["timeout_ms"] == 20


@pytest.mark.requirement("POL-19")
async def test_run_names_the_permissions_that_lack_and_the_agent_and_does_not_enter_the_handler():
    entered: list[str] = []

    @tool(effects="read_only", scopes=["fs:read", "env:read"])
    async def scoped() -> None:
        """Needs two scopes."""
        entered.append("scoped")

    async with memory_gate(scoped) as gate:
        with pytest.raises(ToolPermissionError, match=r"env:read.*agent-7") as caught:
            await ToolExecutor(gate).run("scoped", Context(principal="agent-7", scopes=frozenset({"fs:read"})))
    assert "fs:read" not in str(caught.value)
    assert entered == []


async def test_run_raises_typed_errors_for_what_never_ran_or_failed_politely():
    async with memory_gate(echo, soft, send) as gate:
        executor = ToolExecutor(gate)
        with pytest.raises(ToolNotFoundError, match="Unknown tool: nowhere"):
            await executor.run("nowhere", Context())
        with pytest.raises(InvalidArguments, match="Missing required parameter: text"):
            await executor.run("echo", Context())
        with pytest.raises(ToolExecutionError, match="the index is empty"):
            await executor.run("soft", Context())
        with pytest.raises(ApprovalRequired):
            await executor.run("mail.send", Context(), to="bob")


@pytest.mark.requirement("GATE-07")
async def test_call_raises_approval_required_for_a_question_that_is_stored_and_told():
    heard: list[Any] = []
    async with memory_gate(send) as gate:
        gate.on("gate.required", heard.append)
        executor = ToolExecutor(gate)
        with pytest.raises(ApprovalRequired) as caught:
            await executor.call("mail", "send", {"to": "bob"}, Context())
        (question,) = await gate.approvals()
    assert caught.value.approval_id == question.id
    assert [event.payload["approval_id"] for event in heard] == [question.id]


@pytest.mark.requirement("GATE-08")
async def test_call_raises_preview_required_with_what_the_one_preview_gave():
    shown: list[Any] = []

    def preview(arguments: dict[str, Any], _context: Any) -> dict[str, Any]:
        shown.append(arguments)
        return {"would": "post", **arguments}

    @tool(effects="system_state", name="board.post", preview=preview)
    async def post(text: str) -> str:
        """Post it."""
        raise AssertionError(text)

    @tool(effects="system_state")
    async def blind() -> str:
        """Cannot say."""
        raise AssertionError

    shy = Context(autonomy=Autonomy.A0)
    async with memory_gate(post, blind) as gate:
        executor = ToolExecutor(gate)
        with pytest.raises(PreviewRequired) as caught:
            await executor.call("board", "post", {"text": "hello"}, shy)
        with pytest.raises(PreviewRequired) as unsupported:
            await executor.call("blind", "", {}, shy)
    assert shown == [{"text": "hello"}]
    assert caught.value.supported
    assert caught.value.preview.details == {"would": "post", "text": "hello"}
    assert (unsupported.value.supported, unsupported.value.preview) == (False, None)


async def test_call_gives_the_output_of_an_action():
    async with memory_gate(echo) as gate:
        assert await ToolExecutor(gate).call("echo", "", {"text": "a"}, Context()) == {"said": "a"}
