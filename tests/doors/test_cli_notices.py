"""`callgate notices`: what agents left for themselves, to be looked at by people and collected by scripts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.doors.running import Cli


def leave(cli: Cli, message: str, *options: str, **more: Any) -> None:
    done = cli.call("notify_self", {"message": message} | more, "--autonomy", "A4", *options)
    assert done.code == 0, done


@pytest.fixture
def left(cli: Cli) -> Cli:
    """Three notices: of a session, of another agent for another user, and one that outlives its session."""
    leave(cli, "The tests need a database.", "--session", "monday", priority="high")
    leave(cli, "Ask ann first.", "--session", "monday", "--principal", "helper", "--user", "ann")
    leave(cli, "Renew the lease.", persist_cross_session=True, category="reminder", deliver_at="immediate")
    return cli


def messages(cli: Cli, *words: str) -> list[str]:
    return [each["message"] for each in cli("notices", *words, "--json").body["notices"]]


def test_what_waits_is_listed_with_whom_it_waits_for_and_goes_on_waiting(left: Cli):
    first, again = (left("notices", "list", "--json").body["notices"] for _ in range(2))
    assert first == again
    assert [(each["message"], each["principal"], each["session"]) for each in first] == [
        ("The tests need a database.", "agent", "monday"),
        ("Ask ann first.", "helper", "monday"),
        ("Renew the lease.", "agent", "default"),
    ]
    assert first[1]["user"] == "ann"
    shown = left("notices", "list").out.splitlines()
    assert "helper for ann" in shown[2]
    assert "default, or later" in shown[3]
    assert "reminder" in shown[3]


def test_the_list_can_be_narrowed(left: Cli):
    assert messages(left, "list", "--principal", "helper") == ["Ask ann first."]
    assert messages(left, "list", "--user", "ann") == ["Ask ann first."]
    assert messages(left, "list", "--session", "default") == ["Renew the lease."]
    assert messages(left, "list", "--limit", "1") == ["Renew the lease."]
    assert "the newest 1" in left("notices", "list", "--limit", "1").err
    done = left("notices", "list", "--user", "bob")
    assert (done.code, done.out, "nothing waits" in done.err) == (0, "", True)


def test_each_is_collected_once_by_whom_it_waits_for(left: Cli):
    done = left("notices", "collect", "--session", "monday", "--at", "turn_start")
    assert (done.code, done.out) == (0, "- (high context) The tests need a database.\n")
    assert messages(left, "list") == ["Ask ann first.", "Renew the lease."]
    assert messages(left, "collect", "--session", "tuesday") == ["Renew the lease."]
    assert messages(left, "collect", "--session", "monday", "--principal", "helper", "--user", "ann") == [
        "Ask ann first."
    ]
    done = left("notices", "collect", "--session", "monday")
    assert (done.code, done.out, "nothing waits" in done.err) == (0, "", True)


def test_what_ended_with_its_command_is_not_said_to_wait(cli: Cli):
    leave(cli, "Nobody can come back to this session.")
    assert messages(cli, "list") == []


def test_a_message_shows_what_is_hidden_in_it(cli: Cli):
    leave(cli, "one\u200bline\nand \x1b[31manother", "--session", "monday")
    for words in (("list",), ("collect", "--session", "monday")):
        out = cli("notices", *words).out
        assert "<U+200B>" in out
        assert "\x1b" not in out


def test_what_cannot_be_is_told(cli: Cli):
    assert cli("notices", "list").code == 2  # there is no store, and looking makes none
    leave(cli, "x", "--session", "monday")
    assert cli("notices", "collect", "--session", " ").code == 2
    assert cli("notices", "collect", "--at", "noon").code == 2
