"""monte_carlo_native, per sample, against a plain Python loop; and on two threads against one.

Two cores of a machine that is shared are not always two. So two threads are also compared, in turns, with two programs
that take half of the samples each and share nothing: what these reach is all there is to be had at that moment.

The neighbours' noise only adds, and to two cores twice: from one round to the next the ratio is 1.3 or 1.9. So the
fastest of many short rounds are compared, as they are what the code takes; the results have all rounds' time, too.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.ratios import Loop, compare
from callgate.tools.maths.integrals import integrate

_BOX = [(-1.0, 1.0), (-1.0, 1.0)]
_SAMPLES = 262_144
_MANY = 13_107_200
_ROUNDS = 61


async def _plain(samples: int) -> None:
    """What somebody would write without NumPy."""
    stream = random.Random(42)
    inside = 0
    for _ in range(samples):
        x = stream.uniform(-1.0, 1.0)
        y = stream.uniform(-1.0, 1.0)
        inside += x * x + y * y <= 1.0
    if not 3.0 < 4.0 * inside / samples < 3.3:
        raise RuntimeError(inside)


def _integrate(samples: int, threads: int) -> None:
    found = integrate(_BOX, "sphere", n_samples=samples, seed=42, threads=threads, check=lambda: None)
    if not 3.0 < found["integral"] < 3.3:
        raise RuntimeError(found)


def _native(threads: int) -> Loop:
    async def loop(samples: int) -> None:
        _integrate(samples, threads)

    return loop


def _program(work: Connection) -> None:
    """One of two programs: integrates as often as it is told to."""
    while (samples := work.recv()) is not None:
        _integrate(samples, 1)
        work.send(samples)


@contextmanager
def _two_programs() -> Generator[Loop]:
    """Half of the samples in each of two programs, which are started once."""
    fresh = multiprocessing.get_context("spawn")
    pipes = [fresh.Pipe() for _ in range(2)]
    programs = [fresh.Process(target=_program, args=(theirs,), daemon=True) for _, theirs in pipes]

    async def loop(samples: int) -> None:
        for ours, _ in pipes:
            ours.send(samples // 2)
        for ours, _ in pipes:
            ours.recv()

    for program in programs:
        program.start()
    yield loop
    for (ours, _), program in zip(pipes, programs, strict=True):
        ours.send(None)
        program.join()


async def measure() -> dict[str, Any]:
    """The same integral in four ways, each pair in turns."""
    over_python = await compare(_native(1), _plain, times=_SAMPLES)
    two_over_one = await compare(_native(2), _native(1), times=_MANY, rounds=_ROUNDS)
    with _two_programs() as programs:
        of_the_machine = await compare(_native(2), programs, times=_MANY, rounds=_ROUNDS)
    return {
        "plain_over_one_core": over_python.to_json(),
        "one_core_over_two": two_over_one.to_json(),
        "two_programs_over_two_threads": of_the_machine.to_json(),
    }
