"""Functions in processes of their own, whose owner forks meanwhile: the fork lives on, and keeps nothing of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from tests.journeys import isolated_tools
from tests.journeys.test_isolation import Fifo, needs_the_kernel
from tests.waiting import until

ROOT = Path(__file__).parents[2]
FREE = Settings(autonomy=Autonomy.A4)
KEY = Context(idempotency_key="k")
pytestmark = pytest.mark.crash

OWNER = """
import asyncio, json, os, sys, time
from multiprocessing.process import BaseProcess
from pathlib import Path
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from tests.journeys import isolated_tools

folder, when, name, arguments = Path(sys.argv[1]), sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
start = BaseProcess.start

def fork():
    child = os.fork()
    if not child:
        time.sleep(120)  # until it is killed
        os._exit(0)
    (folder / "fork.new").write_text(str(child))
    (folder / "fork.new").rename(folder / "fork")

def fork_and_start(process):
    fork()
    start(process)

async def main():
    if when == "starts":
        BaseProcess.start = fork_and_start
    async with Callgate.open(f"sqlite:///{folder}/callgate.db", config=Settings(autonomy=Autonomy.A4)) as gate:
        gate.add(getattr(isolated_tools, name))
        call = asyncio.ensure_future(gate.call(name, arguments, Context(idempotency_key="k"), timeout=100))
        while when == "runs" and not (folder / "running").exists():
            await asyncio.sleep(0.01)
        if when == "runs":
            fork()
        (folder / "told").write_text((await call).status)

if __name__ == "__main__":
    asyncio.run(main())
"""


class Owner:
    """A process with one isolated call, and a fork."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._forked = folder / "fork"

    def start(self, when: str, name: str, arguments: str) -> None:
        script = self._folder / "owner.py"
        script.write_text(OWNER)
        self.process = subprocess.Popen(
            [sys.executable, script, self._folder, when, name, arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        )

    async def forked(self) -> None:
        (self._folder / "running").touch()
        await until(self._forked.exists)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(30)

    def end_the_fork(self) -> None:
        if self._forked.exists():
            os.kill(int(self._forked.read_text()), signal.SIGKILL)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    owner = Owner(tmp_path)
    yield owner
    owner.end()
    owner.end_the_fork()


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    fifo = Fifo(tmp_path / "fifo")
    yield fifo
    fifo.close()


@pytest.mark.parametrize("when", ["starts", "runs"])
@pytest.mark.parametrize(
    "how",
    [
        "hang_with_another",
        *(pytest.param(how, marks=needs_the_kernel) for how in ("stop_with_another", "hold_the_interpreter")),
    ],
)
async def test_a_child_does_not_outlive_an_owner_whose_fork_lives_on(
    how: str, when: str, owner: Owner, fifo: Fifo, tmp_path: Path
) -> None:
    owner.start(when, how, f'{{"fifo": "{fifo.path}"}}')
    await fifo.started()
    await owner.forked()
    owner.end()
    await fifo.silent()
    async with Callgate.open(f"sqlite:///{tmp_path}/callgate.db", config=FREE) as gate:
        gate.add(getattr(isolated_tools, how))
        late = await gate.call(how, {"fifo": str(fifo.path)}, KEY)
        assert late.error is not None
        assert late.error.code == "outcome_unknown"


@pytest.mark.parametrize("when", ["starts", "runs"])
async def test_a_child_that_asks_an_owner_who_is_gone_is_told_so_and_has_no_effect(
    when: str, owner: Owner, fifo: Fifo, tmp_path: Path
) -> None:
    owner.start(when, "ask_when_told", f'{{"fifo": "{fifo.path}"}}')
    await fifo.started()
    await owner.forked()
    owner.end()
    fifo.heard()
    await fifo.silent()
    assert not (tmp_path / "fifo.paid").exists()
    async with Callgate.open(f"sqlite:///{tmp_path}/callgate.db", config=FREE) as gate:
        gate.add(isolated_tools.ask_when_told)
        await gate.resolve("k", happened=False, by="ann")


async def test_a_child_that_dies_is_known_to_be_dead_though_a_fork_of_its_owner_lives_on(
    owner: Owner, tmp_path: Path
) -> None:
    owner.start("starts", "die", '{"text": "x"}')
    await owner.forked()
    await until((tmp_path / "told").exists)
    owner.process.wait(30)
    assert (tmp_path / "told").read_text() == "unknown"
