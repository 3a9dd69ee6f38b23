"""Holding more handles than `select.select` knows the numbers of, as a gate does that serves many."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Generator

from tests.needed import missing

_FURTHER = 1100
_NEEDED = _FURTHER + 400


@contextlib.contextmanager
def many_held() -> Generator[None]:
    """So many are open meanwhile."""
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < _NEEDED:
        missing(f"a process may have {most} open handles")
    if usual != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(usual, _NEEDED), most))
    with contextlib.ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (usual, most))
        for _ in range(_FURTHER):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        yield
