"""What is extracted, and where: the bytes and the place that were looked at, and nothing of ours on the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from callgate.tools.archives import extract
from callgate.tools.archives.examining import prove
from tests.tools.archives.building import tarred
from tests.tools.files.calling import call, opened


async def test_what_is_extracted_is_what_was_examined_though_the_archive_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = (tarred({"a.bin": letter * 200_000}) for letter in (b"g", b"b"))
    file = tmp_path / "bundle.tar"
    file.write_bytes(good)

    def rewritten(*given: Any) -> None:
        with file.open("r+b") as again:
            os.pwrite(again.fileno(), bad, 0)
        prove(*given)

    monkeypatch.setattr(extract, "prove", rewritten)
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.tar")).ok
        assert (await call(gate, "archive_extract")).ok
    assert file.read_bytes() == bad
    assert (tmp_path / "bundle" / "a.bin").read_bytes() == b"g" * 200_000


async def test_the_name_of_an_archive_has_a_digest_that_cannot_be_met_by_chance(tmp_path: Path) -> None:
    (tmp_path / "bundle.tar").write_bytes(tarred({"a.txt": b"a"}))
    async with opened(tmp_path, "archives") as gate:
        name = (await call(gate, "archive_open", path="bundle.tar")).unwrap()["archive_name"]
    assert len(name.rpartition("#")[2]) * 4 >= 128
