"""A secret goes to a running handler and nowhere else, and asking for one is never done without a person."""

from __future__ import annotations

import base64
import html
import importlib
import json
import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from callgate import BaseTool, Context, Failed, Pending, Refused, Succeeded, ToolContext, tool
from callgate.errors import SecretsClosed
from callgate.model.levels import Autonomy
from callgate.settings.load import parse_settings
from callgate.testing import ScriptedApprover
from tests.journeys.gates import gate_of

SECRET = "s3cr3t-t0ken-for-the-bank"
ROLES = parse_settings("autonomy: A4\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}", file="x")


@pytest.fixture(autouse=True)
def bank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_SECRET_BANK_TOKEN", SECRET)


def leaky() -> list[Any]:
    @tool(effects="network_access", risk="low", scopes=["secrets:read"], config_ref="bank/main")
    async def balance(note: str, ctx: ToolContext) -> dict[str, Any]:
        """Look into the account, and say far too much."""
        token = ctx.get_secret("bank", "token")
        ctx.progress(0.5, f"signing with {token}")
        logging.getLogger("tool").debug("a tool's own log is its own affair")
        return {"plain": token, "coded": [base64.b64encode(token.encode()).decode()], token: "as a key"}

    @tool(effects="network_access", risk="low", scopes=["secrets:read"])
    async def crash(ctx: ToolContext) -> str:
        """Fail with the secret in the message."""
        raise ValueError(f"cannot sign with {ctx.get_secret('bank', 'token')}")

    return [balance, crash]


@pytest.mark.requirement("SEC-02")
@pytest.mark.usefixtures("on_each_store")
async def test_a_secret_is_in_no_outcome_event_error_approval_log_or_listing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    coded = base64.b64encode(SECRET.encode()).decode()
    approver = ScriptedApprover("approve", "approve", "approve")
    async with gate_of(*leaky(), config=ROLES, ask=approver) as gate:
        good = await gate.call("balance", {"note": "first"})
        assert isinstance(good, Succeeded)
        bad = await gate.call("crash", {})
        assert isinstance(bad, Failed)
        echoed = await gate.call("balance", {"note": f"again with {SECRET}"})
        assert isinstance(echoed, Succeeded)
        seen = [json.dumps(event.to_json()) async for event in gate.events()]
        seen += [repr(good), json.dumps(good.to_machine()), good.to_human(), repr(bad), bad.to_human(), repr(echoed)]
        seen += [repr(question) for question in await gate.approvals(states=None)]
        seen += [repr(question) for question in approver.seen]
        seen += [repr(gate.tools()), json.dumps(gate.pool().describe()), caplog.text]
    for text in seen:
        assert SECRET not in text
        assert coded not in text
    assert gate.tools()[0].config_ref == "bank/main"


async def test_a_placeholder_sent_back_as_an_argument_is_refused() -> None:
    async with gate_of(*leaky(), config=ROLES, ask=ScriptedApprover("approve"), store="memory://") as gate:
        good = await gate.call("balance", {"note": "x"})
        assert isinstance(good, Succeeded)
        refused = await gate.call("balance", {"note": good.output["plain"]})
        assert isinstance(refused, Refused)
        assert refused.error is not None
        assert refused.error.code == "invalid_arguments"


@pytest.mark.requirement("SEC-04")
@pytest.mark.parametrize("autonomy", [level for level in Autonomy if level is not Autonomy.A0])
async def test_a_secret_scope_asks_at_every_autonomy(autonomy: Autonomy) -> None:
    async with gate_of(*leaky(), config=ROLES, store="memory://") as gate:
        assert isinstance(await gate.call("balance", {"note": "x"}, Context(autonomy=autonomy)), Pending)
        decision = await gate.explain("balance", {"note": "x"}, Context(autonomy=autonomy))
        assert not decision.grantable


class OwnStore:
    """A secrets store that the author of a tool brought along."""

    def get_secret(self, connector: str, key: str) -> str:
        return "brought-along-by-the-author"


class Mailer(BaseTool):
    """A tool with its own store."""

    actions = {"send": {"type": "object", "properties": {}}}  # noqa: RUF012 - as authors write it
    effects = "network_access"
    risk_default = "low"

    @property
    def tool_name(self) -> str:
        return "mailer"

    @property
    def capabilities(self) -> list[str]:
        return ["send"]

    @property
    def scopes_required(self) -> list[str]:
        return ["net:outbound"]

    def execute(self, action: str, request: dict[str, Any], context: Any) -> str:
        return f"signed {self.secrets.get_secret('mail', 'token')}"


async def test_a_secret_from_a_store_the_author_brought_is_struck_too() -> None:
    async with gate_of(Mailer(OwnStore()), store="memory://") as gate:
        outcome = await gate.call("mailer.send", {}, Context(autonomy=Autonomy.A4))
        assert outcome.output == "signed [secret:mail/token]", outcome


class Teller(BaseTool):
    """A tool as seed 000 has it: asks the gate's store, inside `execute`."""

    actions: ClassVar[Mapping[str, Mapping[str, Any]]] = {"look": {"type": "object", "properties": {}}}
    effects = "network_access"
    risk_default = "low"

    @property
    def tool_name(self) -> str:
        return "bank"

    @property
    def scopes_required(self) -> list[str]:
        return ["secrets:read"]

    def execute(self, action: str, request: dict[str, Any], context: Any) -> bool:
        return self.get_secret("token") == SECRET


class Eager(Teller):
    """Asks when it is made."""

    def __init__(self, secrets: Any = None) -> None:
        super().__init__(secrets)
        self.token = self.get_secret("token")


@pytest.mark.requirement("SEC-01")
async def test_a_tool_gets_its_secret_inside_a_call_and_neither_before_nor_after() -> None:
    teller = Teller()
    async with gate_of(teller, config=ROLES, ask=ScriptedApprover("approve"), store="memory://") as gate:
        with pytest.raises(SecretsClosed, match="bank/token can only be asked for inside a running call"):
            teller.get_secret("token")
        outcome = await gate.call("bank.look", {})
        assert outcome.output is True, outcome
        with pytest.raises(SecretsClosed):
            teller.get_secret("token")


@pytest.mark.requirement("SEC-01")
async def test_asking_for_a_secret_when_a_tool_is_made_fails_and_nothing_is_added() -> None:
    async with gate_of(config=ROLES, store="memory://") as gate:
        with pytest.raises(SecretsClosed, match="bank/token"):
            gate.add(Eager)
        assert gate.tools() == ()


@pytest.mark.requirement("SEC-01")
async def test_asking_for_a_secret_when_a_tool_is_imported_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["from tests.journeys.test_secrets import Teller", "TOKEN = Teller().get_secret('token')"]
    (tmp_path / "greedy_tools.py").write_text("\n".join(lines))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    async with gate_of(config=ROLES, store="memory://"):
        with pytest.raises(SecretsClosed, match="bank/token"):
            importlib.import_module("greedy_tools")


@pytest.mark.requirement("SEC-05")
async def test_what_looks_like_a_credential_leaves_neither_in_results_nor_in_errors_nor_in_the_record() -> None:
    """Nobody handed these out: a tool found them in what it read."""
    found = {"key": "AKIAIOSFODNN7EXAMPLE", "url": "postgresql://app:hunter2hunter2@db/x"}

    @tool(effects="read_only")
    async def read(path: str) -> dict[str, Any]:
        """Read a file that has credentials in it."""
        if path == "broken":
            raise ValueError(f"cannot parse {found['key']}")
        return {"rows": [found], "text": "x" * 1_100_000 + " " + found["key"] if path == "long" else ""}

    async with gate_of(read, store="memory://") as gate:
        outcomes = [await gate.call("read", {"path": path}) for path in ("short", "long", "broken")]
        assert [outcome.status for outcome in outcomes] == ["succeeded", "succeeded", "failed"]
        assert all("[secret:" in repr(outcome) for outcome in outcomes)
        shown = [repr(outcome) + json.dumps(outcome.to_machine()) + outcome.to_human() for outcome in outcomes]
        shown += [json.dumps(event.to_json()) async for event in gate.events()]
        for value in (found["key"], "hunter2hunter2"):
            assert not any(value in text for text in shown)


ECHOED: dict[str, Callable[[str], str]] = {
    "a page": lambda known: f'<input value="{html.escape(known)}">',
    "JSON in JSON": lambda known: json.dumps({"body": json.dumps({"password": known})}),
    "a mail": lambda known: base64.encodebytes(b"the password is: " + known.encode() * 4).decode(),
}


@pytest.mark.parametrize("echo", ECHOED)
async def test_a_secret_is_struck_from_what_the_other_side_echoes(monkeypatch: pytest.MonkeyPatch, echo: str) -> None:
    secret = """Zq&7<k'R"w>x9 of the bank"""
    monkeypatch.setenv("CALLGATE_SECRET_BANK_TOKEN", secret)

    @tool(effects="read_only", connector="bank")
    async def login(ctx: ToolContext) -> str:
        """Log in; the answer shows what was sent."""
        return ECHOED[echo](ctx.get_secret("bank", "token"))

    async with gate_of(login) as gate:
        told = (await gate.call("login", {})).unwrap()
    assert "[secret:bank/token]" in told
    assert "w>x9" not in html.unescape(told)
    assert base64.b64encode(secret.encode() * 4).decode()[4:40] not in "".join(told.split())
