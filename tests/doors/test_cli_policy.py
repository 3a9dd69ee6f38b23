"""`callgate policy`: checking, explaining and testing who may do what. Nothing is recorded by it."""

import json
from pathlib import Path

import pytest

from tests.doors.running import ODD_TOOLS, ROOT, TOOLS, Cli

GOOD = f"version: 1\nmodules: [{TOOLS}]\nroles:\n  default: {{allow: [group:all], scopes: ['*']}}\n"
RULES = GOOD + "global:\n  rules:\n    - {match: pay, when: args.amount > 100, verdict: deny, why: too much}\n"


def test_a_good_configuration_has_nothing_to_complain_about(cli: Cli):
    Path("callgate.yaml").write_text(GOOD)
    done = cli("policy", "check")
    assert done.code == 0
    assert "nothing to complain about" in done.out
    assert cli("policy", "check", "--json").body["findings"] == []


def test_a_name_nobody_has_is_an_error_with_its_place(cli: Cli):
    Path("callgate.yaml").write_text(GOOD + "global: {deny: [word_cuont]}\n")
    done = cli("policy", "check")
    assert done.code == 1
    assert "line 5: global.deny[0]: there is no tool word_cuont" in done.out
    body = cli("policy", "check", "--json").body
    assert body["ok"] is False
    assert (body["findings"][0]["level"], body["findings"][0]["line"]) == ("error", 5)


def test_warnings_count_only_when_strict(cli: Cli):
    Path("callgate.yaml").write_text(GOOD)
    assert cli("policy", "check", "--module", ODD_TOOLS).code == 0
    assert cli("policy", "check", "--module", ODD_TOOLS, "--strict").code == 1


def test_builtin_tools_are_known(cli: Cli):
    text = "version: 1\nbuiltin_tools: {enable: [data]}\nroles:\n  default: {allow: [json_query], scopes: ['*']}\n"
    Path("callgate.yaml").write_text(text)
    done = cli("policy", "check")
    assert done.code == 0, done
    assert "no tools are known here" not in done.out
    Path("callgate.yaml").write_text(text.replace("json_query", "json_qeury"))
    assert "there is no tool json_qeury; did you mean json_query?" in cli("policy", "check").out


def test_without_tools_only_the_file_is_checked_and_that_is_said(cli: Cli):
    done = cli("policy", "check")
    assert done.code == 0
    assert "only the file itself was checked" in done.out
    Path("callgate.yaml").write_text(
        "version: 1\nglobal: {rules: [{match: pay, when: 'args.amount >', verdict: deny}]}\n"
    )
    assert cli("policy", "check").code == 2


def test_every_fault_of_the_file_is_told_at_once_conditions_included(cli: Cli):
    rules = "  rules:\n    - {match: pay, when: 'args.amount >', verdict: deny}\n    - {match: pay, verdict: dny}\n"
    Path("callgate.yaml").write_text("autonomy: A9\nglobal:\n" + rules)
    for words in (["check"], ["check", "--module", TOOLS], ["explain", "pay", "--module", TOOLS]):
        done = cli("policy", *words)
        assert done.code == 2
        places = [line.split("callgate.yaml:")[1].split(": ")[:2] for line in done.err.splitlines()]
        assert places == [["1", "autonomy"], ["4", "global.rules[0].when"], ["5", "global.rules[1].verdict"]]


def test_modules_of_a_configuration_elsewhere_are_found_beside_it(cli: Cli):
    Path("other").mkdir()
    Path("other/beside_it.py").write_text(
        "from callgate import tool\n\n@tool(effects='read_only')\ndef beside_it() -> int:\n    return 1\n"
    )
    Path("other/callgate.yaml").write_text("modules: [beside_it.py]\n")
    assert "beside_it" in cli("tools", "list", "--config", "other/callgate.yaml").out
    assert cli("call", "beside_it", "--config", "other/callgate.yaml").out == "1\n"


def test_an_explanation_has_every_reason_layer_by_layer(cli: Cli):
    Path("callgate.yaml").write_text(RULES)
    small = cli("policy", "explain", "pay", '{"to": "bob", "amount": 5}')
    assert small.code == 0
    assert small.out.startswith("confirm: pay\n")
    assert "high risk at autonomy A2 is confirm" in small.out
    assert "confirmed by  user" in small.out
    large = cli("policy", "explain", "pay", '{"to": "bob", "amount": 500}', "--json").body
    assert large["verdict"] == "deny"
    assert any("too much" in reason["text"] for reason in large["reasons"])
    assert cli("policy", "explain", "pay", "{}", "--json").body["code"] == "invalid_arguments"
    assert list(cli.folder.iterdir()) == [cli.folder / "callgate.yaml"]


def test_an_explanation_knows_what_the_store_remembers(cli: Cli):
    cli.call("flaky", {}, "--key", "k1", "--autonomy", "A4")
    done = cli("policy", "explain", "flaky", "{}", "--key", "k1", "--module", TOOLS)
    assert "k1" in done.out


@pytest.mark.parametrize("name", ["cases.yaml", "cases.json"])
def test_cases_are_decided_and_compared(cli: Cli, name: str):
    Path("callgate.yaml").write_text(RULES)
    cases = [
        {"name": "small sums ask", "tool": "pay", "arguments": {"to": "bob", "amount": 5}, "expect": "confirm"},
        {"name": "large sums do not", "tool": "pay", "arguments": {"to": "bob", "amount": 500}, "expect": "allow"},
    ]
    Path(name).write_text(json.dumps(cases))
    done = cli("policy", "test", name)
    assert done.code == 1
    assert "ok: small sums ask\nnot ok: large sums do not\n  - expected allow, and it is deny\n" in done.out
    assert "2 cases, 1 not as expected" in done.out
    body = cli("policy", "test", name, "--json").body
    assert [case["ok"] for case in body["cases"]] == [True, False]
    Path(name).write_text(json.dumps(cases[:1]))
    assert cli("policy", "test", name).code == 0


def test_a_case_that_names_what_is_not_there_is_wrong_itself(cli: Cli):
    Path("callgate.yaml").write_text(RULES)
    Path("cases.yaml").write_text(
        "- {tool: pya, expect: deny}\n"
        "- tool: pay\n  role: clark\n  arguments: {to: bob, amount: 500}\n  expect: deny\n"
        "- {name: slip, tool: pay, arguments: {to: bob, amont: 500}, expect: deny}\n"
        "- {tool: pya, expect: deny, code: tool_not_found}\n"
        "- {tool: pay, arguments: {to: bob, amount: 500}, expect: allow}\n"
    )
    done = cli("policy", "test", "cases.yaml")
    assert done.code == 2
    assert "not ok: case 1: pya\n  - cases.yaml:1: there is no tool pya; did you mean pay?" in done.out
    assert "not ok: case 2: pay\n  - cases.yaml:2: there is no role clark; " in done.out
    assert "not ok: slip\n  - cases.yaml:6: " in done.out
    assert "amont" in done.out
    assert "ok: case 4: pya\nnot ok: case 5: pay\n  - expected allow, and it is deny\n" in done.out
    assert "too much" in done.out
    assert "5 cases, 1 not as expected, 3 wrong in themselves" in done.out
    body = cli("policy", "test", "cases.yaml", "--json").body
    assert [case["usable"] for case in body["cases"]] == [False, False, False, True, True]
    assert body["cases"][2]["place"] == "cases.yaml:6"


def test_the_cases_of_the_page_hold(cli: Cli):
    page = (ROOT / "docs" / "cli.md").read_text()
    Path("cases.yaml").write_text(page.split("```yaml\n")[1].split("```")[0])
    Path("callgate.yaml").write_text(
        RULES.replace(
            "global:\n  rules:\n    - {match: pay, when: args.amount > 100, verdict: deny, why: too much}\n", ""
        )
        + "  assistant: {allow: [pay]}\n"
    )
    done = cli("policy", "test", "cases.yaml")
    assert "ok: small sums ask" in done.out
    assert "2 cases, 1 not as expected" in done.out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("cases.yaml", "tool: pay\n", "a file of cases is a list"),
        ("cases.yaml", "- tool: pay\n  tool: pay\n", "cases.yaml:2"),
        ("cases.yaml", "- tool: yes\n", "could be a truth value"),
        ("cases.yaml", "- &a {tool: pay}\n- *a\n", "cases.yaml:1"),
        ("cases.yaml", "", "a file of cases is a list"),
        ("cases.json", "[{", "cases.json: not JSON"),
    ],
)
def test_a_file_of_cases_is_read_strictly(cli: Cli, name: str, text: str, said: str):
    Path(name).write_text(text)
    done = cli("policy", "test", name)
    assert done.code == 2
    assert said in done.err


def test_the_schema_is_json(cli: Cli):
    done = cli("policy", "schema")
    assert done.code == 0
    assert done.body["title"] == "Callgate configuration"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain"], "Missing argument 'NAME'"),
        (["explain", "pay", "{"], "arguments: not JSON"),
        (["explain", "pay", "--principal", ""], "--principal is empty"),
        (["test"], "Missing argument 'FILE'"),
        (["test", "absent.yaml"], "absent.yaml: does not exist"),
        (["check", "--config", "absent.yaml"], "absent.yaml: does not exist"),
        (["schema", "extra"], "unexpected extra argument"),
    ],
)
def test_bad_words_are_one_line(cli: Cli, words: list[str], said: str):
    done = cli("policy", *words)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_a_configuration_without_tools_has_none_to_explain(cli: Cli):
    Path("callgate.yaml").write_text("version: 1\n")
    done = cli("policy", "explain", "pay")
    assert done.code == 2
    assert "no tools are known here" in done.err
