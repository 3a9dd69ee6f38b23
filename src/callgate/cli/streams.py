"""Keeping stdout for the command's own answer: what tools and their modules print meanwhile goes to stderr.

Where it is full, closed or broken, the answer is lost, and that is told as what it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

import click


class Unwritten(OSError):
    """What was to be written on stdout could not be; says also what happened nevertheless."""


def take_streams() -> None:
    """Put something in the place of streams that were closed before us, so that no file of ours takes their number."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - so Python says that it is closed
        sys.stdout = _placeholder(1, os.O_RDONLY)  # what is written there fails, as it would on what is closed
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison] - as above
        sys.stderr = _placeholder(2, os.O_WRONLY)


def put(stream: TextIO, text: str = "") -> None:
    """Write a text, and all that waits to be written.

    Raises:
        BrokenPipeError: Whoever read it has left.
        Unwritten: It is stdout, and cannot be written.
        OSError: It is another stream, and cannot be written.
    """
    with answering(stream):
        stream.write(text)
        stream.flush()


@contextmanager
def answering(stream: TextIO) -> Generator[None]:
    """Tell what cannot be written inside as what it is.

    Raises:
        Unwritten: The stream is stdout, and cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if stream is not sys.stdout:
            raise
        raise _unwritten(error) from error


def as_answer(error: BaseException) -> BaseException:
    """The error; where Click met it while it wrote on stdout, as what it is: help and version it writes by itself."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if not isinstance(error, OSError) or trace is None or trace.tb_frame.f_code is not click.echo.__code__:
        return error
    # The name is Click's own: where it has another by then, the error stays what it is.
    return error if trace.tb_frame.f_locals.get("err", True) else _unwritten(error)


def _unwritten(error: OSError) -> Unwritten:
    return Unwritten(f"the answer could not be written on stdout ({error.strerror or error})")


def let_go() -> None:
    """Forget what could not be written: the interpreter must not complain about it at the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _placeholder(number: int, mode: int) -> TextIO:
    opened = os.open(os.devnull, mode)
    if opened != number and _is_free(number):
        os.dup2(opened, number)
        opened = number
    return open(opened, "w", encoding="utf-8", closefd=False)


def _is_free(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False


@contextmanager
def stdout_kept() -> Generator[None]:
    """Send what is printed inside to stderr, also by processes that are started inside."""
    sys.stdout.flush()
    with redirect_stdout(sys.stderr), _descriptor_kept():
        yield


@contextmanager
def _descriptor_kept() -> Generator[None]:
    out, err = _descriptor(sys.__stdout__), _descriptor(sys.__stderr__)
    if out is None or err is None:
        yield
        return
    kept = os.dup(out)
    os.dup2(err, out)
    try:
        yield
    finally:
        os.dup2(kept, out)
        os.close(kept)


def _descriptor(stream: object) -> int | None:
    try:
        return stream.fileno()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    except (AttributeError, OSError, ValueError):
        return None
