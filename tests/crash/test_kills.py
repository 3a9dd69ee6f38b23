"""Processes are killed at random instants under load; what they promised holds, for whoever comes after them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.approval import ApprovalState
from tests.crash.journal import read_journals
from tests.crash.promises import approval_states, broken_promises, gather, given_up
from tests.crash.workload import FREE, TOOLS, effects_in

pytestmark = [pytest.mark.crash, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent
KILLS = 200
LONGEST = 110
"""Seconds; about three times what it takes on two cores."""


def rage(url: str, folder: Path, seed: int) -> dict[str, Any]:
    order = {"url": url, "folder": str(folder), "seed": seed, "kills": KILLS, "rounds": 10, "processes": 4}
    command = [sys.executable, "-m", "tests.crash.storm", json.dumps(order)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.requirement("IDM-01", "IDM-04", "IDM-07", "IDM-11", "EVT-04", "EVT-08", "APR-05")
async def test_two_hundred_killed_processes_break_no_promise(url: str, tmp_path: Path, seed: int) -> None:
    figures = rage(url, tmp_path, seed)
    record, effects = read_journals(tmp_path), effects_in(tmp_path / "effects")
    figures["calls"] = len(record.told)
    figures["effects"] = sum(map(len, effects.values()))
    print(json.dumps(figures), dict(Counter(told.status for told in record.told)))  # noqa: T201 - shown with -s
    assert record.trouble == ()
    assert figures["killed"] >= KILLS
    gate = Callgate.open(url, FREE)
    gate.add(*TOOLS)
    async with gate:
        evidence = await gather(gate, record, effects)
        assert broken_promises(evidence) == []
        report = await gate.verify_audit()
        assert report.problems == ()
        assert report.ok
        rows, told = await given_up(gate)
        assert rows <= told
        assert len(told) >= KILLS / 4, "hardly anybody was killed in the middle of a call"
        states = await approval_states(gate)
        assert states[ApprovalState.USED] >= KILLS / 4, "hardly any approval was ever used"
