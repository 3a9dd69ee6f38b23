"""A process that moves a note and dies at a certain step of it, and what the next access finds. Run as a program.

Every call of the system that changes something is a step. For each of them a child is forked that kills itself right
before it, so that every instant between two changes is one at which somebody died.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from callgate import Context, ToolContext
from callgate.model.grounds import Grounds
from callgate.tools.vault import placing
from callgate.tools.vault.keeping_step import keep_step
from callgate.tools.vault.moving import carry_out
from callgate.tools.vault.planning import plan_move
from callgate.tools.vault.vaults import Vaults

FAST = Path("/dev/shm")
STEPS = ("open", "write", "fsync", "replace", "link", "unlink", "rename", "mkdir", "rmdir")
OLD, NEW = "a/tea.md", "b/c/chai.md"
BEFORE = {
    OLD: "# Tea\n\n[[water]] [w](water.md) [[tea]]\n",
    "a/water.md": "[[tea]] " * 50,
    "water.md": "[[a/tea|x]]\n",
    "x/chai.md": "[[tea]]\n",
    "n1.md": "[[chai]] [[tea]] [t](a/tea.md#h)\n",
    "n2.md": "no link\n",
    **{f"m/{at}.md": f"{at} [[tea#h|alias]]\n" for at in range(6)},
}
AFTER = {
    NEW: "# Tea\n\n[[a/water]] [w](../../a/water.md) [[chai]]\n",
    "a/water.md": "[[b/c/chai]] " * 50,
    "water.md": "[[b/c/chai|x]]\n",
    "x/chai.md": "[[b/c/chai]]\n",
    "n1.md": "[[chai]] [[b/c/chai]] [t](b/c/chai.md#h)\n",
    "n2.md": "no link\n",
    **{f"m/{at}.md": f"{at} [[b/c/chai#h|alias]]\n" for at in range(6)},
}


def context(folder: Path) -> ToolContext:
    """Somebody who may go into this folder."""
    grounds = Grounds(
        directory=str(folder),
        roots=(str(folder),),
        closed=(),
        git=(),
        code=(),
        private_addresses=False,
        path_refused=lambda place, _: None if place.startswith(str(folder)) else "outside",
        host_refused=lambda _: "no",
    )
    return ToolContext(context=Context(), tool="vault_move", call_id="1", grounds=lambda: grounds)


def move(vaults: Vaults, ctx: ToolContext, *, before_effect: Callable[[], None]) -> None:
    """What the tool does."""
    with vaults.writing(ctx, None, make=False) as project:
        keep_step(project, ctx)
        plan = plan_move(project.notes, project.index, old=OLD, new=NEW)
        before_effect()
        carry_out(project.notes, plan, ctx=ctx)


def die_at(step: int) -> None:
    """Kill this process right before so many calls that change something were made."""
    left, lock = [step], threading.Lock()

    def counted(usual: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **named: Any) -> Any:
            with lock:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return usual(*args, **named)

        return counting

    for name in STEPS:
        os.supports_dir_fd.add(counting := counted(getattr(os, name)))
        setattr(os, name, counting)


def in_child(work: Callable[[], None]) -> bool:
    """Do something in a process of its own; whether it got to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - told, and then gone
            traceback.print_exc()
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "it failed instead of dying"
    return not os.WIFSIGNALED(status)


def notes_in(folder: Path) -> dict[str, str]:
    """Every file that is there, hidden or not."""
    top = folder / "vault" / "agent=agent" / "default"
    return {str(file.relative_to(top)): file.read_text() for file in top.rglob("*") if file.is_file()}


def die_once(folder: Path, step: int, *, again: int) -> tuple[bool, str]:
    """Die at a step, perhaps once more while the next access mends it; whether it lived, and what is there at last."""
    top = folder / "vault" / "agent=agent" / "default"
    for path, text in BEFORE.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    vaults, ctx = Vaults(folder / "vault", None), context(folder)
    lived = in_child(lambda: move(vaults, ctx, before_effect=lambda: die_at(step)))

    def look() -> None:
        with vaults.reading(ctx, None):
            pass

    if again:
        in_child(lambda: (die_at(again), look())[1])
    look()
    found = notes_in(folder)
    shutil.rmtree(folder / "vault")
    return lived, {json.dumps(BEFORE, sort_keys=True): "old", json.dumps(AFTER, sort_keys=True): "new"}.get(
        json.dumps(found, sort_keys=True), f"neither: {found}"
    )


def _cannot(*_spots: object) -> None:
    """As where no file system renames without replacing."""
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def main() -> None:
    """Die at every step there is, one after the other; print what was found."""
    if "in-two-steps" in sys.argv:
        placing.rename_in_one_step = _cannot
    os.fsync = lambda _: None  # who is killed loses nothing of what the system holds, and there are thousands of them
    luck = random.Random(7)
    found: list[str] = []
    with tempfile.TemporaryDirectory(dir=FAST if FAST.is_dir() else None) as name:
        folder, step, lived = Path(name).resolve(), 0, False
        while not lived:
            step += 1
            for again in (0, luck.randint(1, 60)):
                lived, state = die_once(folder, step, again=again)
                found.append(state)
    json.dump({"steps": step, "found": found}, sys.stdout)


if __name__ == "__main__":
    main()
