"""`callgate policy replay`: recorded calls decided again, or *undecidable*. And observe mode."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.cli.observing import observed, observing
from callgate.cli.opening import Need, Tools, gate_of
from callgate.cli.place import Place
from callgate.model.levels import Verdict
from callgate.runtime.host_tools import every_host_tool
from tests.doors.hooks.host import HostRun
from tests.doors.running import ROOT, TOOLS, Cli, environment


def paid(cli: Cli, amount: int, *options: str) -> None:
    done = cli.call("pay", {"to": "bob", "amount": amount}, "--autonomy", "A4", "--json", *options)
    assert done.code in {0, 4}, done


def replayed(cli: Cli, *words: str) -> dict[str, Any]:
    done = cli("policy", "replay", "--json", "--module", TOOLS, *words)
    assert done.code == 0, done
    return done.body


def test_a_stricter_policy_shows_what_would_have_been_asked_and_denied(cli: Cli):
    for amount in (5, 50, 500):
        paid(cli, amount)
    before = replayed(cli, "--since", "1h")
    assert (before["counts"], before["changed"]) == ({"allow": 3}, 0)
    (cli.folder / "new.yaml").write_text(
        "global:\n  rules:\n"
        "    - {match: pay, when: 'args.amount > 10', verdict: confirm, why: much}\n"
        "    - {match: pay, when: 'args.amount > 100', verdict: deny, why: too much}\n"
    )
    body = replayed(cli, "new.yaml", "--since", "1h")
    assert [each["now"] for each in body["calls"]] == ["allow", "confirm", "deny"]
    assert [each["was"] for each in body["calls"]] == ["allow"] * 3
    assert body["changed"] == 2
    assert "too much" in body["calls"][2]["why"]
    shown = cli("policy", "replay", "new.yaml", "--module", TOOLS)
    assert "3 calls: 1 would be allowed, 1 would be asked about, 1 would be denied; 2 otherwise than then" in shown.out
    assert len(replayed(cli)["calls"]) == 3, "looking records no call"


def test_what_was_not_kept_is_undecidable(cli: Cli):
    assert cli.call("word_count", {"text": "a b"}).code == 0
    [call] = replayed(cli)["calls"]
    assert (call["now"], "not kept" in call["why"]) == ("undecidable", True)
    paid(cli, 5)
    gone = cli("policy", "replay", "--json")
    assert {each["tool"]: each["now"] for each in gone.body["calls"]}["pay"] == "undecidable", "its tool is not here"


def test_why_the_arguments_are_not_there_is_said_of_each_call(cli: Cli):
    (cli.folder / "callgate.yaml").write_text("global: {rules: [{match: pay, verdict: deny, why: never}]}\n")
    assert cli.call("pay", {"to": "bob", "amount": 5}).code == 3
    shown = cli("policy", "replay", "--module", TOOLS).out
    assert "1 call: 1 undecidable; 0 otherwise than then" in shown
    assert cli.call("nosuch", {}).code != 0
    (cli.folder / "callgate.yaml").write_text("global: {rules: [{match: pay, verdict: preview, why: look first}]}\n")
    cli.call("pay", {"to": "bob", "amount": 6})
    calls = replayed(cli)["calls"]
    assert [(each["tool"], each["now"], each["why"]) for each in calls] == [
        ("pay", "undecidable", "it was refused, so its exact arguments were not sealed"),
        ("nosuch", "undecidable", "no tool of that name is here"),
        ("pay", "undecidable", "it was only shown, so its exact arguments were not sealed"),
    ]


def test_a_question_that_waits_is_decided_again_by_its_sealed_call(cli: Cli):
    cli.ask_to_pay(7)
    (cli.folder / "new.yaml").write_text("autonomy: A4\n")
    [call] = replayed(cli, "new.yaml")["calls"]
    assert (call["was"], call["now"], call["changed"]) == ("confirm", "allow", True)


def test_tools_of_hosts_are_replayed_too(host: HostRun):
    (host.folder / "callgate.yaml").write_text("autonomy: A4\nscopes: {shell: {requires_approval: false}}\n")
    assert host.before("Bash", {"command": "git push"})["permissionDecision"] == "allow"
    (host.folder / "callgate.yaml").write_text("autonomy: A4\n")
    with Callgate.open_sync(config="callgate.yaml") as gate:
        gate.add(*every_host_tool())
        [call] = gate.replay()
    assert (call.was, call.now, call.changed) == ("allow", "confirm", True)


def test_nothing_called_is_nothing_to_decide(cli: Cli):
    paid(cli, 5)
    assert "nothing was called" in cli("policy", "replay", "--until", "1d", "--module", TOOLS).out
    assert cli("policy", "replay", "gone.yaml").code == 2


async def test_observe_mode_runs_what_would_be_asked_never_what_is_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "callgate.yaml").write_text(
        "global: {rules: [{match: pay, when: 'args.amount > 100', verdict: deny, why: too much}]}\n"
    )
    mode = observing()
    assert mode.until - mode.since == 7 * 86_400
    assert "OBSERVE MODE until" in observed(mode)
    place = Place(modules=(TOOLS,))
    async with gate_of(place, need=Need.MAKE, tools=Tools.LOADED, observe=mode) as gate:
        small = await gate.explain("pay", {"to": "bob", "amount": 5})
        large = await gate.explain("pay", {"to": "bob", "amount": 500}, Context())
    assert (small.verdict, small.observed) == (Verdict.ALLOW, Verdict.CONFIRM)
    assert large.verdict is Verdict.DENY
    assert json.dumps(small.to_json())


@pytest.mark.slow
def test_serving_in_observe_mode_says_so(tmp_path: Path):
    served = subprocess.Popen(
        [sys.executable, "-m", "callgate", "serve", "--port", "0", "--observe"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=os.pathsep.join(map(str, (ROOT / "src", ROOT)))),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert served.stderr is not None
    try:
        assert any("OBSERVE MODE until" in line for line in served.stderr)
    finally:
        served.terminate()
        served.communicate(timeout=60)
