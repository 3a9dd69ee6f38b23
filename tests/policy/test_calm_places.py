"""What lies in a directory that was judged before is not judged anew; the answer is the same as if it were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.policy.ground import Ground
from callgate.policy.off_limits import OffLimits
from callgate.policy.own_files import OwnFiles, SecondNames
from tests.policy.making import make, reading

PARTS = (
    *("a", "b", "x", "a b", "..", ".git", "plugins", "callgate.yaml", "callgate.db", "callgate.db-wal"),
    *(".callgate", ".CallGate", ".callgate.", "proc", "dev", "mem", "sys", "kernel", "debug", "tracing"),
)
FOLDERS = st.sampled_from(["", "", "/a", "/a/b", "/sys/kernel"])
PLACES = st.tuples(FOLDERS, st.lists(st.sampled_from(PARTS), min_size=1, max_size=4)).map(
    lambda drawn: "/".join((drawn[0], *drawn[1]))
)
ROOTS = st.lists(st.one_of(st.sampled_from(["/", "/a"]), PLACES), min_size=1, max_size=2).map(tuple)


class Anew(dict[str, bool]):
    """Takes no directory for calm, so that everything in it is judged."""

    def get(self, _folder: str, _otherwise: Any = None) -> bool:
        return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a file, and with one of Callgate's own that has a second name."""
    folder = tmp_path_factory.mktemp("there")
    for name in ("file", "own"):
        (folder / name).write_text(name)
    (folder / "second").hardlink_to(folder / "own")
    return folder


@settings(max_examples=400)
@given(data=st.data())
def test_calm_directories_change_no_answer(data: st.DataObject, folder: Path):
    own = OwnFiles(data.draw(st.lists(PLACES, max_size=3), label="own"))
    tool = data.draw(st.sampled_from([reading("look"), reading("look"), make("change", "modifies_files")]))
    grounds = tuple(Ground("fs", roots, ()) for roots in data.draw(st.lists(ROOTS, max_size=2), label="roots"))
    second = SecondNames(OwnFiles([folder / "own"]))
    remembering = OffLimits(tool, "/a", grounds, own, second)
    anew = OffLimits(tool, "/a", grounds, own, second, calm=Anew())
    there = [None, *(path.stat() for path in (folder, folder / "file", folder / "second", Path("/proc/self/status")))]
    for place in data.draw(st.lists(PLACES, min_size=1, max_size=8), label="places"):
        status = data.draw(st.sampled_from(there))
        assert remembering.refused(place, status) == anew.refused(place, status)


def test_a_directory_that_own_files_lie_below_is_not_calm(folder: Path):
    own = OwnFiles(["/a/b/c/callgate.yaml"])
    paths = OffLimits(reading("look"), "/a", (Ground("fs", ("/a",), ()),), own, SecondNames(own))
    assert paths.refused("/a/b/x/y", (folder / "file").stat()) is None
    assert paths.refused("/a/b/c/y", (folder / "file").stat()) is None
    assert "own files" in (paths.refused("/a/b/c/callgate.yaml", (folder / "file").stat()) or "")
    assert paths.calm == {"/a/b/x": True, "/a/b/c": False}
