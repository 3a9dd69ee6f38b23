"""Turns: who waited for too long has none, also where it is given back in that very moment."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from callgate import Context, ToolContext
from callgate.tools.confined import Held
from callgate.tools.turns import many_readers, one_writer

Turn = Callable[[Held, ToolContext], AbstractContextManager[bool]]


@pytest.mark.parametrize("turn", [one_writer, many_readers], ids=["one_writer", "many_readers"])
def test_a_turn_that_comes_after_the_limit_is_not_taken(turn: Turn, tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        folder = Held(fd, str(tmp_path), os.fstat(fd))
        late = ToolContext(tool="write_file", call_id="c1", context=Context(), deadline=time.monotonic() - 1)
        with pytest.raises(TimeoutError, match="nothing was done"), turn(folder, late):
            pytest.fail("it had its turn")
        in_time = ToolContext(tool="write_file", call_id="c1", context=Context(), deadline=time.monotonic() + 60)
        with one_writer(folder, in_time):
            pass
    finally:
        os.close(fd)
