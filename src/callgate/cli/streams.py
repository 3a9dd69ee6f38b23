"""Keeping stdout for the command's own answer: what tools and their modules print meanwhile goes to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout


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
