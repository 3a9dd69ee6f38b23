"""`callgate tools diff`, `trust`, `distrust` and `review`: a person looks after foreign tools at the command line."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.doors.running import TOOLS, Cli, Done, Terminal, start

FOREIGN = "tests.doors.cli_foreign_tools"
FILE = Path("callgate.tools.yaml")


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The server as it is at first; `server(" And more.")` changes what it says."""

    def says(text: str) -> None:
        monkeypatch.setenv("SERVER_SAYS", text)
        importlib.reload(importlib.import_module(FOREIGN))

    says("")
    return says


def tools(cli: Cli, *words: str) -> Done:
    return cli("tools", *words, "--module", FOREIGN)


def changed(cli: Cli, server: Any) -> str:
    """A store that knows the server, and a server that changed; the short hash of what it is now."""
    assert cli("call", "gh.get_issue", "--module", FOREIGN).code == 3
    server(" And more.")
    return tools(cli, "diff", "gh.get_issue", "--json").body["definition_hash"][:16]


def test_review_shows_the_groups_with_reasons_and_puts_nothing_in_force(cli: Cli):
    done = tools(cli, "review")
    assert done.code == 0
    heads = [line.partition(":")[0] for line in done.out.splitlines() if ": the" in line]
    assert heads == ["read", "write", "destructive", "suspect"]
    assert 'its name begins with "get", and nothing speaks against it' in done.out
    assert "nothing of this is in force; accept a group with: callgate tools review --accept read" in done.err
    assert list(cli.folder.iterdir()) == []


def test_review_as_json_has_every_field_and_reason(cli: Cli):
    body = tools(cli, "review", "github", "--json").body
    assert (body["accepted"], body["file"]) == ([], None)
    found = {item["tool"]: item for item in body["proposals"]}
    assert found["gh.get_issue"]["group"] == "read"
    assert found["gh.get_issue"]["declaration"]["effects"] == ["read_only", "network_access"]
    assert found["gh.get_issue"]["reasons"].keys() == found["gh.get_issue"]["declaration"].keys()


def test_an_accepted_group_is_in_force_and_the_others_are_not(cli: Cli):
    done = tools(cli, "review", "--accept", "read", "--accept", "write", "--by", "ann")
    assert (done.code, done.out) == (0, f"accepted: 3 tools, into {cli.folder / FILE}; keep it in git\n")
    assert done.err == "2 are not accepted, and nobody may call them\n"
    assert "by: ann" in FILE.read_text()
    assert cli("call", "gh.get_issue", "--module", FOREIGN).out == "Get an issue.\n"
    assert cli("call", "gh.create_issue", "--module", FOREIGN).code == 4
    assert cli("call", "gh.delete_repository", "--module", FOREIGN).code == 3
    left = tools(cli, "review", "--accept", "destructive", "--accept", "suspect", "--json").body
    assert sorted(left["accepted"]) == ["gh.delete_repository", "gh.get_advice"]
    assert "nothing to review" in tools(cli, "review").err
    everything = tools(cli, "review", "--all", "--json").body["proposals"]
    foreign = [proposal for proposal in everything if "canvas" not in str(proposal)]  # that plugin comes with Callgate
    assert (len(foreign), len(everything)) == (5, 8)


def test_review_of_a_source_that_is_not_there_names_those_that_are(cli: Cli):
    done = tools(cli, "review", "gitlab")
    assert (done.code, done.out) == (2, "")
    assert "called 'gitlab' is here; there is mcp github" in done.err
    assert "nothing to review" in cli("tools", "review", "--module", TOOLS).err
    assert tools(cli, "review", "--accept", "everything").code == 2


def test_a_file_that_is_wrong_is_told_with_file_line_and_key(cli: Cli):
    FILE.write_text("version: 1\nmcp: {github: {gh.get_issue: {hash: 1, effect: []}}}\n")
    done = tools(cli, "list")
    assert done.code == 2
    assert "callgate.tools.yaml:2: mcp.github.'gh.get_issue'" in done.err
    assert "did you mean effects?" in done.err


def test_a_changed_tool_is_marked_shown_and_trusted_by_its_definition(cli: Cli, server: Any):
    short = changed(cli, server)
    listed = tools(cli, "list")
    assert "quarantined (it changed since it was trusted (different: description changed)): Get" in listed.out
    assert "quarantined (it changed" in tools(cli, "show", "gh.get_issue").out
    assert "quarantined (it changed" in tools(cli, "search", "issue").out
    marks = {item["name"]: item["quarantined"] for item in tools(cli, "list", "--json").body["tools"]}
    assert "it changed" in marks["gh.get_issue"]
    assert marks["gh.list_issues"] is None
    shown = tools(cli, "diff", "gh.get_issue").out
    assert "- Get an issue." in shown
    assert "+ Get an issue. And more." in shown
    assert f"callgate tools trust gh.get_issue --definition {short} --module {FOREIGN}" in shown
    done = tools(cli, "trust", "gh.get_issue", "--definition", short, "--by", "ann")
    assert (done.code, done.out) == (0, "trusted: gh.get_issue, by ann\n")
    assert "review it: callgate tools review 'mcp github' --module" in done.err
    assert "does not wait" in tools(cli, "diff", "gh.get_issue").out
    told = cli("audit", "list").out
    assert "tool.quarantined" in told
    assert "tool.trusted" in told


def test_a_text_without_end_is_told_by_its_length(cli: Cli, server: Any):
    assert cli("call", "gh.get_issue", "--module", FOREIGN).code == 3
    server("\nmore" * 3000)
    shown = tools(cli, "diff", "gh.get_issue").out
    assert "has 3001 lines, and had 1; too many to show here, see --json" in shown


def test_after_trusting_what_was_accepted_before_has_to_be_reviewed_again(cli: Cli, server: Any):
    tools(cli, "review", "--accept", "read")
    assert cli("call", "gh.get_issue", "--module", FOREIGN).code == 0
    server(" And more.")
    short = tools(cli, "diff", "gh.get_issue", "--json").body["definition_hash"][:16]
    trusted = tools(cli, "trust", "gh.get_issue", "--definition", short)
    assert cli("call", "gh.get_issue", "--module", FOREIGN).code == 3
    assert "nobody may call it yet" in trusted.err
    again = shlex.split(trusted.err.split("review it: callgate ", 1)[1])
    assert cli(*again, "--accept", "read").code == 0
    assert cli("call", "gh.get_issue", "--module", FOREIGN).code == 0


def test_another_definition_than_the_one_looked_at_is_not_trusted(cli: Cli, server: Any):
    short = changed(cli, server)
    server(" And yet more.")
    for definition in (short, "0" * 64, tools(cli, "diff", "gh.get_issue", "--json").body["definition_hash"][:4]):
        done = tools(cli, "trust", "gh.get_issue", "--definition", definition)
        assert done.code == 2
        assert "look at it again: callgate tools diff gh.get_issue" in done.err
    assert tools(cli, "diff", "gh.get_issue", "--json").body["quarantined"] is not None


def test_where_nobody_can_be_asked_the_definition_must_be_named(cli: Cli, server: Any):
    changed(cli, server)
    done = start("tools", "trust", "gh.get_issue", "--module", FOREIGN, cwd=cli.folder, SERVER_SAYS=" And more.")
    assert (done.code, done.out) == (2, "")
    assert "say what you looked at: callgate tools trust gh.get_issue --definition" in done.err


def test_what_does_not_wait_is_not_trusted_and_an_agent_never_trusts(cli: Cli, server: Any):
    short = changed(cli, server)
    done = tools(cli, "trust", "gh.list_issues", "--definition", short)
    assert (done.code, "nothing to trust" in done.err) == (2, True)
    agent = tools(cli, "trust", "gh.get_issue", "--definition", short, "--by", "Agent")
    assert (agent.code, "it takes a person" in agent.err) == (2, True)
    assert tools(cli, "trust", "gh.nothing").code == 2
    assert tools(cli, "diff", "gh.nothing").code == 2


def test_distrust_holds_a_tool_until_somebody_trusts_it(cli: Cli):
    assert tools(cli, "review", "--accept", "read").code == 0
    done = tools(cli, "distrust", "gh.get_issue", "--why", "odd answers", "--by", "ann")
    assert (done.code, done.out) == (0, "quarantined: ann does not trust it: odd answers\n")
    refused = cli("call", "gh.get_issue", "--module", FOREIGN)
    assert (refused.code, "odd answers" in refused.err) == (3, True)
    short = tools(cli, "diff", "gh.get_issue", "--json").body["definition_hash"]
    assert tools(cli, "trust", "gh.get_issue", "--definition", short, "--json").body["quarantined"] is None
    assert cli("call", "gh.get_issue", "--module", FOREIGN).code == 0
    assert tools(cli, "distrust", "gh.get_issue", "--why", " ").code == 2
    assert tools(cli, "distrust", "gh.get_issue", "--why", "x", "--json").body["quarantined"].endswith("it: x")


def test_at_a_terminal_a_person_is_asked(cli: Cli, server: Any):
    changed(cli, server)
    words = ("--module", FOREIGN, "--by", "ann")
    more = {"SERVER_SAYS": " And more."}
    with Terminal("tools", "trust", "gh.get_issue", *words, cwd=cli.folder, more=more) as terminal:
        terminal.expect("+ Get an issue. And more.")
        terminal.expect("Trust exactly this?")
        terminal.type("n\n")
        assert terminal.end() == 2
    assert "goes on waiting" in terminal.seen
    with Terminal("tools", "trust", "gh.get_issue", *words, cwd=cli.folder, more=more) as terminal:
        terminal.expect("Trust exactly this?")
        terminal.type("y\n")
        terminal.expect("trusted: gh.get_issue, by ann")
        assert terminal.end() == 0
    with Terminal("tools", "review", *words, cwd=cli.folder, more=more) as terminal:
        terminal.expect("Accept these 2 as proposed?")
        terminal.type("y\n")
        for number in (1, 1, 1):
            terminal.expect(f"Accept these {number} as proposed?")
            terminal.type("\n")
        terminal.expect("accepted: 2 tools")
        assert terminal.end() == 0
    assert "gh.delete_repository" not in FILE.read_text()


def test_langchain_tools_of_a_module_are_listed_reviewed_and_called(cli: Cli):
    module = ("--module", "tests.doors.cli_langchain_tools")
    listed = [each["name"] for each in cli("tools", "list", *module, "--json").body["tools"]]
    assert listed[:2] == ["get_word", "get_time"]
    assert cli("call", "get_time", *module).out == "noon\n"
    assert cli("call", "get_word", '{"number": 1}', *module).code == 3
    accepted = cli("tools", "review", "--accept", "read", *module)
    assert accepted.out.startswith("accepted: 1 tool, into ")
    assert cli("call", "get_word", '{"number": 1}', *module).out == "one\n"
