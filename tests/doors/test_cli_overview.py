"""What the console shows, as text: the policy in force, figures over time, and grants."""

import json
from pathlib import Path

import pytest

from tests.doors.cli_tools import PAID
from tests.doors.running import TOOLS, Cli

_CONFIG = """
version: 1
global:
  rules:
    - {match: pay, when: "args.amount > 100", verdict: confirm, by: other, why: large}
roles:
  assistant: {scopes: ["fs:read"], allow: ["group:read"], max_autonomy: A3}
  payer: {allow: ["group:all"], deny: [order], scopes: ["*"], autonomy: A1}
"""


@pytest.fixture
def cli(cli: Cli) -> Cli:
    """With a configuration, so that there are no tools but those of the module."""
    (cli.folder / "callgate.yaml").write_text("version: 1\n", encoding="utf-8")
    return cli


def test_the_policy_in_force_is_shown_with_the_matrix_roles_and_who_may_do_what(cli: Cli):
    (cli.folder / "callgate.yaml").write_text(_CONFIG, encoding="utf-8")
    done = cli("policy", "show", "--module", TOOLS)
    assert done.code == 0
    for words in ("confirm +", "A2 (default)", "large", "role assistant", "group:read", "autonomy at most", "deny"):
        assert words in done.out, words
    body = cli("policy", "show", "--module", TOOLS, "--json").body
    assert body["matrix"]["A0"]["critical"] == "deny"
    assert body["global"]["rules"][0]["by"] == "other"
    assert [role["name"] for role in body["roles"]] == ["assistant", "payer"]
    standings = {each["tool"]: each["roles"] for each in body["tools"]}
    assert standings["word_count"]["assistant"]["verdict"] == "allow"
    assert standings["pay"]["assistant"]["reason"]
    assert standings["pay"]["payer"]["verdict"] == "confirm"
    assert not Path(".callgate").exists()


def test_one_role_and_some_tools_can_be_chosen_and_a_role_that_is_none_is_told(cli: Cli):
    (cli.folder / "callgate.yaml").write_text(_CONFIG, encoding="utf-8")
    body = cli("policy", "show", "--module", TOOLS, "--role", "payer", "--tool", "word", "--json").body
    assert [role["name"] for role in body["roles"]] == ["payer"]
    assert [each["tool"] for each in body["tools"]] == ["word_count"]
    wrong = cli("policy", "show", "--module", TOOLS, "--role", "nobody")
    assert (wrong.code, "there is no role nobody; there is assistant, payer" in wrong.err) == (2, True)


def test_without_roles_the_default_one_is_shown_and_what_is_held(cli: Cli):
    assert cli("tools", "distrust", "word_count", "--why", "it lies", "--module", TOOLS).code == 0
    done = cli("policy", "show", "--module", TOOLS, "--tool", "word_count")
    assert "every one but secrets:*" in done.out
    assert "held" in done.out
    assert cli("policy", "show", "--module", TOOLS, "--tool", "word_count", "--json").body["tools"][0]["held"] is True


def test_health_counts_what_was_called_and_draws_it(cli: Cli):
    assert cli("health").code == 2
    for _ in range(3):
        cli.call("word_count", {"text": "a"})
    cli.call("broken")
    cli.call("flaky", "{}", "--autonomy", "A3")
    cli("approvals", "reject", cli.ask_to_pay(), "--by", "ann")
    done = cli("health", "--span", "1h")
    assert done.code == 0
    assert "6 calls in the last 1h" in done.out
    assert "█" in done.out
    assert "word_count  3" in done.out
    body = cli("health", "--json").body
    assert body["ends"] == {"succeeded": 3, "refused": 1, "failed": 1, "unknown": 1, "waiting": 0}
    assert sum(body["over_time"]["ends"]["succeeded"]) == 3
    assert body["waited_seconds"] is not None
    assert [each["connector"] for each in body["connectors"]] == ["flaky"]


def test_health_does_not_say_that_nobody_was_asked_while_a_question_waits(cli: Cli):
    cli.ask_to_pay()
    done = cli("health")
    assert "waiting" in done.out
    assert "nobody was asked" not in done.out
    assert "nobody decided anything" in done.out


def test_health_of_a_quiet_time_says_so(cli: Cli):
    assert cli("tokens", "agent", "crawler").code == 0
    done = cli("health")
    assert "nothing was called in the last 24h" in done.out
    assert "nothing behind the tools was ever in trouble" in done.out


def test_a_grant_lets_one_agents_calls_through_until_it_is_taken_back(cli: Cli):
    cli.ask_to_pay(7)
    assert "nothing is granted" in cli("grants", "list").err
    given = cli(
        "grants",
        "give",
        "pay",
        "--risk",
        "high",
        "--only",
        '{"to": "bob", "amount": 5}',
        "--by",
        "ann",
        "--module",
        TOOLS,
    )
    assert (given.code, "agent is not asked about pay" in given.out) == (0, True)
    (grant,) = cli("grants", "list", "--json").body["grants"]
    assert (grant["granted_by"], grant["max_risk"], grant["scope"], grant["pattern"]["to"]) == (
        "ann",
        "high",
        "session",
        "bob",
    )
    assert "mac" not in grant
    assert "session default" in cli("grants", "list", "--principal", "agent", "--tool", "pay").out
    assert cli.call("pay", {"to": "bob", "amount": 5}).code == 0
    assert cli.call("pay", {"to": "eve", "amount": 5}).code == 4
    assert len(PAID.read_text().split()) == 1
    ended = cli("grants", "revoke", grant["id"][-8:], "--by", "ann", "--json")
    assert ended.body["revoked_at"] is not None
    assert cli("grants", "list", "--json").body == {"grants": []}
    assert cli.call("pay", {"to": "bob", "amount": 5}, "--session", "other").code == 4
    assert cli("grants", "revoke", grant["id"]).code == 0
    assert cli("grants", "revoke", "nothing").code == 2


def test_a_grant_below_the_risk_of_its_tool_says_that_it_does_not_help(cli: Cli):
    cli.ask_to_pay(7)
    first = cli("grants", "give", "pay", "--by", "ann", "--module", TOOLS)
    assert "agent is not asked about pay, up to medium risk" in first.out
    assert "pay is of high risk: agent is still asked about it, unless you give --risk high" in first.out
    assert cli.call("pay", {"to": "bob", "amount": 5}).code == 4
    second = cli("grants", "give", "pay", "--risk", "high", "--by", "ann", "--module", TOOLS)
    assert "still asked" not in second.out
    low, high = (each["id"] for each in cli("grants", "list", "--json").body["grants"])
    taken = cli("grants", "revoke", low, "--by", "ann").out
    assert "is asked about pay again" not in taken
    assert f"Of pay, this is still granted: {high} (pay, up to high, agent, session default)" in taken
    assert cli.call("pay", {"to": "bob", "amount": 5}).code == 0
    assert "agent is asked about pay again." in cli("grants", "revoke", high, "--by", "ann").out


def test_a_grant_that_cannot_be_is_refused(cli: Cli):
    cli.ask_to_pay(7)
    for words, why in (
        (("no_such",), "no_such"),
        (("pay", "--session", "s", "--anywhere"), "exclude each other"),
        (("pay", "--by", "agent"), "not the agent itself"),
        (("pay", "--only", "[1]"), "--only"),
        (("pay", "--minutes", "0"), "--minutes"),
    ):
        done = cli("grants", "give", *words, "--module", TOOLS)
        assert (done.code, why in done.err) == (2, True), (words, done)
    for words, scope in ((("--anywhere",), ("until", "")), (("--task", "t1"), ("task", "t1"))):
        made = cli("grants", "give", "pay", *words, "--by", "ann", "--module", TOOLS, "--json").body
        assert (made["scope"], made["scope_id"]) == scope


def test_calls_are_chosen_by_agent_and_trace(cli: Cli):
    cli.call("word_count", {"text": "a"}, "--principal", "one", "--trace", "t1")
    cli.call("word_count", {"text": "a"}, "--principal", "two", "--trace", "t2")
    for words in (("--principal", "two"), ("--trace", "t2")):
        found = cli("audit", "calls", *words, "--json").body["calls"]
        assert [each["principal"] for each in found] == ["two"], json.dumps(found)
