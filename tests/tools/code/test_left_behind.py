"""Nothing is left of a sandbox, however early its Callgate is killed; and programs run one at a time. TOOL-09."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from callgate.errors import NoEffect
from callgate.tools.code import alone as alone_module
from callgate.tools.code import sandbox
from callgate.tools.code.alone import alone
from callgate.tools.code.box import Box
from tests.tools.code.small_program import SMALL, run_small, until

pytestmark = pytest.mark.usefixtures("bubblewrap")
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from callgate.errors import NoEffect
from callgate.tools.code import alone as alone_module
from callgate.tools.code import sandbox
from tests.tools.code.small_program import run_small

find = sandbox._find_init

async def find_and_be_killed(box):
    found = await find(box)
    print(box.init, flush=True)
    if sys.argv[2] == "held":
        os.kill(box.init, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGKILL)
    else:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

sandbox._find_init = find_and_be_killed
asyncio.run(run_small(Path(sys.argv[1]), "touch ran; exec sleep 600"))
"""


@pytest.mark.crash
@pytest.mark.parametrize("when", ["held", "at-once"])
def test_a_callgate_that_is_killed_while_a_sandbox_is_made_leaves_none(when: str, tmp_path: Path) -> None:
    """Held: the first process inside is stopped until Callgate, which has said all it had to say, is killed."""
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), when], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    with killed.stdout:
        init = int(killed.stdout.readline())
        handle = os.pidfd_open(init)
        try:
            assert killed.wait(60) == -signal.SIGKILL
            signal.pidfd_send_signal(handle, signal.SIGCONT)
            assert select.select([handle], [], [], 20)[0], "it is still there"
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
    assert not (tmp_path / "ran").exists()


async def test_what_is_not_known_to_end_with_us_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_init: int, _outer: int) -> bool:
        return False

    monkeypatch.setattr(sandbox, "ends_with_us", never)
    running = asyncio.ensure_future(run_small(tmp_path, "touch ran"))
    await asyncio.wait({running}, timeout=0.5)
    assert not running.done()
    running.cancel()
    await asyncio.wait({running}, timeout=20)
    assert running.cancelled()
    assert not (tmp_path / "ran").exists()


async def test_the_time_limit_is_one_for_beginning_and_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has to wait to begin gets no second one."""

    def never(_init: int, _outer: int) -> bool:
        return False

    monkeypatch.setattr(sandbox, "ends_with_us", never)
    ran = await run_small(tmp_path, "touch ran", replace(SMALL, seconds=5))
    assert ran.stopped == "the time limit of 5 seconds"
    assert 5 <= ran.seconds < 10
    assert not (tmp_path / "ran").exists()


async def test_a_sandbox_whose_first_process_is_not_known_yet_is_ended_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for a word of ours, with our pipes in its hands: ending bubblewrap alone would leave it there."""
    inner: list[int] = []

    async def wait_for_ever(box: Box) -> bool:
        children = Path(f"/proc/{box.outer.pid}/task/{box.outer.pid}/children")
        while not (numbers := children.read_text().split()):  # noqa: ASYNC110, ASYNC240 - the kernel's
            await asyncio.sleep(0.001)  # polling for a process of another's
        inner.append(os.pidfd_open(int(numbers[0])))
        await asyncio.Event().wait()
        return False

    monkeypatch.setattr(sandbox, "_find_init", wait_for_ever)
    running = asyncio.ensure_future(run_small(tmp_path, "touch ran"))
    async with asyncio.timeout(30):
        while not inner:  # noqa: ASYNC110 - found above
            await asyncio.sleep(0.01)  # polling for what is found above
    running.cancel()
    await asyncio.wait({running}, timeout=20)
    # It was killed with its group, and ends when the kernel gets to it.
    ended = await asyncio.to_thread(lambda: select.select(inner, [], [], 20)[0])
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(inner[0], signal.SIGKILL)
    os.close(inner[0])
    assert (running.done(), bool(ended)) == (True, True)
    assert not (tmp_path / "ran").exists()


async def test_programs_run_one_after_another(tmp_path: Path) -> None:
    line = "echo begin >> log; i=0; while test $i -lt 3000; do i=$((i+1)); done; echo end >> log"
    await asyncio.gather(*(run_small(tmp_path, line) for _ in range(4)))
    assert (tmp_path / "log").read_text().split() == ["begin", "end"] * 4


HOLDS = """
import asyncio, os, sys
from callgate.tools.code import alone

async def hold():
    async with alone.alone():
        print("held", flush=True)
        await asyncio.Event().wait()

alone.NAME = "\\0" + sys.argv[1]
asyncio.run(hold())
"""
ANOTHERS = """
import os, socket, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
taken = socket.socket(socket.AF_UNIX)
taken.bind("\\0" + sys.argv[1])
taken.listen()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.crash
async def test_another_callgate_keeps_programs_waiting_until_it_ends_or_is_killed(tmp_path: Path) -> None:
    """Whatever the environment says: it has one config folder, and this one another."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "other"), "HOME": str(tmp_path / "other")}
    holder = subprocess.Popen(  # noqa: ASYNC220 - it returns with the fork
        [sys.executable, "-c", HOLDS, alone_module.NAME[1:]], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        running = asyncio.ensure_future(run_small(tmp_path, "touch ran"))
        await asyncio.wait({running}, timeout=0.5)
        waited = not running.done() and not (tmp_path / "ran").exists()
        holder.kill()
        holder.wait()
    assert waited
    assert (await running).returncode == 0
    await until(tmp_path / "ran")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a while")
async def test_a_lock_that_another_user_has_taken_is_told_and_nothing_is_run(tmp_path: Path) -> None:
    holder = subprocess.Popen(  # noqa: ASYNC220 - it returns with the fork
        [sys.executable, "-c", ANOTHERS, alone_module.NAME[1:].format(os.geteuid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(NoEffect, match="user 65534 has taken the lock"):
            await run_small(tmp_path, "touch ran")
        holder.kill()
    assert not (tmp_path / "ran").exists()
    assert (await run_small(tmp_path, "touch ran")).returncode == 0


async def test_who_is_cancelled_while_waiting_for_its_turn_keeps_nobody_waiting() -> None:
    async with alone():
        waiting = asyncio.ensure_future(_in_turn())
        await asyncio.wait({waiting}, timeout=0.1)
        waiting.cancel()
        await asyncio.wait({waiting}, timeout=10)
    async with asyncio.timeout(10):
        assert await _in_turn()


async def _in_turn() -> bool:
    async with alone():
        return True


FORKED = """
import asyncio, multiprocessing, sys, time
from callgate.tools.code import alone
alone.NAME = "\\0" + sys.argv[1]

async def main():
    async with alone.alone():
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        child.start()
    try:
        async with alone.alone(until=time.monotonic() + 5):
            print("free")
    finally:
        child.kill()

asyncio.run(main())
"""


def test_a_process_that_was_forked_meanwhile_does_not_keep_the_turn() -> None:
    """As a pool of workers of the application's own is, and lives on when the call has long ended."""
    words = [sys.executable, "-c", FORKED, f"callgate-test-forked-{os.getpid()}"]
    assert subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout == "free\n"


FORKED_AMID = """
import asyncio, os, signal, socket, sys, threading, time
from callgate.tools.code import alone
alone.NAME = "\\0" + sys.argv[1]
children = []

def fork():
    child = os.fork()
    if not child:
        time.sleep(60)  # until it is killed
        os._exit(0)
    children.append(child)

forking = threading.Thread(target=fork)

class Made(socket.socket):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        if forking.ident is None:
            forking.start()
            forking.join(0.5)

async def main():
    socket.socket = Made
    async with alone.alone():
        forking.join(30)
    try:
        async with alone.alone(until=time.monotonic() + 5):
            print("free")
    finally:
        os.kill(children[0], signal.SIGKILL)

asyncio.run(main())
"""


def test_a_fork_waits_until_it_is_known_what_its_child_must_not_keep() -> None:
    """A thread of the application's own forks just when the lock has been made."""
    words = [sys.executable, "-c", FORKED_AMID, f"callgate-test-forked-amid-{os.getpid()}"]
    assert subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout == "free\n"
