"""Ripgrep: starting it, and what it says. It opens files by name, so what it says is a hint and nothing more.

It is started without the environment and without any configuration, inside a directory that is held; it follows no
links, and reads no ignore files but the one it is handed, since a link in the place of one would show what it leads
to by what is left out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import IO, cast

from callgate.adapters.tether import Tether
from callgate.model.grounds import Grounds
from callgate.tools.files.globs import literal, options_of
from callgate.tools.files.ripgrep_lines import FORMAT, Hit, Lines
from callgate.tools.programs import ends_unknown, find_program
from callgate.tools.readiness import news_of

_ALWAYS = (
    "--no-config",
    *FORMAT,
    "--no-messages",
    "--no-ignore",
    "--no-follow",
    "--no-mmap",
    "--max-filesize=64M",
    "--regex-size-limit=10M",
    "--dfa-size-limit=32M",
)
_MOST_OUTPUT = 64 * 1024 * 1024
_MOST_HITS = 20_000
_CHUNK = 64 * 1024
_WIDE = 1024 * 1024
_LOOK_AGAIN = 100
"""Milliseconds."""
_NOTHING_FOUND = 1
_TROUBLE = 2
"""Its return code when it could not read something: a file among others, or what it was asked for."""
_ENDING_SECONDS = 10
_HANDLES = Path("/dev/fd")
_NAMES_CR = re.compile(r"\r|(?<!\\)(?:\\\\)*\\(?:r|x0d|u000d|u0{7}d|[xu]\{0*d\})", re.IGNORECASE)
"""A pattern that looks for a CR. Where it ends lines, ripgrep refuses that."""


class Looked(Enum):
    """How far ripgrep looked."""

    AT_EVERYTHING = auto()
    UNTIL_ENOUGH = auto()
    """It was stopped because it found so much."""
    NOT_AT_EVERYTHING = auto()
    """It could not read a file, or look into a directory. It says which by name, and so is not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What to look for, and where."""

    pattern: str
    target: str
    """From the directory it is started in."""
    is_file: bool
    """Whether that is one file and no directory."""
    glob: str | None
    most_in_a_file: int
    excluded: Sequence[str]
    """Paths from that directory that are left out."""


def find(
    search: Search,
    *,
    program: str,
    folder: int,
    ignored: int | None,
    take: Callable[[list[Hit]], None],
    stop: Callable[[], bool],
) -> Looked:
    """Have ripgrep look.

    Args:
        search: What and where.
        program: Where ripgrep lies.
        folder: The directory to start it in.
        ignored: An open file with patterns to leave out, as git has them.
        take: Given what it finds, while it goes on: file by file, in no order, but each from its beginning to its end.
        stop: Asked from time to time whether to give up.

    Raises:
        ValueError: The pattern or the glob cannot be read.
        TimeoutError: It was to stop.
        OSError: It ended before it had looked at everything.
    """
    handles = () if ignored is None else (ignored,)
    with (
        Tether() as tether,
        subprocess.Popen(  # noqa: S603 - no shell; what a model wrote stands behind = and --
            [program, *_ALWAYS, *_arguments(search, ignored)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=_HANDLES / str(folder),
            env={},
            pass_fds=(*handles, *tether.handles),
        ) as process,
    ):
        try:
            tether.tie(process.pid)
            pipe = cast("IO[bytes]", process.stdout).fileno()
            _widen(pipe)
            hits, cut = _collect(pipe, take=take, stop=stop)
            if cut:
                process.kill()
            complaint = cast("IO[bytes]", process.stderr).read(_CHUNK)
            _await_end(process)
        finally:
            process.kill()
    if cut:
        return Looked.UNTIL_ENOUGH
    if process.returncode not in {0, _NOTHING_FOUND, _TROUBLE}:
        raise OSError(f"ripgrep ended with {process.returncode} before it had looked at everything; search again")
    if process.returncode != _TROUBLE:
        return Looked.AT_EVERYTHING
    if complaint and not hits:
        raise ValueError(f"pattern or glob cannot be used: {_without_advice(complaint.decode('utf-8', 'replace'))}")
    return Looked.NOT_AT_EVERYTHING


def _without_advice(complaint: str) -> str:
    """What ripgrep complains of, without the options that it recommends: whoever reads it cannot set any."""
    said = complaint.split("\n\nConsider ", maxsplit=1)[0].strip()
    return f"{said}: it is matched line by line" if said.endswith("is not allowed in a regex") else said


def program_of(grounds: Grounds) -> str:
    """Where ripgrep lies.

    Raises:
        FileNotFoundError: Nowhere, or only where tools may write.
        OSError: How it ends could not be known.
    """
    found = find_program("rg", grounds)
    if found is None:
        missing = "ripgrep is not installed, or only where tools may write"
        raise FileNotFoundError(f"{missing}; install with: pip install 'callgate[files]'")
    if unknown := ends_unknown():
        raise OSError(unknown)
    return found


def _arguments(search: Search, ignored: int | None) -> Iterator[str]:
    yield f"--max-count={search.most_in_a_file}"
    if search.is_file:
        # Else nothing is said of one that has a NUL somewhere, also not of what stands before it.
        yield "--text"
    if ignored is not None:
        yield f"--ignore-file={_HANDLES / str(ignored)}"
    if search.glob is not None:
        yield from options_of(search.glob, at="" if search.is_file else search.target)
    # The last one that matches counts, so these come behind what is asked for.
    yield from (f"--glob=!/{literal(path)}" for path in search.excluded)
    if not _NAMES_CR.search(search.pattern):
        yield "--crlf"
    yield f"--regexp={search.pattern}"
    yield "--"
    yield f"./{search.target}"


def _collect(pipe: int, *, take: Callable[[list[Hit]], None], stop: Callable[[], bool]) -> tuple[int, bool]:
    """Pass on what it says; how many hits that were, and whether there is more than anybody wants."""
    lines = Lines()
    seen = count = 0
    news = news_of(pipe)
    while True:
        if stop():
            raise TimeoutError("the search took too long; name a directory further down, or a simpler pattern")
        if not news(_LOOK_AGAIN):
            continue
        piece = os.read(pipe, _CHUNK)
        if not piece:
            return count, False
        hits = lines.read(piece)
        seen += len(piece)
        count += len(hits)
        take(hits)
        if seen > _MOST_OUTPUT or count > _MOST_HITS:
            return count, True


def _widen(pipe: int) -> None:
    """Have a pipe hold more than usual, so that ripgrep need not wait while what it said is looked at."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # the system lends an account only so much
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _WIDE)


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """It says nothing more, so it ends: by itself, or its end would be told as ours."""
    with contextlib.suppress(OSError, AttributeError):  # not every system has it, nor every kernel
        ending = os.pidfd_open(process.pid)
        try:  # told at once; to wait with a limit is to look from time to time
            news_of(ending)(_ENDING_SECONDS * 1000)
        finally:
            os.close(ending)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_SECONDS)
