"""The order of the steps is a promise: what is checked first, what is recorded, and that nothing runs on a no."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Refused, Unknown, build_tool, tool
from callgate.errors import GateDenied, PolicyDenied, ScopeViolation
from callgate.model.event import Event
from callgate.model.layer import Layer
from callgate.model.levels import Autonomy, Risk
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of, parts_of

pytestmark = pytest.mark.usefixtures("on_each_store")


def code(outcome: Any) -> str:
    assert outcome.error is not None
    return outcome.error.code


async def recorded(gate: Callgate) -> list[Event]:
    """What the store has at this moment; `gate.events()` would first write what waits to be written."""
    found = parts_of(gate).store.read(lambda reader: reader.events(types=["tool_call.*", "gate.*"]))
    return await found


async def types(gate: Callgate) -> list[str]:
    return [event.type for event in await recorded(gate)]


@pytest.mark.requirement("GATE-09")
async def test_a_denied_call_is_recorded_and_leaves_no_question() -> None:
    ran: list[str] = []

    @tool(effects="system_state", risk="critical")
    async def wipe() -> str:
        """Erase everything."""
        ran.append("wiped")
        return "gone"

    async with gate_of(wipe, config=Settings(matrix="strict")) as gate:
        outcome = await gate.call("wipe", {})
        assert isinstance(outcome, Refused)
        assert code(outcome) == "gate_denied"
        with pytest.raises(GateDenied):
            outcome.unwrap()
        assert await gate.approvals(states=None) == []
        assert await types(gate) == ["gate.denied"]
    assert ran == []


async def test_who_is_denied_for_a_risk_that_was_raised_is_told_what_raised_it() -> None:
    @tool(effects="system_state", risk="high", destructive=False)
    async def note(text: str) -> str:
        """Note something."""
        return text

    async with gate_of(note) as gate:
        assert (await gate.call("note", {"text": "a"}, Context(autonomy=Autonomy.A4))).ok
        outcome = await gate.call("note", {"text": "a"}, Context(autonomy=Autonomy.A0))
        assert isinstance(outcome, Refused)
        assert code(outcome) == "gate_denied"
        assert "critical risk at autonomy A0 is deny" in str(outcome)
        assert "an identical call of this session succeeded within the last 10 minutes" in str(outcome)


@pytest.mark.requirement("GATE-10")
async def test_each_step_answers_before_the_next_is_asked() -> None:
    """Not found before scopes, arguments before scopes, scopes before the gate, the ledger before the gate."""

    @tool(effects="network_access", scopes=["net:outbound"], risk="high")
    async def send(text: str) -> str:
        """Send a text."""
        return "sent"

    none = Context(scopes=frozenset(), autonomy=Autonomy.A1)
    async with gate_of(send) as gate:
        assert code(await gate.call("nosuch", {}, none)) == "tool_not_found"
        assert code(await gate.call("send", {}, none)) == "invalid_arguments"
        refused = await gate.call("send", {"text": "x"}, none)
        assert code(refused) == "scope_violation"
        assert await gate.approvals(states=None) == []
        assert isinstance(await gate.call("send", {"text": "x"}, Context(autonomy=Autonomy.A1)), Pending)


@pytest.mark.requirement("REG-09")
async def test_an_unavailable_tool_is_refused_before_its_arguments_and_scopes_are_looked_at() -> None:
    @tool(effects="network_access", scopes=["net:outbound"], risk="medium", connector="bank")
    async def ask(number: int) -> str:
        """Ask the bank, which is down."""
        raise ConnectionRefusedError

    @tool(effects="read_only")
    async def look() -> str:
        """Look around."""
        return "seen"

    none = Context(scopes=frozenset())
    async with gate_of(ask, look, config=Settings(autonomy=Autonomy.A4)) as gate:
        assert code(await gate.call("ask", {"number": 0}, none)) == "scope_violation"
        for number in range(5):
            assert isinstance(await gate.call("ask", {"number": number}), Unknown)
        for arguments in ({"number": 9}, {"number": "x"}):
            refused = await gate.call("ask", arguments, none)
            assert code(refused) == "tool_unavailable"
            assert (await types(gate))[-1] == "tool_call.refused"
        assert gate.pool().names == ("look",)
        assert [one.name for one in gate.tools(healthy=True)] == ["look"]
        assert [one.name for one in gate.tools()] == ["ask", "look"]


@pytest.mark.requirement("GATE-11", "POL-24")
@pytest.mark.parametrize(
    ("name", "arguments", "context", "event"),
    [
        ("nosuch", {}, Context(), "tool_call.refused"),
        ("pay", {"amount": "x"}, Context(), "tool_call.refused"),
        ("pay", {"amount": 5}, Context(scopes=frozenset()), "tool_call.refused"),
        ("pay", {"amount": 5}, Context(layers=(Layer(name="no", deny=("pay",)),)), "tool_call.refused"),
        ("pay", {"amount": 5}, Context(layers=(Layer(name="cap", max_risk=Risk.LOW),)), "gate.denied"),
        ("pay", {"amount": 5}, Context(autonomy=Autonomy.A0), "gate.previewed"),
        ("pay", {"amount": 5}, Context(), "gate.required"),
    ],
)
async def test_every_step_that_says_no_is_recorded_before_the_answer_leaves(
    name: str, arguments: dict[str, Any], context: Context, event: str
) -> None:
    @tool(effects="network_access", scopes=["net:outbound"], risk="high")
    async def pay(amount: int) -> str:
        """Pay somebody."""
        return "paid"

    async with gate_of(pay) as gate:
        outcome = await gate.call(name, arguments, context)
        assert not outcome.ok
        (found,) = await recorded(gate)
        assert found.type == event
        payload = found.payload
        assert payload is not None
        assert payload["tool"] == name
        assert (payload["role"], payload["principal"]) == ("default", "agent")


@pytest.mark.requirement("GATE-13")
async def test_what_a_server_claims_about_its_own_tool_is_ignored_until_the_operator_says_so() -> None:
    async def execute(payload: dict[str, Any], context: Any) -> str:
        return "done"

    claim: dict[str, Any] = {
        "name": "gh.list_issues",
        "description": "List issues.",
        "input_schema": {"type": "object", "properties": {}},
        "execute": execute,
        "is_read_only": lambda: True,
        "is_concurrency_safe": lambda: True,
    }
    foreign = build_tool(claim, source="mcp", source_name="github", scopes=["mcp:connect"])
    assert not foreign.read_only
    assert not foreign.concurrency_safe
    assert foreign.base_risk is Risk.HIGH
    async with gate_of(foreign) as gate:
        assert isinstance(await gate.call("gh.list_issues", {}), Pending)
    local = build_tool(claim, source="mcp", source_name="github", scopes=["mcp:connect"], effects="read_only")
    async with gate_of(local) as gate:
        for found in gate.quarantined():  # where the store remembers what it was, a person has to look
            await gate.trust(found.name, by="operator", definition_hash=found.definition_hash)
        assert (await gate.call("gh.list_issues", {})).ok


@pytest.mark.requirement("POL-20")
async def test_a_missing_scope_is_refused_recorded_and_asks_nobody() -> None:
    ran: list[str] = []

    @tool(effects="network_access", scopes=["net:outbound", "mail:send"], risk="high")
    async def send(text: str) -> str:
        """Send a text."""
        ran.append(text)
        return "sent"

    async with gate_of(send) as gate:
        outcome = await gate.call("send", {"text": "x"}, Context(principal="robot", scopes=frozenset({"net:outbound"})))
        assert code(outcome) == "scope_violation"
        assert outcome.error is not None
        assert "mail:send" in outcome.error.message
        assert "robot" in outcome.error.message
        assert not outcome.error.retryable
        with pytest.raises(ScopeViolation):
            outcome.unwrap()
        assert await types(gate) == ["tool_call.refused"]
        assert await gate.approvals(states=None) == []
    assert ran == []


@pytest.mark.requirement("POL-21")
@pytest.mark.parametrize("broken", [False, True])
async def test_a_tools_own_check_is_awaited_first_and_a_no_or_a_fault_keeps_the_handler_shut(broken: bool) -> None:
    ran: list[str] = []

    async def check(arguments: dict[str, Any], context: Context) -> None:
        if broken:
            raise ZeroDivisionError
        raise PermissionError(f"{context.principal} may not read {arguments['path']}")

    @tool(effects="read_only", check=check)
    async def read(path: str) -> str:
        """Read a note."""
        ran.append(path)
        return "text"

    async with gate_of(read) as gate:
        outcome = await gate.call("read", {"path": "secret.md"})
        assert code(outcome) == "policy_denied"
        with pytest.raises(PolicyDenied, match="counts as no" if broken else "may not read"):
            outcome.unwrap()
    assert ran == []


@pytest.mark.parametrize("story", ["check", "grant", "unknown", "conflict"])
async def test_explain_says_what_call_does(story: str) -> None:
    """The same steps, only looking: a check, a grant, an unknown twin and a used key count in both."""
    ran: list[int] = []

    @tool(effects="network_access", risk="high" if story == "grant" else "low")
    async def pay(amount: int) -> str:
        """Pay somebody."""
        ran.append(amount)
        if story == "unknown":
            raise ConnectionResetError
        return "paid"

    async def no(arguments: dict[str, Any], context: Context) -> None:
        raise PermissionError("not you")

    declaration: dict[str, Any] = {"check": no} if story == "check" else {}
    async with gate_of(config=Settings(autonomy=Autonomy.A2 if story == "grant" else Autonomy.A4)) as gate:
        gate.add(pay, **declaration)
        context = Context()
        if story == "grant":
            await gate.grant("pay", by="ann", max_risk=Risk.HIGH)
        if story in {"unknown", "conflict"}:
            await gate.call("pay", {"amount": 5}, Context(idempotency_key="a"))
        if story == "conflict":
            context = Context(idempotency_key="a")
        amount = 6 if story == "conflict" else 5
        decision = await gate.explain("pay", {"amount": amount}, context)
        outcome = await gate.call("pay", {"amount": amount}, context)
        assert decision.allowed is outcome.ok
        assert decision.code == ("" if outcome.ok else code(outcome))
