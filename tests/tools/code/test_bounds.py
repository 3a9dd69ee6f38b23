"""Programs in the sandbox: what they may use, and that nothing of them is left. TOOL-09."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.errors import NoEffect
from callgate.model.grounds import Grounds
from callgate.model.levels import Autonomy
from callgate.tools.code import headcount, inventory, sandbox, watch
from callgate.tools.code.enclosure import Enclosure
from callgate.tools.code.filter import system_call_filter
from callgate.tools.code.headcount import hold, let_go
from callgate.tools.code.inventory import own_with_second_names, take
from callgate.tools.code.mounts import usable
from callgate.tools.code.sandbox import STOPPED, Program, enclosure, run
from callgate.tools.code.watch import Bounds
from tests.tools.code.small_program import SMALL, children_named, grounds_of, handles_and_children, run_small, until
from tests.tools.code.world import World, left_running, make_world

pytestmark = pytest.mark.usefixtures("bubblewrap")


@asynccontextmanager
async def open_gate(world: World) -> AsyncGenerator[Callgate]:
    gate = Callgate.open(
        "memory://", world.ground / "callgate.yaml", working_directory=world.ground, builtin_tools=["run_shell"]
    )
    async with gate:
        yield gate


LEFT_BEHIND = {
    "background": "sleep {marker} & echo started",
    "daemon": "setsid nohup sleep {marker} > /dev/null 2>&1 < /dev/null & echo started",
    "deaf": 'sh -c \'trap "" TERM HUP INT; (trap "" TERM HUP; sleep {marker}) & (sleep {marker}) &\' & echo started',
    "twice-forked": 'python3 -c "import os; os.fork() or (os.setsid(), os.fork() or os.execlp(*[chr(115)+chr(108)+chr('
    "101)+chr(101)+chr(112)]*2, '{marker}'))\"; echo started",
}


@pytest.mark.parametrize("way", LEFT_BEHIND)
async def test_what_a_command_leaves_running_is_gone_when_it_ends(way: str, tmp_path: Path) -> None:
    marker = f"9{os.getpid()}{list(LEFT_BEHIND).index(way)}"
    with make_world(tmp_path) as world:
        async with open_gate(world) as gate:
            outcome = await gate.call(
                "run_shell", {"command": LEFT_BEHIND[way].format(marker=marker)}, Context(autonomy=Autonomy.A4)
            )
        assert outcome.unwrap()["stdout"] == "started\n"
        assert left_running(marker) == []


async def test_at_the_time_limit_a_command_is_gone_with_all_it_started(tmp_path: Path) -> None:
    """TOOL-09: the returncode is -1, what was said until then is told, and no process is left."""
    marker = f"8{os.getpid()}"
    with make_world(tmp_path) as world:
        async with open_gate(world) as gate:
            command = f"trap '' TERM; echo begun; setsid sleep {marker} & sleep {marker}"
            outcome = await gate.call("run_shell", {"command": command, "timeout": 1}, Context(autonomy=Autonomy.A4))
        ran = outcome.unwrap()
        assert (ran["returncode"], ran["stdout"]) == (-1, "begun\n")
        assert "time limit of 1 second" in ran["note"]
        assert left_running(marker) == []


async def test_a_call_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    marker = f"7{os.getpid()}"
    with make_world(tmp_path) as world:
        async with open_gate(world) as gate:
            line = {"command": f"setsid sleep {marker} & touch begun; sleep {marker}"}
            call = asyncio.ensure_future(gate.call("run_shell", line, Context(autonomy=Autonomy.A4)))
            await until(world.ground / "begun")
            assert left_running(marker)
            call.cancel()
            await asyncio.wait({call})
        assert left_running(marker) == []
        assert not (world.ground / "plugins").exists()


async def test_a_command_whose_bubblewrap_was_killed_is_not_run_again(tmp_path: Path) -> None:
    keyed = Context(autonomy=Autonomy.A4, idempotency_key="once")
    with make_world(tmp_path) as world:
        async with open_gate(world) as gate:
            line = {"command": "echo begun; echo x >> ledger; sleep 60"}
            call = asyncio.ensure_future(gate.call("run_shell", line, keyed))
            await until(world.ground / "ledger")
            for bubblewrap in children_named("bwrap"):
                os.kill(bubblewrap, signal.SIGKILL)
            outcome = await call
            assert (await gate.call("run_shell", line, keyed)).deduped
        ran = outcome.unwrap()
        assert (ran["stdout"], ran["returncode"], ran["note"]) == ("begun\n", -1, "stopped: it was killed")
        assert (world.ground / "ledger").read_text() == "x\n"


async def test_a_program_of_which_nobody_knows_whether_it_heard_go_is_not_told_as_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_inside: Enclosure, _init: int) -> None:
        for bubblewrap in children_named("bwrap"):
            os.kill(bubblewrap, signal.SIGKILL)
            os.waitid(os.P_PID, bubblewrap, os.WEXITED | os.WNOWAIT)

    async with enclosure(grounds_of(tmp_path), writable=(str(tmp_path),)) as inside:
        monkeypatch.setattr(Enclosure, "runs", killed)
        ran = await run(Program(command=("/bin/touch", "ran"), directory=str(tmp_path)), inside, bounds=SMALL)
    assert (ran.returncode, ran.stopped) == (STOPPED, "it was killed")


@pytest.mark.crash
async def test_with_the_process_of_callgate_its_programs_are_gone(tmp_path: Path) -> None:
    marker = f"6{os.getpid()}"
    code = (
        "import asyncio, sys; from pathlib import Path; from tests.tools.code.small_program import run_small\n"
        f"asyncio.run(run_small(Path(sys.argv[1]), 'setsid sleep {marker} & touch begun; sleep {marker}'))"
    )
    with make_world(tmp_path) as world:
        callgate = subprocess.Popen([sys.executable, "-c", code, str(world.ground)])  # noqa: ASYNC220 - only started
        await until(world.ground / "begun")
        callgate.send_signal(signal.SIGKILL)
        callgate.wait()
        async with asyncio.timeout(30):
            while left_running(marker):  # noqa: ASYNC110 - the kernel ends it
                await asyncio.sleep(0.01)  # polling until the kernel has ended it


async def test_too_many_processes_are_refused_or_stopped(tmp_path: Path) -> None:
    ran = await run_small(tmp_path, "i=0; while test $i -lt 100; do sleep 20 & i=$((i+1)); done; wait")
    assert ran.returncode != 0
    assert b"fork" in ran.stderr.lower() or "40 processes" in (ran.stopped or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="a user's processes are bound by the kernel")
async def test_where_no_control_group_can_be_made_processes_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_group(_pid: int, _most: int) -> None:
        """As in a container that may not make any."""

    monkeypatch.setattr(sandbox, "hold", no_group)
    ran = await run_small(tmp_path, "i=0; while test $i -lt 60; do sleep 20 & i=$((i+1)); done; wait")
    assert (ran.returncode, ran.stopped) == (STOPPED, "more than 40 processes and threads")


def test_a_group_that_cannot_be_made_is_none_and_one_that_was_left_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "callgate-999999999-0123abcd").mkdir()
    monkeypatch.setattr(headcount, "_parents", lambda: iter([tmp_path / "absent", tmp_path]))
    assert hold(os.getpid(), 10) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["callgate-web.service", "callgate-", "callgate-999999999-web", "callgate-999999999-0123abcd.slice"]
)
def test_a_group_that_is_only_called_like_ours_is_left(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(headcount, "_parents", lambda: iter([tmp_path]))
    hold(os.getpid(), 10)
    assert (tmp_path / name).exists()


async def test_who_cancels_while_directories_are_looked_through_leaves_nothing(tmp_path: Path) -> None:
    closed = str(tmp_path / "plugins")
    entering = asyncio.ensure_future(_enter_and_stay(replace(grounds_of(tmp_path), closed=(closed,))))
    await asyncio.sleep(0)
    entering.cancel()
    await asyncio.wait({entering})
    assert entering.cancelled()
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - it has no other


async def _enter_and_stay(grounds: Grounds) -> None:
    async with enclosure(grounds, writable=grounds.roots):
        await asyncio.Event().wait()


async def test_a_sandbox_that_cannot_be_watched_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(_root: str, _bounds: Bounds) -> str | None:
        raise PermissionError(13, "not yours")

    def absent(_root: str, _bounds: Bounds) -> str | None:
        raise FileNotFoundError

    monkeypatch.setattr(watch, "_too_much", denied)
    assert (await run_small(tmp_path, "sleep 20")).stopped == "it could not be watched: not yours"
    monkeypatch.setattr(watch, "_too_much", absent)
    assert (await run_small(tmp_path, "sleep 20")).stopped == "it could not be watched"


async def test_the_host_goes_on_while_a_program_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that takes as long as a program likes: this one ends only when the loop has had its turn meanwhile."""
    looking, went_on = asyncio.Event(), threading.Event()
    loop, seen = asyncio.get_running_loop(), list[bool]()

    def endless(_root: str, _bounds: Bounds) -> str | None:
        loop.call_soon_threadsafe(looking.set)
        seen.append(went_on.wait(20))
        return "looked at"

    monkeypatch.setattr(watch, "_too_much", endless)
    running = asyncio.ensure_future(run_small(tmp_path, "sleep 60"))
    async with asyncio.timeout(30):
        await looking.wait()
    went_on.set()
    assert (await running).stopped == "looked at"
    assert seen == [True]


async def test_the_time_limit_holds_while_a_look_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def endless(_root: str, _bounds: Bounds) -> str | None:
        ended.wait(60)
        return "looked at"

    monkeypatch.setattr(watch, "_too_much", endless)
    assert (await run_small(tmp_path, "sleep 60", replace(SMALL, seconds=1))).stopped == "the time limit of 1 seconds"
    monkeypatch.setattr(watch, "_LONGEST_LOOK", 0.1)
    assert (
        await run_small(tmp_path, "sleep 60")
    ).stopped == "it could not be watched: a look took more than 0.1 seconds"
    ended.set()


MANY_MAPPINGS = """
import ctypes, os, time
map = ctypes.CDLL(None).mmap
map.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
file = os.open('/usr/bin/env', os.O_RDONLY)
for _ in range(30000):
    map(None, 4096, 1, 1, file, 0)
for _ in range(20):
    if os.fork() == 0:
        break
time.sleep(60)
"""


async def test_a_program_with_more_mappings_than_can_be_counted_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text(MANY_MAPPINGS)
    ran = await run_small(tmp_path, "/usr/bin/env python3 many.py", replace(SMALL, memory=512 * 1024**2))
    assert ran.stopped == "more mappings of memory than can be counted", ran


BOMBED = """
import asyncio, os, sys
from dataclasses import replace
from pathlib import Path
from tests.tools.code.small_program import SMALL, run_small
place, command, user = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
asyncio.run(run_small(place, "true"))  # what is loaded for it may be where another user cannot read
if user:
    os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
print(asyncio.run(run_small(place, command, replace(SMALL, seconds=2))).returncode)
"""
NOBODY = 65534


def test_processes_that_double_stay_within_their_number() -> None:
    """A fork bomb: the witness counts its processes from outside while it runs.

    Where root's are only counted, and would take the machine for a while, it is another user's.
    """
    user, marker = 0 if bound_by_the_kernel() else NOBODY, f"callgate-bomb-{os.getpid()}"
    with TemporaryDirectory() as name:  # beside the tests' own, which only their user may enter
        place = Path(name)
        place.chmod(0o777)
        (place / marker).write_text("$0 | $0 &\n$0 | $0 &\nwait\n".replace("$0", f"sh ./{marker}"))
        words = [sys.executable, "-c", BOMBED, name, f"sh ./{marker}; sleep 5", str(user)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as host:
            most = _most_running(host, marker)
            assert host.communicate()[0] not in {"", "0\n"}
    # The host's own command line has the marker as well.
    assert 1 < most - 1 <= SMALL.tasks + 1
    assert left_running(marker) == []


def _most_running(host: subprocess.Popen[str], marker: str) -> int:
    most, until = 0, time.monotonic() + 90
    while host.poll() is None and time.monotonic() < until:
        most = max(most, len(left_running(marker)))
        with contextlib.suppress(subprocess.TimeoutExpired):
            host.wait(0.05)
    host.kill()
    return most


def bound_by_the_kernel() -> bool:
    """Whether a number of processes can be held exactly: a user's, or root's in a control group."""
    if os.geteuid() != 0:
        return True
    process = subprocess.Popen(["sleep", "60"])
    group = hold(process.pid, 10)
    process.kill()
    process.wait()
    let_go(group)
    return group is not None


@pytest.mark.slow
async def test_too_many_threads_are_stopped(tmp_path: Path) -> None:
    code = "import threading, time; [threading.Thread(target=time.sleep, args=(2,)).start() for _ in range(100)]"
    ran = await run_small(tmp_path, f'python3 -c "{code}"')
    assert ran.returncode != 0
    assert b"thread" in ran.stderr or "40 processes" in (ran.stopped or "")


HUNGRY = {
    "one": "python3 -c \"x = bytearray(2**28); print('fed')\"",
    "several": "for i in 1 2 3; do python3 -c 'import time; x = bytearray(3 * 2**24); time.sleep(19)' & done; wait",
    "files-in-memory": "for i in $(seq 200); do head -c 1000000 /dev/zero > /tmp/f$i; done; sleep 19",
    "shared-memory": "for i in $(seq 200); do head -c 1000000 /dev/zero > /dev/shm/f$i; done; sleep 19",
    "empty-files": "python3 -c \"import os, time; os.chdir('/tmp');"
    " [os.mknod(f'{i:0240}') for i in range(300000)]; time.sleep(19)\"",
    "names-of-one-file": "python3 -c \"import os, time; os.mknod('/tmp/f');"
    " [os.link('/tmp/f', f'/tmp/{i:0240}') for i in range(300000)]; time.sleep(19)\"",
    "shared-mapping": "python3 -c \"import mmap, time; m = mmap.mmap(-1, 2**28); m.write(b'x' * 2**26);"
    " m.write(b'x' * 2**26); time.sleep(19)\"",
    "shared-mapping-as-code": 'python3 -c "import ctypes, mmap, time; m = mmap.mmap(-1, 2**28); c = ctypes.c_char;'
    " a = ctypes.addressof(c.from_buffer(m)); p = ctypes.CDLL(None).mprotect;"
    ' assert p(ctypes.c_void_p(a), ctypes.c_size_t(2**28), 5) == 0; time.sleep(19)"',
    "shared-mapping-that-a-child-let-go": 'python3 -c "import mmap, os, time; m = mmap.mmap(-1, 2**28);'
    ' os.fork() or m.resize(4096); time.sleep(19)"',
    "mapping-let-go": 'python3 -c "import mmap, time; m = mmap.mmap(-1, 2**28);'
    " [(m.write(b'x' * 2**24), m.madvise(mmap.MADV_DONTNEED)) for _ in range(16)]; time.sleep(19)\"",
    "mapping-let-go-and-hidden": 'python3 -c "import ctypes, mmap, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0);'
    " m = mmap.mmap(-1, 2**28); [(m.write(b'x' * 2**24), m.madvise(mmap.MADV_DONTNEED)) for _ in range(16)];"
    ' time.sleep(19)"',
    "memory-file": 'python3 -c "import os, time;'
    " [os.write(os.memfd_create(str(i)), b'x' * 2**20) for i in range(200)]; time.sleep(19)\"",
    "segments": 'python3 -c "import ctypes, time; c = ctypes.CDLL(None); c.shmat.restype = ctypes.c_void_p;'
    " i = [c.shmget(0, 2**20, 0o600) for _ in range(200)]; assert i[0] >= 0, 'Function not implemented';"
    ' [c.shmdt(ctypes.c_void_p(ctypes.memset(c.shmat(j, None, 0), 1, 2**20))) for j in i]; time.sleep(19)"',
    "semaphores": 'python3 -c "import ctypes, time; c = ctypes.CDLL(None);'
    " i = [c.semget(0, 32000, 0o600) for _ in range(60)];"
    " assert i[0] >= 0, 'Function not implemented'; time.sleep(19)\"",
    "message-queues": 'python3 -c "import ctypes, time; c = ctypes.CDLL(None);'
    " i = [c.msgget(0, 0o600) for _ in range(60)];"
    " assert i[0] >= 0, 'Function not implemented'; time.sleep(19)\"",
    "page-tables": 'python3 -c "import ctypes, mmap, time; step = 2**21; m = mmap.mmap(-1, 40000 * step, flags=0x4022,'
    ' prot=1); m.madvise(15); [m[i * step] for i in range(40000)]; time.sleep(19)"',
    "socket-buffers": 'python3 -c "import socket, time; p = [one for _ in range(300) for one in socket.socketpair()];'
    ' [(one.setblocking(False), one.send(bytes(2**17))) for one in p]; time.sleep(19)"',
    "huge-pages-in-pipes": 'python3 -c "import ctypes, mmap, os, time; c = ctypes.CDLL(None); s = 2**21; k, r = [], [];'
    " [(k.append((m := mmap.mmap(-1, 2 * s, flags=0x22), p := os.pipe(), t := ctypes.c_char.from_buffer(m))),"
    " m.madvise(14), a := -(-ctypes.addressof(t) // s) * s, ctypes.memset(a, 1, s),"
    " r.append(c.vmsplice(p[1], (ctypes.c_ulong * 2)(a, 4096), 1, 0)),"
    " c.munmap(ctypes.c_void_p(ctypes.addressof(t)), ctypes.c_size_t(2 * s))) for _ in range(100)];"
    " assert min(r) > 0, 'Function not implemented'; time.sleep(19)\"",
    "where-the-system-keeps-settings": "cd /usr/local/etc && for i in $(seq 200); do head -c 1000000 /dev/zero > f$i"
    " || exit 1; done; sleep 19",
}
REFUSED = ("MemoryError", "Function not implemented", "Read-only file system")


@pytest.mark.parametrize("way", HUNGRY)
async def test_too_much_memory_is_refused_or_stopped(way: str, tmp_path: Path) -> None:
    ran = await run_small(tmp_path, HUNGRY[way])
    assert ran.returncode != 0
    assert any(word in ran.stderr.decode() for word in REFUSED) or "96 MiB" in (ran.stopped or ""), ran


async def test_files_are_not_taken_for_memory_by_their_names(tmp_path: Path) -> None:
    place = 'd="$(printf "x\\r")/dev"; mkdir -p "$d"; : > "$d/zero (deleted)"'
    code = "import glob, mmap, time; f = open(glob.glob('x*/dev/zero*')[0], 'rb+'); f.truncate(2**20);"
    code += " m = [mmap.mmap(f.fileno(), 2**20) for _ in range(200)];"
    code += " time.sleep(0.5); print('done')"  # the watch has to look once while they are there
    ran = await run_small(tmp_path, f'{place}; python3 -c "{code}"')
    assert ran.stdout == b"done\n", ran


async def test_a_file_stays_within_its_size(tmp_path: Path) -> None:
    ran = await run_small(tmp_path, "head -c 5000000 /dev/zero > big")
    assert ran.returncode != 0
    assert (tmp_path / "big").stat().st_size <= SMALL.file_bytes


async def test_processor_time_is_bounded_by_the_kernel_as_well(tmp_path: Path) -> None:
    assert (await run_small(tmp_path, "ulimit -t; ulimit -c")).stdout == b"22\n0\n"


async def test_no_output_is_too_large(tmp_path: Path) -> None:
    with make_world(tmp_path) as world:
        async with open_gate(world) as gate:
            command = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero | tr '\\0' y >&2"
            ran = (await gate.call("run_shell", {"command": command}, Context(autonomy=Autonomy.A4))).unwrap()
        assert (ran["stdout"], ran["stderr"]) == ("x" * 50_000, "y" * 10_000)
        assert ran["truncated"]


async def test_without_bubblewrap_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_world(tmp_path) as world:
        async with open_gate(world) as gate:
            monkeypatch.setenv("PATH", str(tmp_path))
            outcome = await gate.call("run_shell", {"command": "touch ran"}, Context(autonomy=Autonomy.A4))
            assert "bubblewrap is not installed" in str(outcome)
        async with open_gate(world) as gate:
            [shell] = gate.tools()
            assert "apt-get install bubblewrap" in (shell.unavailable or "")
        assert not (world.ground / "ran").exists()


async def test_a_sandbox_that_cannot_be_made_runs_nothing_and_says_why(tmp_path: Path) -> None:
    async with enclosure(grounds_of(tmp_path), writable=(str(tmp_path),)) as inside:
        inside.show("/nowhere", at="/nowhere")
        with pytest.raises(NoEffect, match=r"nothing was run.*nowhere"):
            await run(Program(command=("/bin/touch", "ran"), directory=str(tmp_path)), inside, bounds=SMALL)
        inside.options[:0] = ("--no-such-option",)
        with pytest.raises(NoEffect, match="nothing was run"):
            await run(Program(command=("/bin/touch", "ran"), directory=str(tmp_path)), inside, bounds=SMALL)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("later", [0, 1, 2, 3])
async def test_a_sandbox_that_cannot_be_held_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: int
) -> None:
    """Handles of processes, and readers of the loop, run out at the worst moment."""
    left = later

    def rationed(work: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*given: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                raise OSError(errno.EMFILE, "Too many open files")
            return work(*given)

        return asked

    loop = asyncio.get_running_loop()
    async with enclosure(grounds_of(tmp_path), writable=(str(tmp_path),)) as inside:
        assert inside.lasting is not None
        await inside.lasting  # it has a handle of its own meanwhile
        before = handles_and_children()
        monkeypatch.setattr(os, "pidfd_open", rationed(os.pidfd_open))
        monkeypatch.setattr(loop, "add_reader", rationed(loop.add_reader))
        with pytest.raises(OSError, match="Too many"):
            await run(Program(command=("/bin/touch", "ran"), directory=str(tmp_path)), inside, bounds=SMALL)
        assert handles_and_children() == before
    assert not (tmp_path / "ran").exists()


async def test_what_is_shown_to_a_program_can_be_read_where_it_is_said_and_nothing_written_beside_it(
    tmp_path: Path,
) -> None:
    ground, file = tmp_path / "ground", tmp_path / "file"
    ground.mkdir()
    file.write_text("one")
    async with enclosure(grounds_of(ground), writable=(str(ground),)) as inside:
        for name in ("one", "two"):
            inside.show(str(file), at=f"/run/shown/{name}")
        line = "cat /run/shown/one /run/shown/two; for f in /run/shown/one /run/shown/new /new; do echo x > $f; done"
        ran = await run(Program(command=("/bin/sh", "-c", line), directory=str(ground)), inside, bounds=SMALL)
    assert (ran.stdout, ran.stderr.count(b"Read-only file system")) == (b"oneone", 3)
    assert file.read_text() == "one"


async def test_a_program_that_may_start_no_other_cannot(tmp_path: Path) -> None:
    async with enclosure(grounds_of(tmp_path), writable=(str(tmp_path),)) as inside:
        program = Program(
            command=("/bin/sh", "-c", "echo a; /bin/true | true; touch made"), directory=str(tmp_path), may_fork=False
        )
        ran = await run(program, inside, bounds=SMALL)
    assert ran.stdout == b"a\n"
    assert b"fork" in ran.stderr.lower()
    assert not (tmp_path / "made").exists()


async def test_a_program_killed_by_itself_is_told_as_a_shell_does(tmp_path: Path) -> None:
    ran = await run_small(tmp_path, "kill -9 $$")
    assert (ran.returncode, ran.stopped) == (128 + 9, None)
    assert STOPPED == -1


def test_a_machine_whose_calls_nobody_knows_is_refused() -> None:
    with pytest.raises(OSError, match="x86_64 and aarch64 only, and this machine is m68k"):
        system_call_filter(may_fork=True, machine="m68k")
    assert len(system_call_filter(may_fork=False, machine="aarch64")) % 8 == 0


def test_directories_that_cannot_be_looked_after_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(inventory, "MOST_ENTRIES", 3)
    with pytest.raises(PermissionError, match="granted directories hold more than 3 files"):
        take([str(tmp_path)], frozenset())
    with pytest.raises(PermissionError, match="own folders hold more than 3 files"):
        own_with_second_names([str(tmp_path)])
    with pytest.raises(PermissionError, match="the sandbox has its own"):
        usable(["/proc"], "/")
    with pytest.raises(PermissionError, match="nowhere to work"):
        usable([str(tmp_path / "absent")], "/")
    assert usable(["/"], str(tmp_path)) == (str(tmp_path),)
