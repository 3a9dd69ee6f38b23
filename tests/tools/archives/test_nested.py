"""Archives in archives: looked into with the one around them, up to a size, and larger ones when they are opened."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.tools.archives.building import zipped
from tests.tools.archives.test_hostile import nested
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
