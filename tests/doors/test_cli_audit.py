"""`callgate audit` and `callgate evidence`: the record is listed, told, proven, packed, and found out when edited."""

import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.event_text import TOLD
from callgate.events.vocabulary import KINDS
from tests.doors.running import TOOLS, Cli, Terminal, start

DATABASE = Path(".callgate/callgate.db")
OWN = {"stream.opened", "stream.closed", "audit.checkpoint", "tool.registered", "tool.removed"}


@pytest.fixture
def used(cli: Cli) -> Cli:
    """A store in which a call was made and another waits."""
    assert cli.call("word_count", {"text": "a b"}).code == 0
    cli.ask_to_pay(5, "--key", "k1")
    return cli


def forge() -> int:
    """Edit a recorded payment as somebody with the file could; its number in its stream."""
    database = sqlite3.connect(DATABASE, isolation_level=None)
    for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        database.execute(f'DROP TRIGGER "{name}"')
    position, sequence = database.execute(
        "SELECT position, sequence FROM events WHERE type = 'gate.required'"
    ).fetchone()
    database.execute("UPDATE events SET payload = replace(payload, 'bob', 'eve') WHERE position = ?", (position,))
    database.close()
    return sequence


def counted(database: Path = DATABASE) -> int:
    connection = sqlite3.connect(database)
    try:
        return connection.execute("SELECT count(*) FROM events").fetchone()[0]
    finally:
        connection.close()


def test_an_untouched_record_verifies(used: Cli):
    done = used("audit", "verify")
    assert done.code == 0
    assert done.out.startswith("verified: the audit log, ")
    body = used("audit", "verify", "--json").body
    assert body["ok"] is True
    assert body["problems"] == []
    assert body["keys"]


def test_an_edited_row_is_named_and_exits_with_seven(used: Cli):
    sequence = forge()
    done = used("audit", "verify")
    assert done.code == 7
    assert f"event {sequence} " in done.out
    assert "gate.required" in done.out
    body = used("audit", "verify", "--json")
    assert body.code == 7
    assert body.body["broken_at"]["sequence"] == sequence


def test_events_are_listed_without_the_records_own_unless_asked_for(used: Cli):
    types = [event["type"] for event in used("audit", "list", "--json").body["events"]]
    assert types == ["tool_call.attempted", "tool_call.succeeded", "gate.required"]
    everything = {event["type"] for event in used("audit", "list", "--all", "--limit", "500", "--json").body["events"]}
    assert {"stream.opened", "audit.checkpoint", "tool.registered"} <= everything
    assert "word_count" in used("audit", "list").out


def test_every_type_of_event_is_either_told_or_the_records_own():
    from fnmatch import fnmatchcase  # noqa: PLC0415

    told = {name for name in KINDS if any(fnmatchcase(name, pattern) for pattern in TOLD)}
    assert told | OWN == set(KINDS)
    assert not told & OWN


def test_the_record_can_be_looked_at_and_decided_on_when_a_module_is_broken(used: Cli):
    Path("callgate.yaml").write_text("version: 1\nmodules: [no_such_module]\n")
    (waiting,) = used("approvals", "list", "--json").body["approvals"]
    assert used("audit", "verify").code == 0
    assert used("outcomes", "list").code == 0
    assert used("approvals", "reject", waiting["id"], "--by", "ann").code == 0
    assert used("call", "word_count").code == 2


def test_filters_choose_and_the_limit_takes_the_newest(used: Cli):
    for amount in (6, 7):
        used.ask_to_pay(amount)

    def listed(*options: str) -> list[dict[str, Any]]:
        return used("audit", "list", "--json", *options).body["events"]

    whats = [event["payload"]["what"] for event in listed("--type", "gate.*", "--limit", "2")]
    assert ["amount: 6.0" in whats[0], "amount: 7.0" in whats[1]] == [True, True]
    newest = listed("--all", "--limit", "3")
    assert len(newest) == 3
    assert newest[-1]["type"] == "stream.closed"
    (call,) = {event["call"] for event in listed("--type", "tool_call.succeeded")}
    assert [event["type"] for event in listed("--call", call)] == ["tool_call.attempted", "tool_call.succeeded"]
    assert listed("--since", "1h") == listed()
    assert listed("--until", "2020-01-01") == []
    assert used("audit", "list", "--until", "2020-01-01T10:00").err == "no event fits\n"


def test_the_story_of_a_call_a_trace_and_an_event_are_told(used: Cli):
    event = used("audit", "list", "--type", "gate.required", "--json").body["events"][0]
    for identifier in (event["call"], event["trace"], event["id"]):
        done = used("audit", "show", identifier)
        assert done.code == 0
        assert "gate.required" in done.out
        assert "confirm: high risk at autonomy A2" in done.out
        assert re.search(r"expires_at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", done.out)
    assert used("audit", "show", event["id"], "--json").body["events"][0]["id"] == event["id"]


@pytest.mark.requirement("EVT-15")
def test_the_story_of_a_call_begins_with_what_it_comes_to(used: Cli):
    event = used("audit", "list", "--type", "tool_call.succeeded", "--json").body["events"][0]
    shown = used("audit", "show", event["call"], "--json").body
    assert shown["invocation"]["call"] == event["call"]
    assert (shown["invocation"]["success"], shown["invocation"]["caller_type"]) == (True, "direct")
    assert shown["events"][-1]["id"] == event["id"]
    told = used("audit", "show", event["call"]).out
    assert told.startswith(f"{shown['invocation']['tool']} succeeded\n")
    assert "invocation" not in used("audit", "show", event["trace"], "--json").body


def test_an_empty_store_has_no_usage_and_no_calls(cli: Cli):
    assert cli.call("nothing").code == 3
    assert cli("audit", "usage").err == "nothing was called yet\n" or cli("audit", "usage").out
    assert cli("audit", "export", "events.jsonl").out.endswith("events are in events.jsonl\n")


def test_calls_and_their_counts_are_listed(used: Cli):
    assert used.call("broken").code == 1
    done = used("audit", "calls")
    assert [line.split()[2:4] for line in done.out.splitlines()[1:]] == [
        ["word_count", "succeeded"],
        ["pay", "pending"],
        ["broken", "failed"],
    ]
    (only,) = used("audit", "calls", "--tool", "pay", "--status", "pending", "--json").body["calls"]
    assert (only["tool"], only["risk"]) == ("pay", "high")
    assert used("audit", "calls", "--session", "other").err == "no call fits\n"
    counts = {entry["tool"]: entry for entry in used("audit", "usage", "--json").body["usage"]}
    assert (counts["word_count"]["succeeded"], counts["pay"]["pending"]) == (1, 1)
    assert "1 succeeded" in used("audit", "usage").out


def test_how_a_call_stands_and_what_a_person_said_are_told_apart(cli: Cli):
    def rows() -> list[str]:
        return cli("audit", "calls", "--tool", "pay").out.splitlines()[1:]

    question = cli.ask_to_pay(5)
    assert "pending  is asked" in rows()[0]
    cli("approvals", "approve", question, "--by", "ann")
    assert "pending  ann said yes, not run yet" in rows()[0]
    assert cli.call("pay", {"to": "bob", "amount": 5}).code == 0
    asked, ran = rows()
    assert "resumed in a later call  ann said yes" in asked
    assert "succeeded" in ran
    cli("approvals", "reject", cli.ask_to_pay(6), "--by", "ann")
    assert "refused (approval_rejected)  ann said no" in re.sub("  +", "  ", rows()[-1])
    (usage,) = [line for line in cli("audit", "usage").out.splitlines() if " pay " in line]
    assert re.split("  +", usage)[1:4] == ["pay", "2", "1 succeeded, 1 refused"]
    (resumed,) = cli("audit", "calls", "--status", "resumed", "--json").body["calls"]
    assert (resumed["question"], resumed["decided_by"]) == ("used", "ann")


def test_looking_records_nothing_but_that_the_store_was_opened(used: Cli):
    before = counted()
    used("audit", "verify")
    opening = counted() - before
    for words in (["list"], ["calls"], ["usage"], ["show", "x"]):
        before = counted()
        used("audit", *words)
        assert counted() - before == opening, words


def test_events_are_exported_as_json_lines_to_a_new_file_or_stdout(used: Cli):
    done = used("audit", "export", "events.jsonl", "--type", "tool_call.succ*", "--json")
    assert done.body == {"file": "events.jsonl", "events": 1}
    (line,) = Path("events.jsonl").read_text().splitlines()
    assert json.loads(line)["type"] == "tool_call.succeeded"
    assert Path("events.jsonl").stat().st_mode & 0o777 == 0o600
    again = used("audit", "export", "events.jsonl")
    assert again.code == 2
    assert "is there already" in again.err
    piped = start("audit", "export", "-", "--type", "gate.*", cwd=used.folder)
    assert [json.loads(line)["type"] for line in piped.out.splitlines()] == ["gate.required"]


def test_what_is_worked_out_can_be_made_again(used: Cli):
    before = used("audit", "calls", "--json").body
    assert "calls" in used("audit", "rebuild").out
    assert used("audit", "rebuild", "--json").body["rebuilt"]
    assert used("audit", "calls", "--json").body == before


def test_erased_content_is_gone_and_the_record_still_verifies(used: Cli):
    call = used("audit", "calls", "--tool", "pay", "--json").body["calls"][0]["call"]
    assert used(
        "audit", "erase", "--call", call, "--why", "asked for", "--by", "ann", "--confirmed", "--json"
    ).body == {"erased": 1}
    assert used("audit", "show", call).out.startswith("(erased) ")
    assert "its content was erased" in used("audit", "show", call).out
    assert "(erased)" in used("audit", "list").out
    (erased,) = used("audit", "list", "--type", "audit.erased", "--json").body["events"]
    assert (erased["payload"]["by"], erased["payload"]["why"]) == ("ann", "asked for")
    assert used("audit", "verify").code == 0


@pytest.mark.slow
def test_erasing_asks_a_person_at_the_terminal(used: Cli):
    words = ("audit", "erase", "--type", "gate.*", "--why", "asked for")
    with Terminal(*words, cwd=used.folder) as terminal:
        terminal.expect("The content of 1 event of 1 call will be gone.")
        terminal.expect("Type erase to go on")
        terminal.type("no\n")
        assert terminal.end() == 2
        assert "nothing was erased" in terminal.seen
    with Terminal(*words, cwd=used.folder) as terminal:
        terminal.expect("Type erase to go on")
        terminal.type("erase\n")
        assert terminal.end() == 0
        assert "erased: the content of 1 events" in terminal.seen


@pytest.mark.slow
@pytest.mark.parametrize("command", [("audit", "list", "--follow"), ("watch",)], ids=["audit-list", "watch"])
def test_following_tells_events_as_they_come_until_ctrl_c(used: Cli, command: tuple[str, ...]):
    with Terminal(*command, cwd=used.folder) as terminal:
        terminal.expect("gate.required")
        used.call("broken")
        terminal.expect("tool_call.failed")
        terminal.type("\x03")
        assert terminal.end() == 0


@pytest.mark.slow
def test_following_as_json_is_one_document_per_line(used: Cli):
    with Terminal("audit", "list", "--follow", "--json", "--type", "gate.*", cwd=used.folder) as terminal:
        terminal.expect('"type": "gate.required"')
        terminal.type("\x03")
        assert terminal.end() == 0
        (line,) = [line for line in terminal.seen.splitlines() if line.startswith("{")]
        assert json.loads(line)["type"] == "gate.required"


def test_evidence_verifies_elsewhere_without_store_and_key(used: Cli, tmp_path_factory: pytest.TempPathFactory):
    done = used("evidence", "export", "evidence.zip", "--json")
    assert done.code == 0
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    Path("evidence.zip").rename(elsewhere / "evidence.zip")
    os.chdir(elsewhere)
    verified = used("evidence", "verify", "evidence.zip")
    assert verified.code == 0
    assert verified.out.startswith("verified: evidence.zip, ")
    body = used("evidence", "verify", "evidence.zip", "--json").body
    assert body["ok"] is True
    assert "its signatures are checked with the keys it brings" in used("evidence", "verify", "evidence.zip").out
    known = used("evidence", "verify", "evidence.zip", "--trust", body["keys"][0].upper())
    assert known.code == 0
    assert "the keys it brings" not in known.out, "it was told which to trust"
    odd = used("evidence", "verify", "evidence.zip", "--trust", "0000:0000")
    assert (odd.code, "is no fingerprint" in odd.err) == (2, True)
    stranger = used("evidence", "verify", "evidence.zip", "--trust", ":".join(["0000"] * 8))
    assert "its signatures are checked with the keys it brings" in stranger.out
    assert stranger.code == 7
    assert "which you do not trust" in stranger.out


def test_who_trusts_a_key_is_not_told_that_unsigned_evidence_is_verified(used: Cli):
    """Without its signature, whoever has the package can change its approvals and the manifest with them."""
    used("evidence", "export", "evidence")
    [key] = used("evidence", "verify", "evidence", "--json").body["keys"]
    Path("evidence/manifest.sig").unlink()
    done = used("evidence", "verify", "evidence", "--trust", key)
    assert done.code == 7
    assert "the package itself is not signed" in done.out
    assert used("evidence", "verify", "evidence", "--trust", key, "--json").body["ok"] is False
    assert used("evidence", "verify", "evidence").code == 0, "who trusts nobody is told in a note"


def test_changed_evidence_exits_with_seven(used: Cli):
    used("evidence", "export", "evidence", "--type", "gate.*")
    events = Path("evidence/events.jsonl")
    events.chmod(0o600)
    events.write_text(events.read_text().replace("bob", "eve"))
    done = used("evidence", "verify", "evidence")
    assert done.code == 7
    assert "events.jsonl is not the file its manifest tells of" in done.out


def test_evidence_never_replaces_anything(used: Cli):
    Path("there").touch()
    done = used("evidence", "export", "there")
    assert done.code == 2
    assert "is there already" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "show", "x"], "no call, trace or event has the id x"),
        (["audit", "show"], "Missing argument 'ID'"),
        (["audit", "list", "--since", "yesterday"], "'yesterday' is no time"),
        (["audit", "list", "--limit", "0"], "is not in the range"),
        (["audit", "calls", "--status", "odd"], "is not one of"),
        (["audit", "export"], "Missing argument 'FILE'"),
        (["audit", "export", "no/such/folder/x"], "cannot be written: No such file"),
        (["audit", "export", "-", "--json"], "leave --json out"),
        (["audit", "erase", "--why", "x"], "say which events"),
        (["audit", "erase", "--call", "x"], "Missing option '--why'"),
        (["audit", "erase", "--call", "x", "--why", " ", "--confirmed"], "--why is empty"),
        (["audit", "erase", "--call", "x", "--why", "x"], "say --confirmed"),
        (["audit", "erase", "--call", "x", "--why", "x", "--confirmed"], "no event fits that has content to erase"),
        (["evidence", "export", "x.zip", "--call", "x"], "no event fits, so nothing was packed"),
        (["audit", "verify", "extra"], "unexpected extra argument"),
        (["audit", "rebuild", "extra"], "unexpected extra argument"),
        (["audit", "usage", "extra"], "unexpected extra argument"),
        (["evidence", "export"], "Missing argument 'FILE'"),
        (["evidence", "verify"], "Missing argument 'FILE'"),
        (["evidence", "verify", "absent.zip"], "there is no evidence at absent.zip"),
    ],
)
def test_bad_words_are_one_line(used: Cli, words: list[str], said: str):
    done = used(*words)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "verify"],
        ["audit", "list"],
        ["audit", "list", "--follow"],
        ["audit", "show", "x"],
        ["audit", "calls"],
        ["audit", "usage"],
        ["audit", "export", "-"],
        ["audit", "rebuild"],
        ["audit", "erase", "--call", "x", "--why", "x", "--confirmed"],
        ["evidence", "export", "x.zip"],
    ],
)
def test_a_store_that_is_not_there_is_an_error_and_never_verifies(cli: Cli, words: list[str]):
    done = cli(*words, "--store", "typing-mistake.db", "--module", TOOLS)
    assert done.code == 2
    assert "there is no store at sqlite:///typing-mistake.db" in done.err
    assert list(cli.folder.iterdir()) == []
