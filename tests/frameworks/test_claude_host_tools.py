"""Claude Code's own tools before the gate: it asks about each of them, and runs only what the gate allows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.frameworks.claude_agent.judging import Judge
from examples.scripted_anthropic import says, uses
from tests.frameworks.claude_house import Talk, approve, approve_all, converse, lines, reject
from tests.journeys.faulty import make_faulty

pytestmark = pytest.mark.slow
AGENT = {"description": "x", "prompt": "y", "subagent_type": "general-purpose", "run_in_background": False}


def bash(command: str) -> dict[str, str]:
    return {"command": command, "description": "x"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host") / "work"


@pytest.fixture(scope="module")
def talk(folder: Path) -> Talk:
    """A host that was told to allow everything by itself, and uses its own tools."""
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    (folder.parent / "secret.txt").write_text("hidden\n")
    return converse(
        folder,
        uses(
            ("toolu_read", "Read", {"file_path": str(folder / "a.txt")}),
            ("toolu_outside", "Read", {"file_path": str(folder.parent / "secret.txt")}),
            ("toolu_yes", "Bash", bash("echo yes >> host.txt")),
            ("toolu_edit", "Bash", bash("echo asked >> host.txt")),
            ("toolu_no", "Bash", bash("echo no >> host.txt")),
            ("toolu_policy", "Bash", bash("sudo echo root >> host.txt")),
            ("toolu_fails", "Bash", bash("echo failed >> host.txt; exit 3")),
            ("toolu_unknown", "CronCreate", {"cron": "0 0 * * *", "prompt": "echo cron"}),
        ),
        uses(("toolu_agent", "Agent", AGENT)),
        uses(("toolu_of_agent", "Bash", bash("sudo echo agent >> host.txt"))),
        says("Done."),
        says("Done."),
        answers={
            "echo yes": approve(),
            "echo asked": approve(command="echo edited >> host.txt", description="x"),
            "echo no": reject("not that"),
            "echo failed": approve(),
        },
        permission_mode="bypassPermissions",
        env={"IS_SANDBOX": "1"},  # the host refuses that mode to root elsewhere
    )


def test_a_read_that_policy_allows_runs_and_one_outside_does_not_although_the_host_would_allow_it(talk: Talk):
    assert "hello" in talk.results["toolu_read"]
    assert "Not run (policy_denied)" in talk.results["toolu_outside"]
    assert "hidden" not in str(talk.results)


def test_what_a_person_allows_runs_what_they_changed_runs_so_and_what_they_reject_does_not(talk: Talk, folder: Path):
    assert sorted(lines(folder / "host.txt")) == ["edited", "failed", "yes"]
    assert "ann rejected this call: not that" in talk.results["toolu_no"]


def test_what_policy_denies_is_denied_with_its_reason_also_in_an_agent_that_the_agent_started(talk: Talk):
    assert "nobody is root here" in talk.results["toolu_policy"]
    assert "nobody is root here" in talk.results["toolu_of_agent"]


def test_what_is_not_declared_is_denied(talk: Talk):
    assert talk.results["toolu_unknown"].startswith("Not run: CronCreate is not declared at the gate.")


def test_the_host_reports_how_each_call_ended(talk: Talk):
    assert sorted(talk.ends("host.read")) == ["attempted", "refused", "succeeded"]
    ended = talk.ends("host.bash")
    assert (ended.count("succeeded"), ended.count("failed"), ended.count("refused")) == (2, 1, 3)
    failed = [event for event in talk.events if event.type == "tool_call.failed"]
    assert "Exit code 3" in str(failed[0].payload)
    assert talk.ends("host:CronCreate") == ["refused"]


def test_a_call_that_nobody_decides_is_denied_with_its_id_and_passes_once_it_is_approved(tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()
    command = bash("echo later >> host.txt")
    talk = converse(
        folder,
        uses(("toolu_1", "Bash", command)),
        uses(("toolu_2", "Bash", bash("echo look >> host.txt"))),
        uses(("toolu_3", "Bash", command)),
        says("Done."),
        # The second question is the sign that the model has read about the first.
        answers={"echo look": lambda gate, _question: approve_all(gate)},
        wait=1,
    )
    told = talk.results["toolu_1"]
    assert re.search(r"The question is approval [0-9a-f-]{36}; once it is decided, make the same call again\.", told)
    assert [word for word in lines(folder / "host.txt") if word == "later"] == ["later"]
    assert talk.results["toolu_3"] == "(Bash completed with no output)"


async def _break_judging(gate: Callgate) -> None:
    async def broken(*_given: object, **_more: object) -> None:
        raise RuntimeError("nobody expected this")

    gate.judge = broken  # pyright: ignore[reportAttributeAccessIssue]


async def _break_store(gate: Callgate) -> None:
    make_faulty(gate).broken = True


@pytest.mark.parametrize(
    ("trouble", "why"),
    [(_break_judging, "the gate could not judge it (RuntimeError)"), (_break_store, "store_unavailable")],
)
def test_whatever_fails_at_the_gate_nothing_runs_at_the_host(
    tmp_path: Path, trouble: Callable[[Callgate], Any], why: str
):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    talk = converse(
        folder,
        uses(
            ("toolu_1", "Read", {"file_path": str(folder / "a.txt")}),
            ("toolu_2", "Write", {"file_path": str(folder / "b.txt"), "content": "x"}),
        ),
        says("Done."),
        before=trouble,
        permission_mode="acceptEdits",
        allowed_tools=["Read", "Write"],
    )
    assert why in talk.results["toolu_1"]
    assert why in talk.results["toolu_2"]
    assert "hello" not in str(talk.results)
    assert not (folder / "b.txt").exists()


def test_settings_that_allow_everything_and_switch_hooks_off_do_not_lead_past_the_gate(tmp_path: Path):
    folder, settings = tmp_path / "work", tmp_path / "home" / ".claude" / "settings.json"
    folder.mkdir()
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"disableAllHooks": True, "permissions": {"allow": ["Bash", "Read", "Write"]}}))
    (tmp_path / "secret.txt").write_text("hidden\n")
    talk = converse(
        folder,
        uses(
            ("toolu_1", "Read", {"file_path": str(tmp_path / "secret.txt")}),
            ("toolu_2", "Bash", bash("sudo echo root >> host.txt")),
        ),
        says("Done."),
        setting_sources=["user"],
    )
    assert "Not run (policy_denied)" in talk.results["toolu_1"]
    assert "nobody is root here" in talk.results["toolu_2"]
    assert lines(folder / "host.txt") == []


def test_a_hook_that_fails_blocks_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def broken(*_given: object) -> None:
        raise RuntimeError("nobody expected this")

    monkeypatch.setattr(Judge, "before", broken)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    talk = converse(folder, uses(("toolu_1", "Read", {"file_path": str(folder / "a.txt")})), says("Done."))
    assert "hello" not in talk.results["toolu_1"]
    assert talk.ends("host.read") == []
