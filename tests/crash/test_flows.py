"""Chains and plans whose process dies between two calls, in one, or while a person's answer is written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.approval import ApprovalState
from tests.crash.processes import ROOT
from tests.crash.waiting import WITHIN

pytestmark = [pytest.mark.crash, pytest.mark.slow]


class Flow:
    """Runs of one flow on one store, each in a process of its own."""

    def __init__(self, url: str, folder: Path, what: str) -> None:
        self._order = {"url": url, "folder": str(folder), "what": what}
        self._effects = folder / "effects"

    @property
    def marks(self) -> list[int]:
        """What really happened, in order."""
        return [int(line) for line in self._effects.read_text().split()] if self._effects.exists() else []

    def run(self, **more: str) -> dict[str, Any]:
        done = self._start(**more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def die(self, **more: str) -> None:
        assert self._start(**more).returncode == -signal.SIGKILL

    def _start(self, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.crash.flow_worker", json.dumps(self._order | more)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WITHIN, check=False)


@pytest.mark.requirement("CHN-10")
@pytest.mark.parametrize("stop", ["before:0", "after:0", "after:1", "before:3", "after:5"])
async def test_a_chain_whose_process_died_between_two_calls_goes_on_and_repeats_nothing(
    url: str, tmp_path: Path, stop: str
):
    flow = Flow(url, tmp_path, "chain")
    flow.die(stop=stop)
    assert flow.marks == [0, 1, 2, 3][: len(flow.marks)]
    told = flow.run()
    assert told["status"] == "succeeded"
    assert told["values"] == {"a": 1, "b": 1, "c": 1}
    assert flow.marks == [0, 1, 2, 3]
    assert flow.run() == told
    assert flow.marks == [0, 1, 2, 3]
    async with Callgate.open(url) as gate:
        assert (await gate.verify_audit()).ok
        records = [event.type async for event in gate.events(types=["chain.*"])]
        # What was begun before anything was durable may be gone with its process.
        assert records[-4:] == ["chain.started", "chain.ended"] * 2
        assert records[:-4] in ([], ["chain.started"])


async def test_a_chain_whose_process_died_in_an_effect_stops_there_and_repeats_nothing(url: str, tmp_path: Path):
    flow = Flow(url, tmp_path, "chain")
    flow.die(stop="inside:2")
    for _ in range(2):
        told = flow.run()
        assert told["status"] == "refused"
        assert told["steps"] == [*["succeeded"] * 3, "refused", "waiting", "waiting"]
        assert flow.marks == [0, 1, 2]


@pytest.mark.parametrize("stop", ["before:0", "before:2", "after:3"])
async def test_a_plan_whose_process_died_goes_on_with_the_answer_it_had(url: str, tmp_path: Path, stop: str):
    flow = Flow(url, tmp_path, "plan")
    assert flow.run()["steps"] == ["pending"] * 4
    flow.die(decide="yes", stop=stop)
    told = flow.run()
    assert told["steps"] == ["succeeded"] * 4
    assert flow.marks == [0, 1, 2, 3]
    async with Callgate.open(url) as gate:
        (question,) = await gate.approvals(states=None)
        assert question.state is ApprovalState.USED
        assert (await gate.verify_audit()).ok


async def test_a_process_that_dies_while_an_answer_is_written_has_decided_nothing(url: str, tmp_path: Path):
    flow = Flow(url, tmp_path, "plan")
    asked = flow.run()["approval"]
    flow.die(decide="half")
    async with Callgate.open(url) as gate:
        (question,) = await gate.approvals(states=None)
        assert (question.id, question.state, question.votes) == (asked, ApprovalState.PENDING, ())
        assert (await gate.verify_audit()).ok
    assert flow.run(decide="yes")["steps"] == ["succeeded"] * 4
    assert flow.marks == [0, 1, 2, 3]
