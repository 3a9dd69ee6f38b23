"""The journeys of every door, through hooks: a host that does what it may, and a file that witnesses what it did."""

import asyncio
import subprocess
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Assurance
from callgate.runtime.blocking import BlockingCallgate
from callgate.runtime.host_tools import every_host_tool
from tests.doors.hooks.host import HostRun

STORE = "sqlite:///.callgate/callgate.db"
WHO = Context(principal="claude-code", session="claude-code/s1")
PAY = "echo pay {} >> done.txt"


class Coder:
    """A coding agent: asks before each command, runs it in a real shell if it may, and reports."""

    def __init__(self, host: HostRun) -> None:
        self.host = host
        self._uses = 0

    def run(self, command: str, *, use: str | None = None, dies: bool = False) -> str:
        """The reason of a no, or what the command printed; one that dies never reports."""
        self._uses += 1
        name, asked = use or f"toolu_{self._uses}", {"command": command}
        decision = self.host.before("Bash", asked, use=name)
        if decision["permissionDecision"] == "deny":
            return decision["permissionDecisionReason"]
        runs = decision.get("updatedInput", asked)["command"]
        done = subprocess.run(
            ["sh", "-c", runs], cwd=self.host.folder, capture_output=True, text=True, check=False, timeout=30
        )
        more: dict[str, Any] = (
            {"tool_response": {"stdout": done.stdout}} if not done.returncode else {"error": done.stderr}
        )
        if not dies:
            assert self.host.after("Bash", asked, use=name, **more).out == ""
        return done.stdout

    def done(self) -> list[str]:
        witness = self.host.folder / "done.txt"
        return witness.read_text().splitlines() if witness.exists() else []


@pytest.fixture
def coder(host: HostRun) -> Coder:
    (host.folder / "callgate.yaml").write_text(
        "global: {rules: [{match: host.bash, when: 'args.command.contains(\"wipe\")', verdict: deny, why: not that}]}\n"
    )
    return Coder(host)


@pytest.fixture
def free(coder: Coder) -> Coder:
    (coder.host.folder / "callgate.yaml").write_text("autonomy: A4\nscopes: {shell: {requires_approval: false}}\n")
    return coder


@pytest.fixture
def impatient(free: Coder) -> Coder:
    """Whatever is not reported at once is given up."""
    with (free.host.folder / "callgate.yaml").open("a") as config:
        config.write("timeouts: {tools: {host.bash: 0.05s}}\n")
    return free


def gate() -> BlockingCallgate:
    opened = Callgate.open_sync(STORE)
    opened.add(*every_host_tool())
    return opened


def question(told: str) -> str:
    assert "a person has to decide" in told
    return told.partition("approval ")[2].partition(";")[0]


def test_a_read_succeeds(coder: Coder):
    (coder.host.folder / "a.txt").write_text("x")
    assert coder.host.before("Read", {"file_path": "a.txt"})["permissionDecision"] == "allow"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("Bash", {"command": 5}, "invalid_arguments"),
        ("Bash", {"command": "wipe"}, "policy_denied"),
        ("CronCreate", {}, "is not declared"),
    ],
    ids=["wrong arguments", "denied", "not there"],
)
def test_what_cannot_be_is_denied_with_the_reason(coder: Coder, tool: str, *, arguments: dict[str, Any], code: str):
    no = coder.host.before(tool, arguments)
    assert (no["permissionDecision"], code in no["permissionDecisionReason"]) == ("deny", True), no


def test_an_approved_effect_runs_once_when_it_is_asked_for_again(coder: Coder):
    asked = question(coder.run(PAY.format(5)))
    with gate() as opened:
        opened.approve(asked, by="ada", assurance=Assurance.LOCAL)
    assert coder.done() == []
    coder.run(PAY.format(5))
    assert question(coder.run(PAY.format(5))) != asked
    assert coder.done() == ["pay 5"]


def test_an_edited_effect_runs_as_it_was_edited(coder: Coder):
    asked = question(coder.run(PAY.format(500)))
    with gate() as opened:
        edit = {"command": PAY.format(5), "cwd": str(coder.host.folder)}
        opened.approve(asked, by="ada", arguments=edit, assurance=Assurance.LOCAL)
    coder.run(PAY.format(500))
    assert coder.done() == ["pay 5"]


def test_a_rejected_and_an_answered_effect_never_run(coder: Coder):
    with gate() as opened:
        opened.reject(question(coder.run(PAY.format(5))), by="ada", why="not today")
        opened.respond(question(coder.run(PAY.format(6))), by="ada", text="ask me on Friday")
    assert "not today" in coder.run(PAY.format(5))
    assert "ask me on Friday" in coder.run(PAY.format(6))
    assert coder.done() == []


def test_one_use_is_one_effect_and_another_call_under_it_a_conflict(free: Coder):
    free.run(PAY.format(5), use="toolu_1")
    assert "has run already" in free.run(PAY.format(5), use="toolu_1")
    assert "idempotency_conflict" in free.run(PAY.format(6), use="toolu_1")
    assert free.done() == ["pay 5"]


@pytest.mark.slow
def test_what_nobody_knows_is_not_tried_again_until_a_person_has_looked(impatient: Coder):
    impatient.run(PAY.format(5), use="toolu_1", dies=True)
    asyncio.run(_given_up())
    assert "outcome_unknown" in impatient.run(PAY.format(5), use="toolu_2")
    assert impatient.done() == ["pay 5"]
    with gate() as opened:
        opened.resolve("call:toolu_1", WHO, happened=True, by="ada")
    assert "has run already" in impatient.run(PAY.format(5), use="toolu_1")
    assert impatient.done() == ["pay 5"]


async def _given_up() -> None:
    """Wait until a gate has seen that nobody reported."""
    async with asyncio.timeout(30), Callgate.open(STORE) as opened:
        async for _ in opened.events(types=["tool_call.unknown"], follow=True):
            return
