"""The tool runtime of seed 000: its registry, its BaseTool, the six steps of its executor, its secrets boundary."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from callgate import Callgate, NoEffect
from callgate.compat import (
    ApprovalRequired,
    BaseTool,
    HealthStatus,
    PreviewRequired,
    PreviewResult,
    ProviderType,
    RiskLevel,
    ScopeViolation,
    ToolCallContext,
    ToolConfig,
    ToolExecutor,
    ToolHealth,
    ToolNotFoundError,
    ToolRegistry,
    ToolResult,
)
from callgate.errors import SecretsClosed, ToolError, ToolExecutionError, ToolOutcomeUnknown, ToolUnavailableError
from callgate.model.event import Event
from callgate.settings.load import parse_settings
from callgate.testing import HandClock, memory_gate
from tests.seeds.witness import log, ran, story, told, types

SCOPES = frozenset({"mail:use"})


class Mail(BaseTool):
    """A mailbox, written with nothing but the members that the seed's interface prints."""

    def __init__(self, secrets: Any = None) -> None:
        super().__init__(secrets)
        self.sent: list[dict[str, Any]] = []
        self.shown: list[str] = []
        self.trouble: Callable[[], BaseException] | None = None

    @property
    def tool_name(self) -> str:
        return "mail"

    @property
    def capabilities(self) -> list[str]:
        return ["send", "search"]

    @property
    def scopes_required(self) -> list[str]:
        return ["mail:use"]

    def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> ToolResult:
        self.sent.append({"action": action, **request, "key": context.idempotency_key, "step": context.step_id})
        if self.trouble is not None:
            raise self.trouble()
        return ToolResult(output={"action": action, "number": len(self.sent)})

    def preview(self, action: str, request: dict[str, Any], context: ToolCallContext) -> PreviewResult | None:
        self.shown.append(action)
        return PreviewResult(text=f"would {action} to {request['to']}") if action == "send" else None


CONFIG = ToolConfig(connector_id="imap", risk_default="medium", risk_map={"search": "low"}, config_ref="db:mail/1")
"""`search` passes at A2 and `send` asks: the map of actions decides, then the default."""


def asking(**fields: Any) -> ToolCallContext:
    given: dict[str, Any] = {"trace_id": "t1", "task_id": "task", "step_id": "step", "granted_scopes": SCOPES}
    return ToolCallContext(**{**given, **fields})


def runtime(gate: Callgate, tool: BaseTool | None = None) -> tuple[ToolRegistry, ToolExecutor]:
    registry = ToolRegistry(gate)
    registry.register(tool or Mail(), CONFIG)
    return registry, ToolExecutor(gate)


async def test_the_registry_registers_gets_lists_and_is_told_of_health():
    """Stands for the listing of ToolRegistry, RegisteredTool and ToolHealth with their fields."""
    clock = HandClock()
    async with memory_gate(clock=clock) as gate:
        registry, _ = runtime(gate)
        found = registry.get("mail")
        assert found is not None
        assert (found.tool_name, found.connector_id, found.capabilities) == ("mail", "imap", ["send", "search"])
        assert (found.scopes, found.risk_default) == (["mail:use"], RiskLevel.MEDIUM)
        assert found.risk_map == {"send": RiskLevel.MEDIUM, "search": RiskLevel.LOW}
        assert (found.supports_preview, found.provider_type) == (True, ProviderType.NATIVE)
        assert (found.health, found.config_ref) == (ToolHealth(), "db:mail/1")
        assert registry.get("fax") is None
        assert [each.tool_name for each in registry.list_healthy()] == ["mail"]
        at = datetime.fromtimestamp(clock.now() - 60, UTC)
        slow = ToolHealth(status=HealthStatus.DEGRADED, last_success_at=at, last_error="slow", consecutive_errors=2)
        registry.update_health("mail", slow)
        assert [each.health for each in registry.list_healthy()] == [slow]
        full = datetime.fromtimestamp(clock.now() + 60, UTC)
        registry.update_health("mail", ToolHealth(rate_limit_resets_at=full))
        limited = registry.get("mail")
        assert limited is not None
        assert limited.health.rate_limit_resets_at == full
        assert registry.list_healthy() == []
        clock.turn(61)
        assert len(registry.list_healthy()) == 1
        registry.update_health("mail", ToolHealth(status=HealthStatus.UNAVAILABLE))
        assert registry.list_healthy() == []


async def test_a_call_that_passes_every_step_is_attempted_and_succeeds():
    """Stands for step 6: attempted, then the adapter, then succeeded; the adapter sees only its context."""
    async with memory_gate() as gate:
        mail = Mail()
        _, tool_executor = runtime(gate, mail)
        result = await tool_executor.call("mail", "search", {"to": "ann"}, asking(idempotency_key="k1"))
        assert result == {"action": "search", "number": 1}
        assert mail.sent == [{"action": "search", "to": "ann", "key": "k1", "step": "step"}]
        assert await story(gate) == ran("mail.search")
        assert {event.trace for event in await log(gate)} == {"t1"}


async def test_step_1_fails_fast_for_what_is_not_registered_or_not_available():
    """Stands for step 1: the look-up comes first, before any scope."""
    async with memory_gate() as gate:
        registry, tool_executor = runtime(gate)
        with pytest.raises(ToolNotFoundError, match=r"Unknown tool: fax\.send"):
            await tool_executor.call("fax", "send", {}, asking(granted_scopes=frozenset()))
        registry.update_health("mail", ToolHealth(status=HealthStatus.UNAVAILABLE, last_error="closed"))
        with pytest.raises(ToolUnavailableError, match="closed"):
            await tool_executor.call("mail", "search", {}, asking(granted_scopes=frozenset()))
        assert await types(gate) == ["tool_call.refused"] * 2


async def test_step_2_raises_a_scope_violation_that_is_not_retried():
    """Stands for step 2: every required scope must have been granted."""
    async with memory_gate() as gate:
        mail = Mail()
        _, tool_executor = runtime(gate, mail)
        with pytest.raises(ScopeViolation, match="mail:use"):
            await tool_executor.call("mail", "send", {"to": "ann"}, asking(granted_scopes=frozenset({"net:outbound"})))
        assert await story(gate) == [("tool_call.refused", "mail.send")]
        assert (mail.sent, await gate.approvals()) == ([], [])


async def test_step_3_takes_the_risk_of_the_action_and_then_the_adjusters():
    """Stands for step 3: the map's risk, else the default, else raised by what the call is like."""

    def to_all(arguments: dict[str, Any]) -> bool:
        return arguments["to"] == "everybody"

    class Newsletter(Mail):
        declarations = {"send": {"broadcast": to_all}}  # noqa: RUF012 - as authors write it

    async with memory_gate() as gate:
        runtime(gate, Newsletter())
        risks = [
            (await gate.explain(name, {"to": to})).risk
            for name, to in (("mail.search", "ann"), ("mail.send", "ann"), ("mail.send", "everybody"))
        ]
        assert risks == [RiskLevel.LOW, RiskLevel.MEDIUM, RiskLevel.HIGH]


async def test_step_4_stores_an_approval_and_raises_and_the_approved_call_runs_once():
    """Stands for step 4, CONFIRM: the record, gate.required, ApprovalRequired."""
    async with memory_gate() as gate:
        mail = Mail()
        _, tool_executor = runtime(gate, mail)
        context = asking(idempotency_key="k1", autonomy_level="A2")
        with pytest.raises(ApprovalRequired) as caught:
            await tool_executor.call("mail", "send", {"to": "ann"}, context)
        [question] = await gate.approvals()
        assert (question.id, question.risk, question.tool) == (caught.value.approval_id, RiskLevel.MEDIUM, "mail.send")
        assert (mail.sent, await story(gate)) == ([], [("gate.required", "mail.send")])
        await gate.approve(question.id, by="operator")
        assert (await tool_executor.call("mail", "send", {"to": "ann"}, context))["number"] == 1
        assert await story(gate) == [("gate.required", "mail.send"), *ran("mail.send")]


async def test_step_4_runs_the_preview_and_raises():
    """Stands for step 4, PREVIEW, and for a preview of None: the tool cannot say."""
    async with memory_gate() as gate:
        mail = Mail()
        _, tool_executor = runtime(gate, mail)
        with pytest.raises(PreviewRequired) as caught:
            await tool_executor.call("mail", "send", {"to": "ann"}, asking(autonomy_level="A0"))
        assert (caught.value.supported, caught.value.preview.text) == (True, "would send to ann")
        with pytest.raises(PreviewRequired) as unsaid:
            await tool_executor.call("mail", "search", {"to": "ann"}, asking(autonomy_level="A0"))
        assert (unsaid.value.supported, unsaid.value.preview) == (False, None)
        assert (mail.shown, mail.sent) == (["send", "search"], [])
        assert await types(gate) == ["gate.previewed"] * 2


async def test_step_5_answers_a_used_key_from_the_store():
    """Stands for step 5: the cached result, and tool_call.deduped."""
    async with memory_gate() as gate:
        mail = Mail()
        _, tool_executor = runtime(gate, mail)
        first = await tool_executor.call("mail", "search", {"to": "ann"}, asking(idempotency_key="k1"))
        again = await tool_executor.call("mail", "search", {"to": "ann"}, asking(idempotency_key="k1"))
        assert (again, len(mail.sent)) == (first, 1)
        assert await types(gate) == ["tool_call.attempted", "tool_call.succeeded", "tool_call.deduped"]


@pytest.mark.parametrize(
    ("trouble", "raised", "closing", "runs"),
    [
        (lambda: NoEffect("busy"), ToolExecutionError, "tool_call.failed", 2),
        (lambda: ConnectionResetError("gone"), ToolOutcomeUnknown, "tool_call.unknown", 1),
    ],
    ids=["retryable", "transport"],
)
async def test_step_6_tells_a_failure_from_an_unknown_outcome(
    trouble: Callable[[], BaseException], raised: type[Exception], closing: str, runs: int
):
    """Stands for step 6: failed and free to be tried again, or unknown and not run a second time by itself."""
    async with memory_gate() as gate:
        mail = Mail()
        mail.trouble = trouble
        _, tool_executor = runtime(gate, mail)
        context = asking(idempotency_key="k1", autonomy_level="A4")
        with pytest.raises(raised):
            await tool_executor.call("mail", "send", {"to": "ann"}, context)
        assert (await types(gate))[-1] == closing
        mail.trouble = None
        if runs > 1:
            assert (await tool_executor.call("mail", "send", {"to": "ann"}, context))["number"] == 2
        else:
            with pytest.raises(ToolError, match="without a known outcome"):
                await tool_executor.call("mail", "send", {"to": "ann"}, context)
        assert len(mail.sent) == runs


NO_STEPS: list[tuple[str, dict[str, Any], str]] = [
    ("shred", {}, "tool_call.refused"),
    ("send", {"granted_scopes": frozenset()}, "tool_call.refused"),
    ("send", {}, "gate.required"),
    ("send", {"autonomy_level": "A0"}, "gate.previewed"),
]


@pytest.mark.parametrize(("action", "fields", "event"), NO_STEPS, ids=["look-up", "scope", "confirm", "preview"])
async def test_every_step_that_fails_has_its_event_before_it_raises(action: str, fields: dict[str, Any], event: str):
    """Stands for the sentence that an AuditEvent comes before the exception."""
    heard: list[Event] = []
    async with memory_gate() as gate:
        _, tool_executor = runtime(gate)
        gate.on("*", heard.append)
        with pytest.raises(ToolError):
            await tool_executor.call("mail", action, {"to": "ann"}, asking(**fields))
        await gate.flush()
        assert heard[-1].type == event
        assert await types(gate) == [event]


def test_blocking_code_calls_without_awaiting():
    """Stands for the call as the seed writes it: tool_executor.call(tool_name, action, request, context)."""
    with Callgate.open_sync("memory://") as gate:
        registry = ToolRegistry(gate)
        registry.register(Mail(), CONFIG)
        tool_executor = ToolExecutor(gate)
        assert tool_executor.call("mail", "search", {"to": "ann"}, asking()) == {"action": "search", "number": 1}
        with pytest.raises(ApprovalRequired):
            tool_executor.call("mail", "send", {"to": "ann"}, asking())
        assert told(gate) == [*ran("mail.search"), ("gate.required", "mail.send")]


class Bank(Mail):
    """Signs with a secret, and says too much."""

    @property
    def tool_name(self) -> str:
        return "bank"

    @property
    def scopes_required(self) -> list[str]:
        return ["secrets:read"]

    def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> ToolResult:
        token = self.secrets.get_secret("bank", "token")
        return ToolResult(output=f"{action} signed with {token}")


class Eager(Bank):
    """Asks while it is made."""

    def __init__(self, secrets: Any = None) -> None:
        super().__init__(secrets)
        self.token = self.secrets.get_secret("bank", "token")


class Vault:
    """The injected SecretsStore: one method, no list."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def get_secret(self, connector_id: str, key: str) -> str:
        self.asked.append((connector_id, key))
        return "s3cret-of-the-vault"


async def test_a_secret_is_given_inside_execute_and_is_in_no_record():
    """Stands for the secrets boundary: injected at construction, asked for right before use, kept nowhere."""
    settings = "autonomy: A4\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}"
    async with memory_gate(config=parse_settings(settings, file="x"), answers=["approve"]) as gate:
        vault = Vault()
        bank = Bank(vault)
        registry, tool_executor = runtime(gate, bank)
        with pytest.raises(SecretsClosed):
            bank.secrets.get_secret("bank", "token")
        with pytest.raises(SecretsClosed):
            Eager(vault)
        assert vault.asked == []
        context = asking(granted_scopes=frozenset({"secrets:read"}))
        output = await tool_executor.call("bank", "send", {"to": "ann"}, context)
        assert (output, vault.asked) == ("send signed with [secret:bank/token]", [("bank", "token")])
        with pytest.raises(SecretsClosed):
            bank.secrets.get_secret("bank", "token")
        registered = registry.get("bank")
        assert registered is not None
        assert registered.config_ref == "db:mail/1"
        shown = [registered, await log(gate), await gate.approvals(), gate.tools()]
        assert "s3cret-of-the-vault" not in repr(shown)
        assert ("tool_call.succeeded", "bank.send") in await story(gate)
