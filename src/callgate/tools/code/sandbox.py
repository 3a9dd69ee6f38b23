"""Sandbox: a program in namespaces of its own, made by bubblewrap, and gone with everything it started when we are.

It is started held back: its limits are set from outside before its first instruction. Its first process is the init
of a process namespace, so killing that one kills all of them, and the kernel tells when none is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from callgate.errors import NoEffect
from callgate.model.grounds import Grounds
from callgate.tools.code.box import CHUNK, Box, Output, readable, when_readable
from callgate.tools.code.enclosure import LONGEST, Enclosure, enclosed
from callgate.tools.code.filter import system_call_filter
from callgate.tools.code.finished import finished, on_thread
from callgate.tools.code.headcount import hold
from callgate.tools.code.tied import ends_with_us
from callgate.tools.code.watch import Bounds, bind, watch, yield_to_watch
from callgate.tools.programs import ends_unknown, find_program

STOPPED = -1
"""The return code of a program that did not end by itself."""
_LONGEST_REPORT = 1024 * 1024
_LOOKS_SECONDS = 0.0005
_IF_ALIVE = 'IFS= read -r _ && exec </dev/null && exec "$@"'
"""Bubblewrap takes the end of a pipe for a yes: a Callgate that was killed meanwhile must not have said go."""
_WHEN_WE_ARE_GONE = "read -r _; kill -9 0"
"""Bubblewrap ends with us, but what it is making does not, until it is made: its group is ended by one who waits."""
_PID = re.compile(rb'"child-pid"\s*:\s*(\d+)\D')


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program went."""

    stdout: bytes
    stderr: bytes
    returncode: int
    """As a shell tells it; -1 when it was stopped."""
    seconds: float
    stopped: str | None
    """Why it was stopped, or None."""
    cut: bool
    """Whether it said more than was kept."""
    report: bytes = b""
    """What it said where only a report is expected."""
    report_cut: bool = False
    """Whether it said more than was kept there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run, and where."""

    command: Sequence[str]
    directory: str
    may_fork: bool = True
    report: str | None = None
    """The variable that says which handle a report is written to; no such handle is there if None."""


@contextlib.asynccontextmanager
async def enclosure(
    grounds: Grounds, *, writable: Sequence[str], readable: Sequence[str] = (), seconds: float = LONGEST
) -> AsyncGenerator[Enclosure]:
    """`enclosed` for coroutines, in their turn: what it put in place is taken away also when nobody waits any more."""
    inside = enclosed(grounds, writable=writable, readable=readable, seconds=seconds)
    entering = on_thread(inside.__enter__)
    try:
        made = await finished(entering)
    except asyncio.CancelledError:
        if entering.exception() is None:
            entering.result().word.is_heard = False
            await finished(on_thread(lambda: inside.__exit__(None, None, None)))
        raise
    made.lasting = None if made.written is None else on_thread(made.written.last)
    try:
        yield made
    except BaseException:
        made.word.is_heard = False
        raise
    finally:
        try:
            await _lasting(made)
        finally:
            await finished(on_thread(lambda: inside.__exit__(None, None, None)))


async def _lasting(inside: Enclosure) -> None:
    if inside.lasting is not None:
        await finished(inside.lasting)


async def run(program: Program, inside: Enclosure, *, bounds: Bounds) -> Ran:
    """Run a program to its end or to its bounds. Nothing of it is left afterwards, also if this is cancelled.

    Raises:
        NoEffect: It could not be started as it has to be, and nothing was run.
    """
    begun = time.monotonic()
    box = await _start(program, inside)
    until = asyncio.get_running_loop().time() + bounds.seconds
    try:
        # A sandbox that could not be made has ended by itself, or never comes that far; that is told below.
        with contextlib.suppress(ProcessLookupError, BrokenPipeError, TimeoutError):
            await _let_begin(box, bounds, inside=inside, until=until)
        stopped = await _until_done(box, bounds, inside=inside, until=until)
    finally:
        box.kill()
        await box.gone()
    stopped = stopped or _cut_short(box)
    return Ran(
        stdout=bytes(box.stdout.kept),
        stderr=bytes(box.stderr.kept),
        returncode=STOPPED if stopped else box.outer.returncode,
        seconds=time.monotonic() - begun,
        stopped=stopped,
        cut=box.stdout.cut or box.stderr.cut,
        report=b"" if box.report is None else bytes(box.report.kept),
        report_cut=box.report is not None and box.report.cut,
    )


def _cut_short(box: Box) -> str | None:
    """Why it did not come to an end of its own; None if it did.

    Raises:
        NoEffect: It never began.
    """
    has_told = b'"exit-code"' in box.told
    if has_told and box.outer.returncode >= 0:
        return None
    # Bubblewrap that is killed itself tells nothing, whatever the program has done by then.
    if not has_told and not box.may_have_begun:
        raise _not_made(box)
    return "it was killed"


async def _let_begin(box: Box, bounds: Bounds, *, inside: Enclosure, until: float) -> None:
    """Set the limits and say go. The program itself waits until all that it is made of would end with us.

    Raises:
        ProcessLookupError: It has ended already.
        NoEffect: What is to be known when it has ended cannot be kept.
    """
    _bind(box, bounds)
    for_bubblewrap, for_the_program = box.go
    os.write(for_bubblewrap, b"\n")
    async with asyncio.timeout_at(until):
        while not ends_with_us(box.init, box.outer.pid):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(_LOOKS_SECONDS)
    inside.runs(box.init)
    await _lasting(inside)
    box.may_have_begun = True  # before: whoever heard it, this may not know
    os.write(for_the_program, b"\n")


def _bind(box: Box, bounds: Bounds) -> None:
    bind(box.init, bounds)
    if os.geteuid() == 0:
        box.group = hold(box.init, bounds.tasks)
        if box.group is None:
            yield_to_watch(box.init)


async def _until_done(box: Box, bounds: Bounds, *, inside: Enclosure, until: float) -> str | None:
    box.stdout.most, box.stderr.most = bounds.stdout, bounds.stderr
    watching = asyncio.ensure_future(watch(box.init, bounds, covered=inside.covered))
    try:
        left = max(0.0, until - asyncio.get_running_loop().time())
        await asyncio.wait({box.outer_ended, watching}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if box.outer_ended.done():
            return None
        if watching.done():
            return watching.result()
        return f"the time limit of {bounds.seconds:g} seconds"
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _start(program: Program, inside: Enclosure) -> Box:
    """Start bubblewrap, held back before the program begins.

    Raises:
        NoEffect: It is missing, or could not make the sandbox; says why.
    """
    bubblewrap = _find_bubblewrap(inside)
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        held, go = _pipe(theirs, ours)
        alive, tell_alive = _pipe(theirs, ours)
        told, tell = _pipe(theirs, ours, reading=True)
        filtering = _in_memory(theirs, system_call_filter(may_fork=program.may_fork))
        reporting, report = _pipe(theirs, ours, reading=True) if program.report else (-1, -1)
        options = [*inside.words(), "--chdir", program.directory, "--seccomp", str(filtering)]
        options += ("--block-fd", str(held), "--json-status-fd", str(told))
        options += ("--setenv", program.report, str(reporting)) if program.report else ()
        listed = _in_memory(theirs, b"".join(os.fsencode(option) + b"\0" for option in options))
        guard = _guard(ours)
        outer = subprocess.Popen(  # noqa: ASYNC220, S603 - it returns with the fork, as asyncio's own does
            [bubblewrap, "--args", str(listed), "--", "/bin/sh", "-c", _IF_ALIVE, "sh", *program.command],
            env={},
            cwd="/",
            stdin=alive,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(held, told, filtering, listed, *((reporting,) if program.report else ())),
            process_group=guard.pid,
        )
        _end_with(ours, outer)
        box = _box(guard, outer, go=(go, tell_alive), tell=tell, report=report, ours=ours)
        ours.pop_all()
    try:
        found = await _find_init(box)
    except BaseException:
        box.kill()
        await box.gone()
        raise
    if not found:
        box.kill()
        await box.gone()
        raise _not_made(box)
    return box


def _find_bubblewrap(inside: Enclosure) -> str:
    found = find_program("bwrap", inside.grounds)
    if found is None:
        where = "bubblewrap is not installed, or only where tools may write"
        raise NoEffect(f"{where}, and no program is run without it; install it where programs of the system are")
    if unknown := ends_unknown():
        raise NoEffect(unknown)
    return found


def _not_made(box: Box) -> NoEffect:
    why = bytes(box.stderr.kept[-500:]).decode(errors="replace").strip()
    return NoEffect(f"the sandbox could not be made, so nothing was run: {why}")


def _guard(ours: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    guard = subprocess.Popen(  # noqa: S603 - a line of our own
        ("/bin/sh", "-c", _WHEN_WE_ARE_GONE),
        env={},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    _end_with(ours, guard)
    return guard


def _end_with(ours: contextlib.ExitStack, process: subprocess.Popen[bytes]) -> None:
    ours.callback(process.__exit__, None, None, None)
    ours.callback(process.kill)


def _box(
    guard: subprocess.Popen[bytes],
    outer: subprocess.Popen[bytes],
    *,
    go: tuple[int, int],
    tell: int,
    report: int,
    ours: contextlib.ExitStack,
) -> Box:
    if outer.stdout is None or outer.stderr is None:  # pragma: no cover - both were asked for
        raise OSError("no pipes")
    outer_handle = os.pidfd_open(outer.pid)
    ours.callback(os.close, outer_handle)
    outer_ended = when_readable(outer_handle)
    ours.callback(asyncio.get_running_loop().remove_reader, outer_handle)
    outputs = [Output.heard(stream.fileno()) for stream in (outer.stdout, outer.stderr)]
    reported = Output.heard(report, most=_LONGEST_REPORT) if report >= 0 else None
    for output in (*outputs, *([reported] if reported else [])):
        ours.callback(output.leave)
    return Box(
        guard=guard,
        outer=outer,
        outer_handle=outer_handle,
        outer_ended=outer_ended,
        go=go,
        tell=tell,
        stdout=outputs[0],
        stderr=outputs[1],
        report=reported,
    )


async def _find_init(box: Box) -> bool:
    while (found := _PID.search(box.told)) is None:
        await readable(box.tell)
        part = os.read(box.tell, CHUNK)
        if not part:
            return False
        box.told += part
    box.init = int(found[1])
    with contextlib.suppress(ProcessLookupError):
        # Held back, it cannot have ended; a number that another process has by now would not be ours to kill.
        box.init_handle = os.pidfd_open(box.init)
        box.init_ended = when_readable(box.init_handle)
    return True


def _pipe(theirs: contextlib.ExitStack, ours: contextlib.ExitStack, *, reading: bool = False) -> tuple[int, int]:
    """The end for the program and the end for us, who write unless we are the ones reading."""
    out, into = os.pipe()
    given, kept = (into, out) if reading else (out, into)
    theirs.callback(os.close, given)
    ours.callback(os.close, kept)
    return given, kept


def _in_memory(files: contextlib.ExitStack, content: bytes) -> int:
    handle = os.memfd_create("callgate")
    files.callback(os.close, handle)
    os.write(handle, content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
