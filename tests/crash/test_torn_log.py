"""What a crash may leave behind the last commit of the log - nothing, half a page, garbage - costs nothing told."""

from __future__ import annotations

import random
import shutil
import signal
import struct
from pathlib import Path

import pytest

from callgate import Callgate
from tests.crash.journal import read_journals
from tests.crash.processes import Process
from tests.crash.promises import broken_promises, gather
from tests.crash.workload import FREE, TOOLS, effects_in

pytestmark = [pytest.mark.crash, pytest.mark.slow]

TAILS = 12
_HEADER, _FRAME = 32, 24


def end_of_commits(log: bytes) -> int:
    """Where the last commit of the log ends: only what lies behind it may be torn.

    A frame of the current log has the salts of its header; the last frame of a commit says how large the database is.
    """
    page_size = struct.unpack_from(">I", log, 8)[0]
    salts, end = log[16:24], _HEADER
    for place in range(_HEADER, len(log) - page_size - _FRAME + 1, page_size + _FRAME):
        if log[place + 8 : place + 16] != salts:
            break
        if struct.unpack_from(">I", log, place + 4)[0]:
            end = place + _FRAME + page_size
    return end


def torn(log: bytes, dice: random.Random) -> bytes:
    """The log with something else behind its last commit."""
    whole = log[: end_of_commits(log)]
    again = log[_HEADER : _HEADER + dice.randrange(1, 20_000)]
    return whole + dice.choice(
        [
            b"",
            bytes(dice.randrange(1, 20_000)),
            dice.randbytes(dice.randrange(1, 20_000)),
            again,
            log[len(whole) :][: dice.randrange(1, 20_000)],
        ]
    )


def busy_until_killed(url: str, folder: Path, dice: random.Random) -> None:
    """A process is killed after so many of its calls."""
    with Process("call_without_end", url=url, folder=folder, seed=dice.randrange(2**32)) as process:
        for _ in range(dice.randrange(20, 60)):
            assert process.hear() == "told"
        process.signal(signal.SIGKILL)


async def test_a_torn_end_of_the_log_loses_nothing_that_was_told(
    url: str, tmp_path: Path, home: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    busy_until_killed(url, tmp_path, dice)
    store = tmp_path / "store"
    left = store.rename(tmp_path / "left")
    log = (left / "callgate.db-wal").read_bytes()
    assert len(log) > _HEADER
    for number in range(TAILS):
        # Each heir takes the place of the store, and has what was seen of it from outside.
        shutil.copytree(left, store)
        (store / "callgate.db-wal").write_bytes(torn(log, dice))
        (store / "callgate.db-shm").unlink(missing_ok=True)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(shutil.copytree(home / ".config", tmp_path / f"config {number}")))
        await assert_whole(url, tmp_path)
        shutil.rmtree(store)


async def assert_whole(url: str, folder: Path) -> None:
    gate = Callgate.open(url, FREE)
    gate.add(*TOOLS)
    async with gate:
        evidence = await gather(gate, read_journals(folder), effects_in(folder / "effects"))
        assert len(evidence.record.told) >= 20
        assert broken_promises(evidence) == []
        assert (await gate.verify_audit()).problems == ()
