"""Archives in archives: looked into with the one around them, up to a size, and larger ones when they are opened."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools.archives.building import HONEST, overlapping, seven_zipped, special, tarred, zipped
from tests.tools.archives.test_hostile import nested, witness
from tests.tools.files.calling import call, opened

_LARGEST = 32 * 1024 * 1024


def _hiding(size: int) -> bytes:
    """A zip file of this size in which archives lie in archives, and too deep if it lies in one itself."""
    inner = {"inner.zip": nested(1), "padding": b""}
    room = size - len(zipped(inner, packing=zipfile.ZIP_STORED))
    made = zipped({**inner, "padding": bytes(room)}, packing=zipfile.ZIP_STORED)
    assert len(made) == size
    return made


@pytest.mark.parametrize(("size", "is_opened"), [(_LARGEST, False), (_LARGEST + 1, True)])
async def test_too_deep_is_refused_where_all_on_the_way_are_looked_into(
    tmp_path: Path, size: int, *, is_opened: bool
) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"large.zip": _hiding(size)}, packing=zipfile.ZIP_STORED))
    async with opened(tmp_path, "archives") as gate:
        outcome = await call(gate, "archive_open", path="a.zip")
    assert outcome.ok is is_opened
    assert is_opened or "more than 2 deep" in str(outcome)


async def test_a_large_archive_that_was_not_looked_into_is_when_it_is_opened_itself(tmp_path: Path) -> None:
    large = zipped({"inner.zip": nested(2), "padding": bytes(_LARGEST)}, packing=zipfile.ZIP_STORED)
    (tmp_path / "a.zip").write_bytes(zipped({"large.zip": large}, packing=zipfile.ZIP_STORED))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).unwrap()["nested_archives"] == ["large.zip"]
        assert (await call(gate, "archive_extract")).ok
        assert "more than 2 deep" in str(await call(gate, "archive_open", path="a/large.zip"))


_REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "climbing.zip": (lambda: zipped({"../escaped.txt": b"x"}), "climbs"),
    "cut.zip": (lambda: zipped(HONEST)[:-10], "broken"),
    "cut.tgz": (lambda: tarred(HONEST, "gz")[:-20], "broken"),
    "link.tar": (lambda: special("bin/python", tarfile.SYMTYPE, "python3"), "is a link"),
    "any.7z": (lambda: seven_zipped(HONEST), "py7zr"),
}


@pytest.mark.parametrize("name", _REFUSED)
async def test_an_archive_in_an_archive_is_a_file_and_refused_when_it_is_opened_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make, said = _REFUSED[name]
    (tmp_path / "a.zip").write_bytes(zipped({f"sub/{name}": make(), "README.md": b"# Hello\n"}))
    monkeypatch.setitem(sys.modules, "py7zr", None)
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="a.zip")).unwrap()["nested_archives"] == [f"sub/{name}"]
        assert (await call(gate, "archive_file", filename="README.md")).unwrap() == "# Hello\n"
        assert (await call(gate, "archive_extract")).ok
        before = witness(tmp_path)
        assert said in str(await call(gate, "archive_open", path=f"a/sub/{name}"))
        assert not (await call(gate, "archive_extract", archive_name=f"a/sub/{name}")).ok
    assert witness(tmp_path) == before


_TOO_MUCH: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb": (lambda: zipped({"a": bytes(1024 * 1024)}), "a bomb"),
    "overlap": (overlapping, "a bomb"),
    "files": (lambda: zipped({f"{number}": b"" for number in range(999)}), "more than 1000 files"),
    "entries": (lambda: zipped({f"{number}/": b"" for number in range(5001)}), "more than 5000 entries"),
    "tar-entries": (lambda: tarred({f"{number}": b"" for number in range(5001)}), "more than 5000 entries"),
}


@pytest.mark.parametrize("name", _TOO_MUCH)
async def test_what_an_archive_in_an_archive_holds_counts_and_the_reason_names_it(tmp_path: Path, name: str) -> None:
    make, said = _TOO_MUCH[name]
    middle = zipped({"inner.zip": make()}, packing=zipfile.ZIP_STORED)
    (tmp_path / "a.zip").write_bytes(zipped({"sub/middle.zip": middle}, packing=zipfile.ZIP_STORED))
    async with opened(tmp_path, "archives") as gate:
        outcome = str(await call(gate, "archive_open", path="a.zip"))
    assert "sub/middle.zip: inner.zip: " in outcome
    assert said in outcome
