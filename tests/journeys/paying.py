"""Processes of their own that pay as they are told; what was acknowledged stands on standard output."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from callgate import Callgate, Context, tool
from callgate.events.report import Report
from callgate.model.levels import Autonomy
from callgate.runtime.blocking import BlockingCallgate
from callgate.settings.values import Settings

FREE = Settings(autonomy=Autonomy.A4)


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def opened(folder: Path) -> BlockingCallgate:
    """A gate on the store in a folder, with a payment that is written down there."""

    @tool(effects="system_state", risk="low")
    async def pay(to: str) -> str:
        """Pay somebody."""
        with (folder / "paid").open("a") as paid:
            paid.write(f"{to}\n")
        return "paid"

    gate = Callgate.open_sync(f"sqlite:///{folder}/callgate.db", config=FREE)
    gate.add(pay)
    return gate


def pay(gate: BlockingCallgate, to: str) -> None:
    """Pay under a key, and say how it ended."""
    say(f"{to}: {gate.call('pay', {'to': to}, Context(idempotency_key=to)).status}")


def worker(folder: Path, ready: int, go: int) -> None:
    """Has a gate of its own, pays once the others have closed theirs, and is killed."""
    try:
        with opened(folder) as own:
            pay(own, "one")
            os.write(ready, b"x")
            os.read(go, 1)
            pay(own, "two")
            os.kill(os.getpid(), signal.SIGKILL)
    except Exception as error:  # noqa: BLE001 - it is told
        say(f"worker: {error}")


def visitor(folder: Path) -> None:
    """Opens a gate and closes it."""
    with opened(folder):
        pass


def spawned(name: str, folder: Path, *handles: int) -> int:
    command = [sys.executable, "-m", "tests.journeys.paying", name, str(folder), *map(str, handles)]
    return subprocess.Popen(command, pass_fds=handles).pid


def forked(name: str, folder: Path, *handles: int) -> int:
    child = os.fork()
    if not child:
        PARTS[name](folder, *handles)
        os._exit(0)
    return child


def a_worker(start: Callable[..., int], folder: Path, closing: ExitStack) -> None:
    """Start a worker; when it has paid, close what is to be closed, let others come and go, and let it pay again."""
    ready, tell_ready = os.pipe()
    go, tell_go = os.pipe()
    child = start("worker", folder, tell_ready, go)
    os.close(tell_ready)
    os.read(ready, 1)  # or its end, where it gave up
    closing.close()
    os.waitpid(spawned("visitor", folder), 0)
    os.write(tell_go, b"x")
    os.waitpid(child, 0)


def forked_while_open(folder: Path) -> None:
    with ExitStack() as stack:
        pay(stack.enter_context(opened(folder)), "zero")
        a_worker(forked, folder, stack)


def copy_looked_at_when_forked(folder: Path) -> None:
    """A child looks at an older copy, while its parent has the store itself open."""
    with opened(folder) as gate:
        pay(gate, "zero")
    (folder / "copy").mkdir()
    shutil.copy(folder / "callgate.db", folder / "copy")
    with opened(folder) as gate:
        pay(gate, "one")
        os.waitpid(forked("looker", folder / "copy"), 0)


def looker(folder: Path) -> None:
    """Says whether the record holds, and what else there is to say of it."""

    async def verified() -> Report:
        async with Callgate.look(f"sqlite:///{folder}/callgate.db", FREE) as gate:
            return await gate.verify_audit()

    try:
        report = asyncio.run(verified())
        say(f"{report.ok}: {' '.join(report.notes)}")
    except Exception as error:  # noqa: BLE001 - it is told
        say(f"looker: {error!r}")


def spawned_while_open(folder: Path) -> None:
    with ExitStack() as stack:
        pay(stack.enter_context(opened(folder)), "zero")
        a_worker(spawned, folder, stack)


def forked_when_closed(folder: Path) -> None:
    with opened(folder) as gate:
        pay(gate, "zero")
    a_worker(forked, folder, ExitStack())


def two_gates(folder: Path) -> None:
    """One process has two on a store, while others come and go."""
    with opened(folder) as gate, opened(folder):
        pay(gate, "zero")
        pay(gate, "one")
        os.waitpid(spawned("visitor", folder), 0)
        pay(gate, "two")
        os.kill(os.getpid(), signal.SIGKILL)


PARTS: dict[str, Callable[..., None]] = {
    each.__name__: each
    for each in (
        worker,
        visitor,
        looker,
        forked_while_open,
        spawned_while_open,
        forked_when_closed,
        two_gates,
        copy_looked_at_when_forked,
    )
}

if __name__ == "__main__":
    PARTS[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))
