"""Handlers in a process of their own: when a call has ended, nothing of it runs any more."""

from __future__ import annotations

import asyncio
import fcntl
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate import Callgate, Context, Failed, Succeeded, Unknown, tool
from callgate.errors import SecretNotFound
from callgate.model.levels import Autonomy, Happened
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from callgate.testing import ScriptedApprover, memory_gate
from tests.journeys import isolated_tools
from tests.waiting import until

ROOT = Path(__file__).parents[2]
needs_the_kernel = pytest.mark.skipif(not hasattr(fcntl, "F_SETSIG"), reason="only Linux kills it by itself")


class Fifo:
    """Hears from processes, and when the last of them is gone."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def started(self) -> None:
        await until(lambda: self._read() == b"started\n")

    async def silent(self) -> None:
        await until(lambda: self._read() == b"")

    def heard(self) -> None:
        Path(f"{self.path}.seen").touch()

    def _read(self) -> bytes | None:
        try:
            return os.read(self._end, 100)
        except BlockingIOError:
            return None

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    fifo = Fifo(tmp_path / "fifo")
    yield fifo
    fifo.close()


async def test_what_the_child_started_is_killed_with_it(fifo: Fifo) -> None:
    async with memory_gate(isolated_tools.hang_with_another) as gate:
        call = asyncio.create_task(gate.call("hang_with_another", {"fifo": str(fifo.path)}))
        await fifo.started()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await fifo.silent()


async def test_what_the_child_left_behind_ends_with_its_answer(fifo: Fifo) -> None:
    async with memory_gate(isolated_tools.leave_behind) as gate:
        call = asyncio.create_task(gate.call("leave_behind", {"fifo": str(fifo.path)}))
        await fifo.started()
        fifo.heard()
        outcome = await call
        assert isinstance(outcome, Succeeded)
        assert outcome.output == "answered"
        await fifo.silent()


async def test_a_limit_that_comes_while_the_child_starts_leaves_none_running(tmp_path: Path) -> None:
    async with memory_gate(isolated_tools.write_at_once) as gate:
        for number in range(3):
            outcome = await gate.call("write_at_once", {"trace": str(tmp_path / str(number))}, timeout=0.001)
            assert isinstance(outcome, Unknown)
    await until(lambda: not _threads_of("write_at_once"))
    assert [child for child in multiprocessing.active_children() if "write_at_once" in child.name] == []
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - quick, and nothing else runs


def _threads_of(tool: str) -> list[str]:
    return [thread.name for thread in threading.enumerate() if tool in thread.name]


@pytest.mark.parametrize("size", [0, 10, 256 * 1024, 5_000_000])
async def test_an_answer_of_any_length_arrives_whole(size: int) -> None:
    async with memory_gate(isolated_tools.much) as gate:
        outcome = await gate.call("much", {"size": size})
        assert outcome.output == "x" * size
    await until(lambda: not _threads_of("much"))


async def test_a_child_that_stops_in_the_middle_of_its_answer_holds_up_nobody(fifo: Fifo) -> None:
    async with memory_gate(isolated_tools.half_an_answer, isolated_tools.whoami) as gate:
        call = asyncio.create_task(gate.call("half_an_answer", {"fifo": str(fifo.path)}))
        await fifo.started()
        assert (await gate.call("whoami", {"text": "meanwhile"})).ok
        assert not call.done()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await fifo.silent()


async def test_a_caller_who_lets_go_while_a_long_answer_is_read_is_let_go() -> None:
    isolated_tools.reading.clear()
    isolated_tools.read_on.clear()
    async with memory_gate(isolated_tools.slow_to_read) as gate:
        call = asyncio.create_task(gate.call("slow_to_read", {"size": 300_000}))
        await until(isolated_tools.reading.is_set)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        isolated_tools.read_on.set()
        await until(lambda: not _threads_of("slow_to_read"))


async def test_a_function_that_no_other_process_can_find_is_a_configuration_error() -> None:
    @tool(effects="read_only", isolation="process")
    def look() -> str:
        """Look from inside a test."""
        return "never"

    async with memory_gate(look) as gate:
        outcome = await gate.call("look", {})
        assert isinstance(outcome, Failed)
        assert outcome.error is not None
        assert outcome.error.category.value == "configuration_error"
        assert "define its function at the top of a module" in str(outcome.cause)


async def test_where_no_process_can_be_started_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.spawn._python_exe", b"no\0program")
    async with memory_gate(isolated_tools.whoami) as gate:
        outcome = await gate.call("whoami", {"text": "x"})
        assert isinstance(outcome, Failed)
        assert isinstance(outcome.cause, OSError)
        assert isinstance(outcome.cause.__cause__, ValueError)
        await until(lambda: not _threads_of("whoami"))


@pytest.mark.parametrize("trouble", ["no process", "no thread", "no way to find it"])
async def test_an_effect_whose_process_never_began_had_none_and_its_key_is_free(
    trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touch(path: str) -> str:
        """Leave a file, from inside a test."""
        return "never"

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    there = trouble != "no way to find it"
    lost = tool(effects="modifies_files", risk="low", isolation="process")(touch)
    free = Settings(autonomy=Autonomy.A4)
    async with memory_gate(isolated_tools.touch if there else lost, config=free, working_directory=tmp_path) as gate:
        with monkeypatch.context() as patch:
            if trouble == "no process":
                patch.setattr("multiprocessing.spawn._python_exe", b"no\0program")
            elif trouble == "no thread":
                patch.setattr(threading.Thread, "start", refuse)
            outcome = await gate.call("touch", {"path": "file"}, Context(idempotency_key="k"))
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        assert await gate.outcome("k") is None
        assert not (tmp_path / "file").exists()
        if there:
            assert (await gate.call("touch", {"path": "file"}, Context(idempotency_key="k"))).ok
            assert (tmp_path / "file").exists()


async def test_what_a_child_raises_arrives_also_where_it_does_not_travel() -> None:
    async with memory_gate(isolated_tools.fail_oddly, isolated_tools.later) as gate:
        outcome = await gate.call("fail_oddly", {"text": "some"})
        assert isinstance(outcome, Failed)
        assert outcome.error is not None
        assert outcome.error.message == "Odd: some and more"
        assert (await gate.call("later", {"text": "x"})).output == "x later"


async def test_a_child_that_asks_for_a_secret_there_is_not_is_told_so() -> None:
    roles = parse_settings("roles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}", file="x")
    async with memory_gate(isolated_tools.sign, config=roles, ask=ScriptedApprover("approve")) as gate:
        outcome = await gate.call("sign", {})
        assert isinstance(outcome, Failed)
        assert outcome.happened.value == "none"
        assert isinstance(outcome.cause, SecretNotFound)


PARENT = """
import asyncio, sys
from callgate.testing import memory_gate
from tests.journeys import isolated_tools

async def main():
    async with memory_gate(getattr(isolated_tools, sys.argv[2])) as gate:
        await gate.call(sys.argv[2], {"fifo": sys.argv[1]}, timeout=60)

if __name__ == "__main__":
    asyncio.run(main())
"""


def _parent(text: str, script: Path, *arguments: Path | str) -> subprocess.Popen[bytes]:
    script.write_text(text)
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return subprocess.Popen([sys.executable, script, *arguments], env={**os.environ, "PYTHONPATH": paths})


@pytest.mark.parametrize(
    "how",
    [
        "hang_with_another",
        pytest.param("stop_with_another", marks=needs_the_kernel),
        pytest.param("hold_the_interpreter", marks=needs_the_kernel),
    ],
)
async def test_a_child_does_not_outlive_its_parent_whatever_it_does(how: str, fifo: Fifo, tmp_path: Path) -> None:
    parent = _parent(PARENT, tmp_path / "parent.py", fifo.path, how)
    try:
        await fifo.started()
    finally:
        parent.kill()
        parent.wait(30)
    await fifo.silent()


OWNER = """
import asyncio, os, sys, time
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from tests.journeys import isolated_tools

async def main():
    async with Callgate.open(f"sqlite:///{sys.argv[1]}", config=Settings(autonomy=Autonomy.A4)) as gate:
        gate.add(isolated_tools.write_at_once)
        await gate.call("write_at_once", {"trace": sys.argv[2]}, Context(idempotency_key="k"), timeout=60)

if __name__ == "__main__":
    asyncio.run(main())
else:
    # In the child, which reads this file again before it knows what to run.
    held = open(sys.argv[3], "wb", buffering=0)
    held.write(b"started\\n")
    while not os.path.exists(sys.argv[3] + ".seen"):
        time.sleep(0.01)
"""


async def test_an_owner_that_dies_while_its_child_starts_is_not_gone_before_it_and_nothing_happens(
    fifo: Fifo, tmp_path: Path
) -> None:
    db, trace, key = tmp_path / "callgate.db", tmp_path / "trace", Context(idempotency_key="k")
    async with Callgate.open(f"sqlite:///{db}", config=Settings(autonomy=Autonomy.A4)) as gate:
        gate.add(isolated_tools.write_at_once)
        owner = _parent(OWNER, tmp_path / "owner.py", db, trace, fifo.path)
        try:
            await fifo.started()
        finally:
            owner.kill()
            owner.wait(30)
        early = await gate.call("write_at_once", {"trace": str(trace)}, key, timeout=0.2)
        fifo.heard()
        await fifo.silent()
        assert early.error is not None
        assert early.error.code == "in_flight"
        late = await gate.call("write_at_once", {"trace": str(trace)}, key)
        assert late.error is not None
        assert late.error.code == "outcome_unknown"
        assert not trace.exists()
        await gate.resolve("k", happened=False, by="ann")
        assert (await gate.call("write_at_once", {"trace": str(trace)}, key)).ok
