"""What stands before a conversation of the Claude Agent SDK, piece by piece: server, judge, hooks and options."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)
from mcp import Client
from mcp.types import CallToolResult, TextContent

from callgate import Callgate, Context, tool
from callgate.errors import ConfigurationError
from callgate.frameworks.claude_agent import HOST_NAMES, ClaudeGate, host_tools, server
from callgate.model.levels import Autonomy
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import memory_gate

MINE = Context(user="ann", session="chat-1")
FREE = Settings(autonomy=Autonomy.A4)
paid: list[int] = []


@tool(effects="read_only")
async def balance(account: str) -> int:
    """Tell the balance of an account."""
    return 700


@tool(name="bank.pay", effects="system_state", risk="high")
async def pay(amount: int) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


def asked(tool_use_id: str) -> ToolPermissionContext:
    return ToolPermissionContext(tool_use_id=tool_use_id)


async def use(
    claude: ClaudeGate, name: str, arguments: dict[str, Any], tool_use_id: str | None = None
) -> CallToolResult:
    """Call a tool of the in-process server, as the host does."""
    meta: Any = None if tool_use_id is None else {"claudecode/toolUseId": tool_use_id}
    async with Client(claude.server["instance"]) as client:
        return await client.call_tool(name, arguments, meta=meta)


def text(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def listed(claude: ClaudeGate) -> dict[str, Any]:
    async with Client(claude.server["instance"]) as client:
        return {each.name: each for each in (await client.list_tools()).tools}


async def test_the_servers_tools_are_the_pool_of_the_asker():
    roles = parse_settings(
        "roles: {teller: {scopes: ['*'], allow: ['*']}, reader: {scopes: ['*'], allow: ['group:read']}}", file="x"
    )
    async with memory_gate(balance, pay, *host_tools(), config=roles, context=Context(role="teller")) as gate:
        teller = await listed(ClaudeGate(gate))
        reader = await listed(ClaudeGate(gate, Context(session="chat-1", role="reader")))
    assert sorted(teller) == ["approval_result", "balance", "bank__pay"]
    assert sorted(reader) == ["approval_result", "balance"]
    assert (teller["balance"].annotations.read_only_hint, teller["bank__pay"].annotations.read_only_hint) == (
        True,
        False,
    )
    assert teller["approval_result"].annotations.read_only_hint is False


async def test_an_id_of_the_host_makes_two_calls_one_and_without_one_they_are_two():
    @tool(effects="system_state", risk="low")
    async def put_in(amount: int) -> str:
        """Put something in."""
        paid.append(amount)
        return "thanks"

    async with memory_gate(put_in) as gate:
        claude = ClaudeGate(gate, MINE)
        for tool_use_id in ("toolu_1", "toolu_1", None, None):
            assert text(await use(claude, "put_in", {"amount": 5}, tool_use_id)) == "thanks"
    assert paid == [5, 5, 5]


async def test_only_who_asked_collects_what_waited():
    async with memory_gate(pay) as gate:
        claude = ClaudeGate(gate, MINE, wait=0.01)
        told = text(await use(claude, "bank__pay", {"amount": 5}, "toolu_1"))
        [question] = await gate.approvals()
        assert question.id in told
        waiting = await use(claude, "approval_result", {"id": question.id, "wait": 0})
        assert text(waiting).startswith("Not run yet: ")
        await gate.approve(question.id, by="ann")
        stranger = ClaudeGate(gate, Context(user="eve", session="chat-2"))
        for other in (question.id, "nosuch", None):
            refused = await use(stranger, "approval_result", {"id": other})
            assert refused.is_error
            assert text(refused).startswith("There is nothing to collect: Unknown approval")
        assert paid == []
        for _ in range(2):
            assert text(await use(claude, "approval_result", {"id": question.id})) == "paid 5"
    assert paid == [5]


async def test_a_tool_of_the_gate_keeps_its_name_although_the_server_has_one_like_it():
    @tool(effects="read_only")
    async def approval_result(id: str) -> str:
        """Tell the result of a vote."""
        return f"vote {id}"

    async with memory_gate(approval_result, pay) as gate:
        claude = ClaudeGate(gate, MINE, wait=0)
        assert (await listed(claude))["approval_result"].description == "Tell the result of a vote."
        assert text(await use(claude, "approval_result", {"id": "7"})) == "vote 7"
        assert "approval_result" not in text(await use(claude, "bank__pay", {"amount": 5}, "toolu_1"))


async def test_tools_of_the_server_that_are_not_concurrency_safe_do_not_overlap():
    inside: list[int] = []
    overlapped: list[int] = []

    @tool(effects="system_state", risk="low")
    async def step(number: int) -> int:
        """Take a step."""
        overlapped.extend(inside)
        inside.append(number)
        for _ in range(20):
            await asyncio.sleep(0)
        inside.remove(number)
        return number

    async with memory_gate(step) as gate:
        claude = ClaudeGate(gate, MINE)
        async with Client(claude.server["instance"]) as client:
            await asyncio.gather(*(client.call_tool("step", {"number": number}) for number in range(5)))
    assert overlapped == []


async def test_the_gates_own_tools_are_allowed_and_those_that_only_look_like_them_are_not():
    async with memory_gate(pay) as gate:
        claude = ClaudeGate(gate, MINE)
        [matcher] = claude.hooks["PreToolUse"]
        assert matcher.on_failure == "block"
        [before] = matcher.hooks

        async def judged(name: str, tool_use_id: str, **hooked: Any) -> bool:
            given: Any = {"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": {}, **hooked}
            answer: Any = await before(given, tool_use_id, {"signal": None})
            assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"
            return isinstance(await claude.can_use_tool(name, {}, asked(tool_use_id)), PermissionResultAllow)

        ours = {"mcp_server": {"name": "gate", "source": "sdk"}}
        assert await judged("mcp__gate__bank__pay", "toolu_1", **ours)
        assert await judged("mcp__gate__approval_result", "toolu_2", **ours)
        assert await judged("mcp__gate__bank__pay", "toolu_3"), "a host that does not tell has only our server"
        assert not await judged("mcp__gate__bank__pay", "toolu_4", mcp_server={"name": "gate__bank", "source": "sdk"})
        assert not await judged("mcp__gate__bank__pay", "toolu_5", mcp_server={"name": "gate", "source": "project"})
        assert not await judged("mcp__gate__nosuch", "toolu_6", **ours)
        assert not await judged("mcp__other__pay", "toolu_7", mcp_server={"name": "other", "source": "sdk"})


async def test_tools_of_other_servers_are_judged_under_the_name_they_are_declared_by():
    @tool(name="github.create_issue", effects="network_access", risk="medium", source="host")
    async def create_issue(title: str) -> str:
        """Open an issue."""
        raise AssertionError("the gate never runs it")

    async with memory_gate(create_issue, config=FREE) as gate:
        names = HOST_NAMES | {"mcp__github__create_issue": "github.create_issue"}
        claude = ClaudeGate(gate, MINE, host_names=names)
        allowed = await claude.can_use_tool("mcp__github__create_issue", {"title": "x"}, asked("toolu_1"))
        assert isinstance(allowed, PermissionResultAllow)
        assert allowed.updated_input is None
        [row] = await gate.attempts()
        assert (row.tool, row.key.key) == ("github.create_issue", "call:toolu_1")


async def test_a_rejection_stands_for_the_same_call_under_another_id():
    async with memory_gate(*host_tools("Bash")) as gate:
        claude = ClaudeGate(gate, MINE, wait=0)
        for tool_use_id in ("toolu_1", "toolu_2"):
            waits = await claude.can_use_tool("Bash", {"command": "rm x"}, asked(tool_use_id))
            assert isinstance(waits, PermissionResultDeny)
        [question] = await gate.approvals()
        assert question.id in waits.message
        await gate.reject(question.id, by="ann", why="keep it")
        again = await claude.can_use_tool("Bash", {"command": "rm x"}, asked("toolu_3"))
        assert isinstance(again, PermissionResultDeny)
        assert "keep it" in again.message
        other = await claude.can_use_tool("Bash", {"command": "rm y"}, asked("toolu_4"))
        assert isinstance(other, PermissionResultDeny)
        assert len(await gate.approvals()) == 1


@pytest.mark.parametrize("trouble", ["closed", "no id", "no JSON"])
async def test_what_cannot_be_judged_is_denied_with_a_reason(trouble: str):
    given = {"command": float("nan")} if trouble == "no JSON" else {"command": "ls"}
    async with memory_gate(*host_tools(), config=FREE) as gate:
        claude = ClaudeGate(gate, MINE)
        if trouble == "closed":
            await gate.close()
        denied = await claude.can_use_tool("Bash", given, asked("" if trouble == "no id" else "toolu_1"))
    assert isinstance(denied, PermissionResultDeny)
    assert denied.message.startswith("Not run: the gate could not judge it (")
    assert denied.message.endswith("). Nothing has happened.")


async def test_only_what_was_allowed_is_reported_and_a_report_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture):
    async with memory_gate(*host_tools(), config=FREE) as gate:
        claude = ClaudeGate(gate, MINE)
        [matcher] = claude.hooks["PostToolUse"]
        [after] = matcher.hooks

        async def report(tool_use_id: str) -> Any:
            given: Any = {"hook_event_name": "PostToolUse", "tool_response": "text", "tool_use_id": tool_use_id}
            return await after(given, tool_use_id, {"signal": None})

        assert await report("toolu_0") == {}
        for tool_use_id in ("toolu_1", "toolu_2"):
            await claude.can_use_tool("Read", {"file_path": "a.txt", "allow_large": True}, asked(tool_use_id))
        assert await report("toolu_1") == {}
        outcome = await gate.outcome("call:toolu_1", MINE)
        assert outcome is not None
        assert outcome.output == "text"
    with caplog.at_level(logging.WARNING, logger="callgate"):
        assert await report("toolu_2") == {}
    assert "the end of a judged call could not be recorded: ConfigurationError" in caplog.text


async def test_an_agent_that_would_run_where_nobody_judges_it_is_refused():
    async with memory_gate(*host_tools("Agent"), config=FREE) as gate:
        claude = ClaudeGate(gate, MINE)
        given = {"description": "x", "prompt": "y"}
        assert isinstance(await claude.can_use_tool("Agent", given, asked("toolu_1")), PermissionResultAllow)
        for at, place in enumerate(("remote", "worktree")):
            denied = await claude.can_use_tool("Agent", given | {"isolation": place}, asked(f"toolu_r{at}"))
            assert isinstance(denied, PermissionResultDeny)
            assert "isolation" in denied.message


async def test_a_gate_for_blocking_code_serves_as_well():
    with Callgate.open_sync("memory://", FREE) as gate:
        gate.add(pay, *host_tools())
        claude = ClaudeGate(gate, MINE)
        assert text(await use(claude, "bank__pay", {"amount": 5}, "toolu_1")) == "paid 5"
        read = await claude.can_use_tool("Read", {"file_path": "a.txt"}, asked("toolu_2"))
        assert isinstance(read, PermissionResultAllow)


async def test_options_keep_what_they_have_and_refuse_what_decides_beside_the_gate():
    async def theirs(*_given: Any) -> Any:
        return {}

    async def allow(*_given: Any) -> Any:
        return PermissionResultAllow()

    async with memory_gate(pay) as gate:
        claude = ClaudeGate(gate, MINE)
        hooks: Any = {"PreToolUse": [HookMatcher(hooks=[theirs])], "Stop": [HookMatcher(hooks=[theirs])]}
        other: Any = {"type": "stdio", "command": "x"}
        options = claude.options(ClaudeAgentOptions(mcp_servers={"other": other}, hooks=hooks, model="m"))
        assert isinstance(options.mcp_servers, dict)
        assert (sorted(options.mcp_servers), options.model) == (["gate", "other"], "m")
        assert options.hooks is not None
        assert {event: len(matchers) for event, matchers in options.hooks.items()} == {
            "PreToolUse": 2,
            "PostToolUse": 1,
            "PostToolUseFailure": 1,
            "Stop": 1,
        }
        assert claude.options().can_use_tool is not None
        for wrong, why in (
            (ClaudeAgentOptions(can_use_tool=allow), "decide about tools themselves"),
            (ClaudeAgentOptions(permission_prompt_tool_name="mcp__x__y"), "decide about tools themselves"),
            (ClaudeAgentOptions(mcp_servers="servers.json"), "must be a mapping"),
            (ClaudeAgentOptions(mcp_servers={"gate": other}), "could be taken for the gate's"),
            (ClaudeAgentOptions(mcp_servers={"gate__bank": other}), "could be taken for the gate's"),
        ):
            with pytest.raises(ConfigurationError, match=why):
                claude.options(wrong)


async def test_what_cannot_be_is_told_where_it_is_made(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConfigurationError, match="CronCreate is not declared here"):
        host_tools("Bash", "CronCreate")
    async with memory_gate(pay) as gate:
        with pytest.raises(ConfigurationError, match="no name for a server"):
            ClaudeGate(gate, MINE, server="my__gate")
        monkeypatch.setattr(server, "version", {"mcp": "1.27.0"}.get)
        with pytest.raises(ConfigurationError, match=r"mcp 1.27.0 is too old.*pip install 'callgate\[claude,mcp\]'"):
            ClaudeGate(gate, MINE)
    with pytest.raises(ConfigurationError, match="not open"):
        ClaudeGate(gate, MINE)


async def test_every_tool_that_is_declared_for_the_host_can_be_added_and_is_in_no_pool():
    async with memory_gate(*host_tools(), config=FREE) as gate:
        assert {added.name for added in gate.tools()} == set(HOST_NAMES.values())
        assert list(gate.pool()) == []
