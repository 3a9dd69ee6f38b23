"""`callgate call`: every kind of outcome, its exit code, and what stands on which stream."""

import io
import json
import re
from pathlib import Path

import pytest

from tests.doors.cli_tools import PAID
from tests.doors.running import ODD_TOOLS, TOOLS, Cli, Done, Terminal, start


def test_the_output_is_on_stdout_and_the_rest_on_stderr(cli: Cli):
    done = cli.call("word_count", {"text": "a b"})
    assert (done.code, done.out) == (0, "2\n")
    assert done.err.startswith("succeeded: word_count, ")


@pytest.mark.parametrize(
    ("given", "kept"),
    [("a\tb\n", "a\tb\n"), ("a\tb", "a\tb\n"), ("a\n\n", "a\n\n"), ("", "\n")],
    ids=["ended", "not-ended", "empty-line", "empty"],
)
def test_a_text_that_is_kept_in_a_file_keeps_its_tabs_and_gets_no_line_more(cli: Cli, given: str, kept: str):
    done = start("call", "loud", json.dumps({"words": given}), "--module", TOOLS, cwd=cli.folder)
    assert done.out == kept


def test_json_is_the_one_document_on_stdout(cli: Cli):
    done = cli.call("word_count", {"text": "a b"}, "--json")
    assert done.code == 0
    assert done.body["ok"] is True
    assert done.body["output"] == 2
    assert done.body["metadata"]["outcome"] == "succeeded"
    assert done.body["metadata"]["decision"]["verdict"] == "allow"
    assert done.err == ""


def test_the_store_is_made_in_the_folder_for_callgate(cli: Cli):
    cli.call("word_count")
    assert (cli.folder / ".callgate" / "callgate.db").exists()


def test_what_tools_and_their_children_print_never_reaches_stdout(cli: Cli):
    done = start("call", "loud", '{"words": "the output"}', "--module", TOOLS, "--json", cwd=cli.folder)
    assert done.body["output"] == "the output"
    assert "a tool prints this" in done.err
    assert "a child prints this" in done.err


@pytest.mark.parametrize("given", ["@arguments.json", "-"])
def test_arguments_come_from_a_file_or_stdin(cli: Cli, given: str, monkeypatch: pytest.MonkeyPatch):
    Path("arguments.json").write_text('{"text": "one two three"}')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "one two three"}')))
    assert cli.call("word_count", given).out == "3\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{a}", "Expecting property name"),
        ("", "Expecting value"),
        ('{"text": "a", "text": "b"}', "key 'text' is given twice"),
        ('{"text": NaN}', "NaN has no canonical form"),
        ('{"text": "\\ud800"}', "surrogate"),
        ("[1]", "this is a list, not an object"),
        ('"x"', "this is a text, not an object"),
        ("3", "this is a number, not an object"),
        ("null", "this is null, not an object"),
        ("true", "this is true or false, not an object"),
        ('{"n": ' + "9" * 5000 + "}", "4300 digits"),
        ("[" * 100_000, "arguments: not JSON"),
        ("@absent.json", "absent.json cannot be read: No such file"),
        ("@.", "cannot be read: Is a directory"),
    ],
)
def test_arguments_that_are_no_json_object_are_complained_of_in_one_line(cli: Cli, given: str, said: str):
    done = cli.call("word_count", given)
    assert done.code == 2
    assert done.err.startswith("callgate: arguments")
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert not (cli.folder / ".callgate").exists()


def test_too_much_on_stdin_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" " * (16 * 1024 * 1024 + 1))))
    done = cli.call("word_count", "-")
    assert done.code == 2
    assert "too much" in done.err


def test_arguments_that_do_not_fit_are_refused_with_every_fault(cli: Cli):
    done = cli.call("pay", {"to": 1})
    assert done.code == 3
    assert "refused: pay" in done.err
    assert "to must be a string" in done.err
    assert "amount" in done.err
    assert f"what it takes  callgate tools show pay --module {TOOLS}" in done.err
    assert done.out == ""


def test_a_mistyped_parameter_is_told_with_those_there_are(cli: Cli):
    done = cli.call("pay", {"to": "bob", "amont": 5})
    assert done.code == 3
    assert "Unknown parameter: amont" in done.err
    assert "Did you mean amount instead of amont? The tool takes to (needed), amount (needed)." in done.err


def test_an_unknown_tool_is_refused(cli: Cli):
    done = cli.call("word_cont")
    assert done.code == 3
    assert "refused: word_cont: Unknown tool: word_cont (tool_not_found)" in done.err
    assert "Did you mean word_count?" in done.err
    shown = cli("tools", "show", "word_cont", "--module", TOOLS)
    assert "Unknown tool: word_cont; did you mean word_count?" in shown.err


def test_a_built_in_tool_that_the_configuration_does_not_enable_is_told_as_one(cli: Cli):
    Path("callgate.yaml").write_text("builtin_tools: {enable: [files]}\n")
    done = cli("call", "python_eval", '{"code": "1"}')
    assert done.code == 3
    assert "Unknown tool: python_eval (tool_not_found)" in done.err
    advice = "is a built-in tool that is not enabled here; add it to builtin_tools.enable in callgate.yaml"
    assert f"It {advice}" in done.err
    assert f"Unknown tool: python_eval; it {advice}" in cli("tools", "show", "python_eval").err


def test_without_any_tool_nothing_is_opened(cli: Cli):
    (cli.folder / "callgate.yaml").write_text("version: 1\n")
    done = cli("call", "word_count", "{}")
    assert done.code == 2
    assert "--module NAME" in done.err
    assert "write in callgate.yaml `modules: [NAME]`, or `builtin_tools: {enable: [all]}`" in done.err
    assert not (cli.folder / ".callgate").exists()


def test_a_tool_that_fails_exits_with_one_and_says_what_may_be_left(cli: Cli):
    done = cli.call("broken")
    assert done.code == 1
    assert done.err.startswith("failed: broken: ")
    assert "left behind" in done.err


def test_a_lost_connection_exits_with_five_and_names_the_way_to_find_out(cli: Cli):
    done = cli.call("flaky", {}, "--key", "k1", "--autonomy", "A4")
    assert done.code == 5
    assert f"callgate outcomes verify k1 --module {TOOLS}" in done.err


def test_a_high_risk_waits_and_the_commands_that_decide_it_are_printed(cli: Cli):
    done = cli.call("pay", {"to": "bob", "amount": 5}, "--store", "other.db")
    assert done.code == 4
    assert done.out == ""
    assert "pending: pay waits for a person" in done.err
    assert "callgate approvals approve " in done.err
    assert "--store other.db" in done.err
    assert "--module" not in done.err
    assert not PAID.exists()


def test_after_a_yes_the_same_call_runs_once_and_the_key_answers_from_then_on(cli: Cli):
    approval = cli.ask_to_pay(5, "--key", "k1")
    assert cli("approvals", "approve", approval, "--by", "ann").code == 0
    assert not PAID.exists()
    first = cli.call("pay", {"to": "bob", "amount": 5}, "--key", "k1")
    again = cli.call("pay", {"to": "bob", "amount": 5}, "--key", "k1")
    assert (first.code, first.out) == (again.code, again.out) == (0, "paid 5 to bob\n")
    assert "answered from the ledger" in again.err
    assert PAID.read_text() == "k1\n"


@pytest.mark.parametrize(
    ("answer", "said"), [(["reject", "--why"], "ann rejected this call: Ask Bob"), (["respond", "--text"], "Ask Bob")]
)
def test_an_earlier_answer_says_that_it_is_one_and_how_to_ask_again(cli: Cli, answer: list[str], said: str):
    word, option = answer
    approval = cli.ask_to_pay(5)
    cli("approvals", word, approval, option, "Ask Bob", "--by", "ann")
    again = cli.call("pay", {"to": "bob", "amount": 5})
    assert again.code == 3
    assert said in again.err
    assert re.search(rf"answered before +[a-z0-9 ]+ ago: callgate approvals show {approval}\n", again.err)
    assert "the same call with --key and a name not used before, or in another --session" in again.err
    assert cli.call("pay", {"to": "bob", "amount": 5}, "--distinct").code == 3
    assert cli.call("pay", {"to": "bob", "amount": 5}, "--key", "new").code == 4


def test_who_said_no_just_now_is_not_told_of_an_earlier_answer(cli: Cli):
    words = ("call", "pay", '{"to": "bob", "amount": 5}', "--module", TOOLS)
    with Terminal(*words, cwd=cli.folder) as terminal:
        terminal.expect("> ")
        terminal.type("n\n")
        terminal.expect("why? ")
        terminal.type("too much\n")
        assert terminal.end() == 3
    assert "answered before" not in terminal.seen
    with Terminal(*words, cwd=cli.folder) as terminal:
        assert terminal.end() == 3
    assert "answered before" in terminal.seen


def test_at_a0_the_preview_is_on_stdout_and_counts_as_success(cli: Cli):
    done = cli.call("pay", {"to": "bob", "amount": 5}, "--autonomy", "A0")
    assert (done.code, done.out) == (0, "-nothing\n+pay 5.0 to bob\n")
    assert "previewed: pay was not run" in done.err
    body = cli.call("pay", {"to": "bob", "amount": 5}, "--autonomy", "A0", "--json").body
    assert body["metadata"]["preview"]["details"] == {"to": "bob", "amount": 5.0}
    assert not PAID.exists()


def test_a_tool_that_declares_nothing_is_refused_with_the_line_to_add(cli: Cli):
    done = cli.call("undeclared", {"text": "x"}, "--module", ODD_TOOLS)
    assert done.code == 3
    assert "effects" in done.err


def test_hidden_characters_show_in_text_and_are_escaped_in_json(cli: Cli):
    shown = cli.call("hidden")
    assert "pay<U+202E><U+200B> " in shown.out
    assert "\x1b" not in shown.out
    assert "日本語" in shown.out
    exact = cli.call("hidden", "{}", "--json")
    assert exact.body["output"]["text"] == "pay\u202e\u200b \x1b[2Jme"
    assert "\u202e" not in exact.out
    assert "\\u202e" in exact.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--autonomy", "A9"], "is not one of 'A0'"),
        (["--timeout", "0"], "is not in the range x>0"),
        (["--timeout", "soon"], "is not a valid float"),
        (["--wait", "-1"], "is not in the range x>0"),
        (["--key", " "], "--key is empty"),
        (["--role", ""], "--role is empty"),
        (["--yes"], "No such option"),
        (["--store", ""], "--store names no store"),
        (["--store", "mysql://x"], "names no store"),
        (["--store", "sqlite:///x.db?mode=ro"], "takes no options"),
        (["--config", "absent.yaml"], "absent.yaml: does not exist"),
        (["--module", "no_such_module"], "there is no module no_such_module"),
        (["--module", "absent.py"], "there is no file absent.py"),
    ],
)
def test_options_that_cannot_be_are_complained_of_in_one_line(cli: Cli, options: list[str], said: str):
    done = cli.call("word_count", "{}", *options)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_an_unknown_role_is_refused(cli: Cli):
    assert cli.call("word_count", "{}", "--role", "nobody").code == 3


def test_waiting_for_somebody_else_ends_pending(cli: Cli):
    done = cli.call("pay", {"to": "bob", "amount": 5}, "--wait", "0.05")
    assert done.code == 4


def test_an_equal_call_after_an_unknown_outcome_runs_only_when_it_is_meant_to(cli: Cli):
    cli.call("flaky", {}, "--key", "k1", "--autonomy", "A4")
    refused = cli.call("flaky", {}, "--key", "k2", "--autonomy", "A4")
    assert refused.code == 3
    assert "k1" in refused.err
    assert cli.call("flaky", {}, "--key", "k2", "--autonomy", "A4", "--distinct").code == 5


def _draw(cli: Cli, *options: str) -> str:
    done = cli("call", "export_reasoning_canvas", '{"graph_type": "session"}', "--autonomy", "A4", *options)
    assert done.code == 0, done
    return done.out


@pytest.mark.parametrize("named", ["plan", "whole", "end"])
def test_calls_that_name_one_trace_belong_together(cli: Cli, named: str):
    first = cli.call("word_count", {"text": "a"}, "--json", *(["--trace", "plan"] if named == "plan" else []))
    [event, *_] = cli("audit", "list", "--call", first.body["metadata"]["call_id"], "--json").body["events"]
    made = event["trace"]
    trace = {"plan": "plan", "whole": made, "end": made[-12:]}[named]
    assert cli.call("word_count", {"text": "b"}, "--trace", trace).code == 0
    cli.call("word_count", {"text": "elsewhere"})
    told = _draw(cli, "--trace", trace)
    assert "session graph of 2 cards" in told
    assert "no other calls" not in told


def test_a_canvas_of_a_trace_without_other_calls_says_so_and_how_calls_share_one(cli: Cli):
    cli.call("word_count", {"text": "a"})
    told = _draw(cli)
    assert "session graph of 0 cards" in told
    assert "this trace has no other calls" in told
    assert "--trace" in told


@pytest.mark.parametrize("option", ["--trace", "--session"])
@pytest.mark.parametrize("name", [" ", "x" * 5000], ids=["empty", "long"])
def test_what_cannot_be_a_name_is_a_usage_error(cli: Cli, option: str, name: str):
    done = cli.call("word_count", {}, option, name)
    assert (done.code, done.out) == (2, "")
    assert option.removeprefix("--") in done.err


def test_a_store_that_cannot_be_opened_exits_with_six(cli: Cli):
    Path("not-a-store.db").write_text("these are the wrong bytes")
    done = cli.call("word_count", "{}", "--store", "not-a-store.db")
    assert done.code == 6
    assert "not-a-store.db" in done.err
    assert "Traceback" not in done.err


def test_store_and_config_come_from_the_environment_and_give_way_to_what_is_typed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    Path("rules.yaml").write_text("version: 1\nglobal: {deny: [word_count]}\n")
    monkeypatch.setenv("CALLGATE_STORE", "sqlite:///from-environment.db")
    monkeypatch.setenv("CALLGATE_CONFIG", "rules.yaml")
    assert cli.call("word_count").code == 3
    assert Path("from-environment.db").exists()
    typed = cli("--store", "typed.db", "call", "word_count", "{}", "--module", TOOLS)
    assert typed.code == 3
    assert Path("typed.db").exists()


def test_modules_come_from_the_configuration_and_may_be_named_again(cli: Cli):
    Path("callgate.yaml").write_text(f"version: 1\nmodules: [{TOOLS}]\n")
    assert cli("call", "word_count", '{"text": "a"}').out == "1\n"
    assert cli.call("word_count", {"text": "a"}).out == "1\n"


def test_a_configuration_with_several_faults_tells_them_all(cli: Cli):
    Path("callgate.yaml").write_text("version: 1\nautonomy: A9\nnonsense: 1\n")
    done = cli.call("word_count")
    assert done.code == 2
    assert "callgate.yaml:2" in done.err
    assert "nonsense" in done.err
    error = json.loads(cli.call("word_count", "{}", "--json").out)["error"]
    assert error["exit_code"] == 2
    assert "nonsense" in error["message"]


def test_built_in_tools_that_are_none_are_told_each_with_its_place_among_the_other_faults(cli: Cli):
    Path("callgate.yaml").write_text("builtin_tools:\n  enable:\n  - math\n  - files\n  - read_fil\nautonmy: A2\n")
    done = cli("tools", "list")
    none = "there is no built-in tool or category"
    assert (done.code, done.out) == (2, "")
    assert [line.strip() for line in done.err.splitlines()] == [
        f"callgate: callgate.yaml:3: builtin_tools.enable[0]: {none} math; did you mean maths?",
        f"callgate.yaml:5: builtin_tools.enable[2]: {none} read_fil; did you mean read_file?",
        "callgate.yaml:6: autonmy: unknown key 'autonmy'; did you mean autonomy?",
    ]


def test_texts_of_several_lines_are_shown_as_they_are_at_a_terminal_and_as_json_to_a_program(tmp_path: Path):
    words = ("call", "histogram", '{"data": [1, 2, 2, 3], "bins": 3, "width": 30, "height": 6}')
    with Terminal(*words, cwd=tmp_path) as terminal:
        terminal.expect('"n_bins": 3')
        terminal.expect("plot:\n")
        terminal.expect("succeeded: histogram")
        assert terminal.end() == 0
        assert "\\n" not in terminal.seen
    assert json.loads(start(*words, cwd=tmp_path).out)["plot"].count("\n") > 1


SIGNING = """
from callgate import ToolContext, tool

@tool(effects="network_access", risk="low", scopes=["secrets:read"])
def sign_letter(key: str, ctx: ToolContext) -> str:
    token = ctx.get_secret("desk", key)
    raise RuntimeError(f"the pen broke at {token}")
"""


def test_the_traceback_of_a_tools_own_exception_is_shown_to_who_debugs_with_secrets_struck(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CALLGATE_SECRET_DESK_TOKEN", "s3cr3t-t0ken-of-the-desk")
    Path("signing_letters.py").write_text(SIGNING)
    Path("callgate.yaml").write_text(
        "modules: [signing_letters.py]\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}\n"
    )

    def sign(key: str, *more: str) -> Done:
        words = ("call", "sign_letter", json.dumps({"key": key}), *more)
        waiting = cli(*words, "--json").body["metadata"]["approval_id"]
        assert cli("approvals", "approve", waiting, "--by", "ann").code == 0
        return cli(*words)

    quiet = sign("token")
    assert (quiet.code, "Traceback" in quiet.err) == (1, False)
    assert "sign_letter failed unexpectedly (RuntimeError)" in quiet.err
    missing = sign("stamp")
    assert missing.code == 1
    assert "there is no secret desk/stamp; set CALLGATE_SECRET_DESK_STAMP" in missing.err
    monkeypatch.setenv("CALLGATE_DEBUG", "1")
    for more in ((), ("--json",)):
        done = sign("token", "--session", f"debugging{len(more)}", *more)
        assert done.code == 1
        assert "Traceback (most recent call last)" in done.err
        assert "signing_letters.py" in done.err
        assert "RuntimeError: the pen broke at " in done.err
        assert "s3cr3t-t0ken" not in done.err + done.out
    assert done.body["ok"] is False
