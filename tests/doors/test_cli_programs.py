"""`callgate programs`: run, list, show, resume; a program sleeps in the store between commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doors.running import TOOLS, Cli, Terminal

WITH = ("--module", TOOLS)


def written(folder: Path, source: str) -> str:
    (folder / "program.py").write_text(source)
    return "program.py"


def test_a_program_runs_and_its_value_is_printed(cli: Cli) -> None:
    file = written(cli.folder, "print('counting')\n[word_count(text) for text in texts]")
    done = cli("programs", "run", file, "--inputs", '{"texts": ["a b", "c"]}', *WITH)
    assert (done.code, done.out) == (0, "counting\n[2, 1]\n")
    as_json = cli("programs", "run", file, "--inputs", '{"texts": []}', "--json", *WITH)
    assert as_json.body | {"program_id": ""} == {
        "program_id": "",
        "state": "finished",
        "calls": 0,
        "value": [],
        "printed": "counting\n",
    }


def test_a_program_that_needs_a_person_sleeps_and_says_how_it_goes_on(cli: Cli) -> None:
    file = written(cli.folder, "order(amount=5)")
    slept = cli("programs", "run", file, *WITH)
    assert slept.code == 4, slept
    assert "the program is sleeping" in slept.out
    assert "order waits for a person until" in slept.out
    approve = next(line for line in slept.out.splitlines() if "approvals approve" in line).split()[2:]
    resume = next(line for line in slept.out.splitlines() if "programs resume" in line).split("callgate ", 1)[1].split()
    listed = cli("programs", "list")
    assert "sleeping" in listed.out
    assert "order" in listed.out
    assert cli(*resume).code == 4
    approved = cli(*approve)
    assert approved.code == 0
    assert "go on  callgate programs resume" in approved.out
    assert "the same call again" not in approved.out
    done = cli(*resume)
    assert (done.code, done.out) == (0, "ordered 5\n")
    assert (cli.folder / "ordered.txt").read_text() == "5\n"
    assert (cli.folder / "ordered.txt").read_text() == "5\n"


def test_at_a_terminal_whoever_runs_a_program_is_asked_and_whoever_resumes_it_is_not(cli: Cli) -> None:
    file = written(cli.folder, "order(amount=5)")
    with Terminal("programs", "run", file, "--key", "later", *WITH, cwd=cli.folder) as terminal:
        terminal.expect("> ")
        terminal.type("\n")
        assert terminal.end() == 4
    with Terminal("programs", "resume", "later", *WITH, cwd=cli.folder) as terminal:
        assert terminal.end() == 4
        assert "order waits for a person until" in terminal.seen
    with Terminal("programs", "run", file, "--key", "now", *WITH, cwd=cli.folder) as terminal:
        terminal.expect("> ")
        terminal.type("y\n")
        assert terminal.end() == 0
        assert "ordered 5" in terminal.seen
    assert (cli.folder / "ordered.txt").read_text() == "5\n"


def test_a_program_is_shown_with_a_command_that_finds_its_tools(cli: Cli) -> None:
    file = written(cli.folder, "order(amount=5)")
    name = cli("programs", "run", file, "--json", *WITH).body["program_id"]
    shown = cli("programs", "show", name)
    assert f"callgate programs resume {name} --module MODULE" in shown.out
    assert "where its tools are, if a module was named when it was run" in shown.out
    assert f"callgate programs resume {name} {' '.join(WITH)}\n" in cli("programs", "show", name, *WITH).out
    Path("callgate.yaml").write_text(f"modules: [{WITH[1]}]\n")
    configured = cli("programs", "show", name)
    assert f"callgate programs resume {name}\n" in configured.out


def test_a_program_that_waits_for_another_person_says_so(cli: Cli) -> None:
    rule = "{match: order, verdict: confirm, by: other, why: a second pair of eyes}"
    Path("callgate.yaml").write_text(f"global:\n  rules:\n    - {rule}\n")
    slept = cli("programs", "run", written(cli.folder, "order(amount=5)"), *WITH)
    approve = next(line for line in slept.out.splitlines() if "approvals approve" in line).split()[2:]
    assert approve[-2:] == ["--by", "NAME"]
    assert cli(*approve[:-1], "grace").code == 0


def test_a_program_is_shown_with_its_text_by_the_end_of_its_id(cli: Cli) -> None:
    file = written(cli.folder, "1 / 0")
    failed = cli("programs", "run", file, "--json", *WITH)
    assert failed.code == 1
    name = failed.body["program_id"]
    shown = cli("programs", "show", name[-8:], "--source")
    assert "ZeroDivisionError" in shown.out
    assert shown.out.endswith("1 / 0\n")
    assert cli("programs", "show", name, "--json", "--source").body["source"] == "1 / 0"
    assert [entry["program_id"] for entry in cli("programs", "list", "--json").body["programs"]] == [name]


def test_one_key_is_one_program(cli: Cli) -> None:
    file = written(cli.folder, "word_count('a b')")
    first = cli("programs", "run", file, "--key", "count", "--json", *WITH)
    again = cli("programs", "run", file, "--key", "count", "--json", *WITH)
    assert first.body == again.body
    other = written(cli.folder, "word_count('a b c')")
    refused = cli("programs", "run", other, "--key", "count", *WITH)
    assert (refused.code, refused.out) == (3, "")
    assert "another program" in refused.err


@pytest.mark.parametrize(
    ("content", "words", "code", "said"),
    [
        (b"", ("run", "program.py"), 2, "not empty"),
        (b"\xff\xfe", ("run", "program.py"), 2, "text in UTF-8"),
        (b"1", ("run", "absent.py"), 2, "cannot be read"),
        (b"1", ("run", "program.py", "--inputs", "[1]"), 2, "not an object"),
        (b"1", ("run", "program.py", "--inputs", '{"a b": 1}'), 2, "a name Python accepts"),
        (b"1", ("run", "program.py", "--key", "a/b"), 2, "letters, digits"),
        (b"1", ("show", "nobody"), 2, "Unknown program: nobody"),
        (b"1", ("resume", "nobody"), 2, "Unknown program: nobody"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    cli: Cli, content: bytes, words: tuple[str, ...], code: int, said: str
) -> None:
    (cli.folder / "program.py").write_bytes(content)
    cli.call("word_count", {"text": "a"})
    done = cli("programs", *words, *WITH)
    assert (done.code, done.out) == (code, ""), done
    assert said in done.err
    assert done.err.count("\n") == 1


def test_the_newest_program_is_listed_first(cli: Cli) -> None:
    file = written(cli.folder, "1 + 1")
    for key in ("one", "two", "three"):
        assert cli("programs", "run", file, "--key", key, *WITH).code == 0
    listed = cli("programs", "list", "--json", "--limit", "2").body["programs"]
    assert [entry["program_id"] for entry in listed] == ["three", "two"]


def test_where_there_are_none_it_says_so(cli: Cli) -> None:
    cli.call("word_count", {"text": "a"})
    done = cli("programs", "list")
    assert (done.code, done.out, done.err) == (0, "", "there are no programs\n")


def test_a_dry_run_lists_what_would_happen_and_one_yes_covers_it(cli: Cli) -> None:
    file = written(cli.folder, "for amount in (1, 2):\n    order(amount=amount)\n'both'")
    proposed = cli("programs", "run", file, "--dry-run", "--json", *WITH)
    assert proposed.code == 4
    body = proposed.body
    assert [each["what"].split()[-1] for each in body["plan"]] == ["1", "2"]
    assert not (cli.folder / "ordered.txt").exists()
    shown = cli("programs", "show", body["program_id"])
    assert "1. order" in shown.out
    [question] = body["waiting_for"]
    assert cli("approvals", "approve", question["approval_id"]).code == 0
    done = cli("programs", "resume", body["program_id"], *WITH)
    assert (done.code, done.out) == (0, "both\n"), done
    assert (cli.folder / "ordered.txt").read_text() == "1\n2\n"
