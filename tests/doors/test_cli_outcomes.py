"""`callgate outcomes`: what nobody knows the end of, and how it comes to be known."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.running import TOOLS, Cli, Terminal, environment

FREE = ("--key", "k1", "--autonomy", "A4")
HANGING = """
import time
from pathlib import Path
from callgate import tool

@tool(effects="network_access", risk="low")
def hang() -> None:
    Path("entered").touch()
    time.sleep(600)  # until it is killed or interrupted
"""


@pytest.fixture
def unknown(cli: Cli) -> Cli:
    """One payment whose answer was lost, under the key k1."""
    assert cli.call("flaky", {}, "--key", "k1", "--autonomy", "A4").code == 5
    return cli


def test_what_is_unknown_is_listed_with_its_cause(unknown: Cli):
    done = unknown("outcomes", "list")
    row = done.out.splitlines()[1]
    assert row.split()[:3] == ["k1", "flaky", "unknown"]
    assert "the connection broke while it ran" in row
    (body,) = unknown("outcomes", "list", "--json").body["outcomes"]
    assert (body["key"], body["state"], body["principal"], body["session"]) == ("k1", "unknown", "agent", "default")
    assert body.keys().isdisjoint({"fingerprint", "sealed_id"})


def test_of_several_calls_under_a_key_it_is_said_which_one_was_looked_at(unknown: Cli):
    first = unknown("outcomes", "show", "k1", "--json").body["call_id"]
    assert unknown("outcomes", "resolve", "k1", "--absent", "--by", "ann").code == 0
    assert unknown.call("flaky", {}, *FREE).code == 5
    last = unknown("outcomes", "show", "k1", "--json").body["call_id"]
    assert f"callgate outcomes resolve k1 --absent --call {last}" in unknown("outcomes", "show", "k1").out
    for named in ((), ("--call", first)):
        done = unknown("outcomes", "resolve", "k1", "--absent", "--by", "ann", *named)
        assert done.code != 0
        assert last in done.err
    assert unknown("outcomes", "resolve", "k1", "--absent", "--by", "ann", "--call", last).code == 0


def test_a_command_that_needs_the_tool_names_its_module_or_asks_for_it(unknown: Cli):
    assert "callgate outcomes verify k1 --module NAME\n" in unknown("outcomes", "show", "k1").out
    named = unknown("outcomes", "show", "k1", "--module", TOOLS).out
    assert f"callgate outcomes verify k1 --module {TOOLS}\n" in named
    Path("callgate.yaml").write_text(f"modules: [{TOOLS}]\n")
    assert "callgate outcomes verify k1\n" in unknown("outcomes", "show", "k1").out


def test_an_equal_call_is_told_what_to_add_in_the_words_of_the_shell(unknown: Cli):
    done = unknown.call("flaky", {}, "--key", "k2", "--autonomy", "A4")
    assert (done.code, "or add --distinct if this is meant to happen again" in done.err) == (3, True), done


def test_what_somebody_found_is_one_of_the_two(unknown: Cli):
    for words in (("--happened", "--absent"), ("--absent", "--happened")):
        done = unknown("outcomes", "resolve", "k1", *words, "--by", "ann")
        assert (done.code, "--happened and --absent exclude each other" in done.err) == (2, True), done
    assert "--happened or --absent" in unknown("outcomes", "resolve", "k1", "--by", "ann").err
    assert unknown("outcomes", "show", "k1", "--json").body["state"] == "unknown"


def test_options_that_contradict_each_other_are_refused(unknown: Cli):
    for words, named in (
        (("outcomes", "list", "--all", "--state", "failed"), "--state and --all"),
        (("approvals", "list", "--all", "--state", "approved"), "--state and --all"),
        (("connect", "cursor", "--write", "--no-hooks", "--no-mcp"), "--no-hooks and --no-mcp"),
        (("connect", "cursor", "--undo", "--no-mcp"), "--undo and --no-mcp"),
        (("grants", "give", "pay", "--session", "s", "--task", "t", "--anywhere"), "--session, --task and --anywhere"),
    ):
        done = unknown(*words)
        assert (done.code, f"{named} exclude each other" in done.err) == (2, True), (words, done)


@pytest.fixture
def half_done(cli: Cli) -> Cli:
    """A call that failed and may have left something behind, under the key k1."""
    done = cli.call("half_done", {}, *FREE)
    assert done.code == 1
    assert "callgate outcomes show k1" in done.err
    return cli


def test_a_failure_that_may_have_left_something_is_listed_too(half_done: Cli):
    assert "may have taken effect" in half_done("outcomes", "list").out
    shown = half_done("outcomes", "show", "k1")
    assert "in the middle" in shown.out
    assert "callgate outcomes verify k1" in shown.out
    assert "callgate outcomes resolve k1 --absent" in shown.out
    assert "failed" in half_done("outcomes", "list", "--state", "failed").out


@pytest.mark.parametrize(
    ("answer", "code", "said", "state", "left"),
    [
        ("happened", 0, "it happened, says the tool", "succeeded", None),
        ("absent", 0, "the key is free again", "failed", "none"),
        ("cannot_tell", 5, "the tool cannot tell", "failed", "possible"),
    ],
)
def test_the_tool_is_asked_about_a_failure_that_may_have_left_something(
    half_done: Cli, answer: str, code: int, said: str, state: str, left: str | None
):
    Path("answer").write_text(answer)
    done = half_done("outcomes", "verify", "k1", "--module", TOOLS)
    assert (done.code, said in done.out) == (code, True)
    row = half_done("outcomes", "show", "k1", "--json").body
    assert (row["state"], row["happened"]) == (state, left)


def test_of_a_failure_that_is_known_to_have_left_nothing_there_is_nothing_to_find_out(cli: Cli):
    cli.call("harmless", {}, *FREE)
    done = cli("outcomes", "verify", "k1", "--module", TOOLS)
    assert done.code == 2
    assert "there is nothing to find out about key k1: it failed without effect, and the key is free" in done.err
    assert "resolve" not in cli("outcomes", "show", "k1").out


def test_of_many_the_newest_are_listed_the_newest_last(cli: Cli):
    for number in range(4):
        cli.call("flaky", {}, "--key", f"k{number}", "--autonomy", "A4", "--distinct")
    done = cli("outcomes", "list", "--limit", "2")
    assert [line.split()[0] for line in done.out.splitlines()] == ["KEY", "k2", "k3"]
    assert done.err == "these are the newest 2; there are older ones, see --limit\n"
    assert [row["key"] for row in cli("outcomes", "list", "--all", "--limit", "3", "--json").body["outcomes"]] == [
        "k1",
        "k2",
        "k3",
    ]
    assert cli("outcomes", "list", "--limit", "4").err == ""


def test_when_nothing_waits_it_says_so(cli: Cli):
    cli.call("word_count")
    done = cli("outcomes", "list")
    assert (done.code, done.out, done.err) == (0, "", "nothing to look at\n")
    assert cli("outcomes", "list", "--json").body == {"outcomes": []}
    assert cli("outcomes", "list", "--state", "failed").err == "there are none\n"


def test_one_outcome_is_shown_with_the_ways_to_find_out(unknown: Cli):
    done = unknown("outcomes", "show", "k1", "--module", TOOLS)
    assert f"callgate outcomes verify k1 --module {TOOLS}" in done.out
    assert "callgate outcomes resolve k1 --absent" in done.out
    assert unknown("outcomes", "show", "k1", "--json").body["cause"] == "network"


def test_the_tool_itself_finds_out_that_it_happened(unknown: Cli):
    done = unknown("outcomes", "verify", "k1", "--module", TOOLS)
    assert done.code == 0
    assert "it happened, says the tool" in done.out
    assert unknown("outcomes", "list").err == "nothing to look at\n"
    (row,) = unknown("outcomes", "list", "--all", "--json").body["outcomes"]
    assert (row["state"], row["resolved_by"]) == ("succeeded", "verify")


def test_the_tool_itself_finds_out_that_it_did_not_happen(cli: Cli):
    cli.call("flaky", {"booked": False}, "--key", "k1", "--autonomy", "A4")
    body = cli("outcomes", "verify", "k1", "--module", TOOLS, "--json").body
    assert body == {"key": "k1", "tool": "flaky", "answer": "absent"}


def test_a_tool_that_changed_since_cannot_tell(unknown: Cli):
    Path("changed.py").write_text(
        "from callgate import tool\n\n@tool(effects='network_access', risk='low', verify=lambda a, k: 'absent')\n"
        "def flaky(*, booked: bool = True) -> str:\n    return 'another tool'\n"
    )
    done = unknown("outcomes", "verify", "k1", "--module", "changed.py")
    assert done.code == 5
    assert "cannot tell" in done.out


def test_a_person_says_that_it_happened_and_what_it_gave_back(unknown: Cli):
    options = ("--happened", "--by", "ann", "--note", "seen in the bank's books", "--output", '{"receipt": 7}')
    done = unknown("outcomes", "resolve", "k1", *options)
    assert done.code == 0
    again = unknown.call("flaky", {}, "--key", "k1", "--autonomy", "A4", "--json")
    assert (again.code, again.body["output"]) == (0, {"receipt": 7})


def test_a_person_says_that_it_did_not_happen_and_the_key_is_free(unknown: Cli):
    assert unknown("outcomes", "resolve", "k1", "--absent", "--by", "ann", "--json").code == 0
    assert unknown.call("flaky", {}, "--key", "k1", "--autonomy", "A4").code == 5


def test_an_agent_never_resolves_its_own_call(unknown: Cli):
    done = unknown("outcomes", "resolve", "k1", "--happened", "--by", "agent")
    assert done.code == 3
    assert "it takes a person" in done.err


def test_a_key_of_several_sessions_asks_which(unknown: Cli):
    unknown.call("flaky", {}, "--key", "k1", "--autonomy", "A4", "--session", "other")
    several = unknown("outcomes", "show", "k1")
    assert several.code == 2
    assert "agent in session default, agent in session other" in several.err
    assert unknown("outcomes", "show", "k1", "--session", "other", "--json").body["session"] == "other"
    assert unknown("outcomes", "show", "k1", "--principal", "nobody").code == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["show", "k9"], 2, "the ledger has no key k9"),
        (["verify", "k9"], 2, "the ledger has no key k9"),
        (["resolve", "k9", "--absent"], 2, "the ledger has no key k9"),
        (["show"], 2, "Missing argument 'KEY'"),
        (["resolve", "k1"], 2, "say what you found"),
        (["resolve", "k1", "--happened", "--output", "{"], 2, "--output: not JSON"),
        (["resolve", "k1", "--absent", "--output", "1"], 2, "--output goes with --happened"),
        (["resolve", "k1", "--happened", "--by", ""], 2, "--by names nobody"),
        (["verify", "k1"], 2, "Unknown tool: flaky; name the module it is in with --module NAME"),
        (["list", "--state", "odd"], 2, "is not one of"),
        (["list", "--limit", "0"], 2, "is not in the range"),
    ],
)
def test_bad_words_are_one_line(unknown: Cli, words: list[str], code: int, said: str):
    done = unknown("outcomes", *words)
    assert done.code == code
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_what_is_known_cannot_be_verified_or_resolved_again(unknown: Cli):
    unknown("outcomes", "resolve", "k1", "--happened", "--by", "ann")
    assert "about key k1: it succeeded" in unknown("outcomes", "verify", "k1", "--module", TOOLS).err
    assert unknown("outcomes", "resolve", "k1", "--absent", "--by", "ann").code == 3


@pytest.mark.parametrize("words", [["list"], ["show", "k1"], ["verify", "k1"], ["resolve", "k1", "--absent"]])
def test_a_store_that_is_not_there_is_an_error_and_is_not_made(cli: Cli, words: list[str]):
    assert cli("outcomes", *words).code == 2
    assert list(cli.folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.requirement("IDM-07")
def test_a_call_whose_process_was_killed_reads_unknown(cli: Cli):
    Path("hanging.py").write_text(HANGING)
    words = [sys.executable, "-m", "callgate", "call", "hang", "--module", "hanging.py", *FREE]
    with subprocess.Popen(words, cwd=cli.folder, env=environment()) as process:
        _wait_for(Path("entered"), process)
        process.kill()
    (row,) = cli("outcomes", "list", "--json").body["outcomes"]
    assert (row["key"], row["state"], row["cause"]) == ("k1", "unknown", "owner_died")


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_an_effect_leaves_it_unknown(cli: Cli):
    waiting = HANGING.replace("def hang", "async def hang").replace("time.sleep", "await asyncio.sleep")
    Path("hanging.py").write_text(waiting.replace("import time", "import asyncio"))
    with Terminal("call", "hang", "--module", "hanging.py", *FREE, cwd=cli.folder) as terminal:
        _wait_for(Path("entered"), terminal.process)
        terminal.type("\x03")
        assert terminal.end() == 130
    (row,) = cli("outcomes", "list", "--json").body["outcomes"]
    assert (row["state"], row["cause"]) == ("unknown", "cancelled")


def _wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    """Until the file is there; the process is the one that makes it."""
    for _ in range(1500):
        if path.exists():
            return
        try:
            process.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail("the process ended before it got there")
    os.kill(process.pid, signal.SIGKILL)
    pytest.fail("the process did not get there")
