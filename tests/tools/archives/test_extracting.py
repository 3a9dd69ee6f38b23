"""What is extracted, and where: the bytes and the place that were looked at, and nothing of ours on the way."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Previewed
from callgate.model.levels import Autonomy
from callgate.tools.archives import extract
from callgate.tools.archives.examining import prove
from tests.tools.archives.building import tarred, zipped
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


def _with_plugins(folder: Path, where: str) -> Callgate:
    file = folder / "callgate.yaml"
    file.write_text(f"version: 1\nplugins: {{folders: [{where}]}}\n")
    return Callgate.open("memory://", config=file, working_directory=folder, builtin_tools=["archives"])


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def test_an_extraction_under_a_second_name_does_not_land_in_the_plugin_folder(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped({"plugins/evil/main.py": b"x"}))
    async with _with_plugins(tmp_path, "bundle-2/plugins") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        assert (await call(gate, "archive_extract")).ok
        assert not (await call(gate, "archive_extract")).ok
    assert _names(tmp_path) == ["bundle", "bundle.zip", "callgate.yaml"]


async def test_a_name_that_was_taken_meanwhile_does_not_lead_into_the_plugin_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped({"plugins/evil/main.py": b"x"}))

    def taken(*given: Any) -> None:
        (tmp_path / "bundle").mkdir()
        prove(*given)

    monkeypatch.setattr(extract, "prove", taken)
    async with _with_plugins(tmp_path, "bundle-2/plugins") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        assert not (await call(gate, "archive_extract")).ok
    assert _names(tmp_path) == ["bundle", "bundle.zip", "callgate.yaml"]


async def test_directories_without_files_are_judged_as_well(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("plugins/evil/", b"")
        archive.writestr("readme", b"x")
    (tmp_path / "bundle.zip").write_bytes(made.getvalue())
    async with _with_plugins(tmp_path, "bundle/plugins") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        assert not (await call(gate, "archive_extract")).ok
    assert not (tmp_path / "bundle").exists()


async def test_an_approval_is_for_the_place_that_was_shown(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bundle.zip").write_bytes(zipped({"a.txt": b"a"}))
    asker = Context(session="s")
    async with opened(tmp_path, "archives") as gate:
        assert (await gate.call("archive_open", {"path": "one/bundle.zip"}, asker)).ok
        pending = await gate.call("archive_extract", {}, asker)
        assert isinstance(pending, Pending)
        await gate.approve(pending.approval_id, by="operator")
        assert (await gate.call("archive_open", {"path": "two/bundle.zip"}, asker)).ok
        assert not (await gate.call("archive_extract", {}, asker)).ok
    assert not (tmp_path / "two" / "bundle").exists()


async def test_the_preview_names_the_directory_that_is_made(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle.zip").write_bytes(zipped({"a.txt": b"a"}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        shown = await gate.call("archive_extract", {}, Context(autonomy=Autonomy.A0))
        stored = (await call(gate, "archive_extract")).unwrap()["stored_in"]
    assert isinstance(shown, Previewed)
    assert shown.preview is not None
    assert shown.preview.text.splitlines()[0].endswith(f" {stored}")
