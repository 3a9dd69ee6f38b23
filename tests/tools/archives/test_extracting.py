"""What is extracted, and where: the bytes and the place that were looked at, and nothing of ours on the way."""

from __future__ import annotations

import fcntl
import io
import os
import zipfile
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, Pending, Previewed
from callgate.model.levels import Autonomy, Category, Happened
from callgate.model.outcome import Outcome
from callgate.model.tool_context import ToolContext
from callgate.tools import turns
from callgate.tools.archives import extract, pouring, tar_format
from callgate.tools.archives.examining import prove
from callgate.tools.archives.members import Member
from callgate.tools.archives.shelf import Opened, Shelf
from tests.tools.archives.building import seven_zipped, tarred, zipped
from tests.tools.files.calling import call, opened


async def test_what_is_extracted_is_what_was_examined_though_the_archive_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = (tarred({"a.bin": letter * 200_000}) for letter in (b"g", b"b"))
    file = tmp_path / "bundle.tar"
    file.write_bytes(good)

    def rewritten(*given: Any, **options: Any) -> None:
        with file.open("r+b") as again:
            os.pwrite(again.fileno(), bad, 0)
        prove(*given, **options)

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

    def taken(*given: Any, **options: Any) -> None:
        (tmp_path / "bundle").mkdir()
        prove(*given, **options)

    monkeypatch.setattr(extract, "prove", taken)
    async with _with_plugins(tmp_path, "bundle-2/plugins") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        assert not (await call(gate, "archive_extract")).ok
    assert _names(tmp_path) == ["bundle", "bundle.zip", "callgate.yaml"]


@pytest.mark.parametrize("make", [seven_zipped, tarred, zipped], ids=["7z", "tar", "zip"])
async def test_a_place_that_became_a_link_meanwhile_is_told_as_that_and_not_as_a_broken_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Mapping[str, bytes]], bytes]
) -> None:
    (tmp_path / "bundle.bin").write_bytes(make({"sub/a.txt": b"a", "sub/b.txt": b"b"}))
    (tmp_path / "elsewhere").mkdir()
    end = pouring.Sink.end

    def linked(self: pouring.Sink) -> None:
        end(self)
        if type(self).__name__ == "Written" and self.member.name == "sub/a.txt":
            [sub] = tmp_path.glob(".*/sub")
            sub.rename(tmp_path / "moved")
            sub.symlink_to(tmp_path / "elsewhere")

    monkeypatch.setattr(pouring.Sink, "end", linked)
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.bin")).ok
        outcome = await call(gate, "archive_extract")
    assert "became a link while it was opened" in str(outcome)
    assert outcome.error is not None
    assert outcome.error.category is Category.PERMISSION
    assert _names(tmp_path / "elsewhere") == []


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


def _open_another(_: Path, shelf: Shelf, ctx: ToolContext) -> None:
    with shelf.open("evil.zip", ctx):
        pass


def _take_its_name(folder: Path, _: Shelf, __: ToolContext) -> None:
    (folder / "good").mkdir()


@pytest.mark.parametrize("change", [_open_another, _take_its_name])
async def test_what_changes_when_the_preview_was_made_anew_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, Shelf, ToolContext], None]
) -> None:
    for name in ("good", "evil"):
        (tmp_path / f"{name}.zip").write_bytes(zipped({"a.txt": name.encode()}))
    find, finds = Shelf.find, count(1)

    def found(self: Shelf, name: str | None, ctx: ToolContext) -> AbstractContextManager[Opened]:
        if next(finds) == 3:  # the third one that looks is the tool, after the preview and the one made anew
            change(tmp_path, self, ctx)
        return find(self, name, ctx)

    monkeypatch.setattr(Shelf, "find", found)
    async with opened(tmp_path, "archives") as gate:
        assert "is not what was approved" in str(await _extract_when_approved(gate, "good.zip"))
    assert next(finds) == 4
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "good-2").exists()
    assert not _names(tmp_path)[0].startswith(".")


async def test_a_name_that_is_taken_while_it_is_unpacked_is_not_exchanged_for_another_than_was_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped({"a.txt": b"a"}))

    def taken(*given: Any, **options: Any) -> None:
        (tmp_path / "bundle").mkdir()
        prove(*given, **options)

    monkeypatch.setattr(extract, "prove", taken)
    async with opened(tmp_path, "archives") as gate:
        outcome = await _extract_when_approved(gate, "bundle.zip")
    assert isinstance(outcome, Failed)
    assert outcome.happened is Happened.NONE
    assert "bundle-2, is not what was approved" in str(outcome)
    assert _names(tmp_path) == ["bundle", "bundle.zip"]


async def _extract_when_approved(gate: Callgate, path: str) -> Outcome:
    asker = Context(session="s")
    assert (await gate.call("archive_open", {"path": path}, asker)).ok
    pending = await gate.call("archive_extract", {}, asker)
    assert isinstance(pending, Pending)
    await gate.approve(pending.approval_id, by="operator")
    return await gate.call("archive_extract", {}, asker)


async def test_who_is_asked_about_an_extraction_that_would_be_refused_reads_why(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped({"plugins/evil/main.py": b"x"}))
    async with _with_plugins(tmp_path, "bundle/plugins") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        shown = await gate.call("archive_extract", {}, Context(autonomy=Autonomy.A0))
        refused = await call(gate, "archive_extract")
    assert isinstance(shown, Previewed)
    assert shown.preview is not None
    assert refused.error is not None
    assert refused.error.message in shown.preview.text
    assert "1 files" not in shown.preview.text


async def test_a_question_says_of_the_file_of_an_archive_that_it_is_touched(tmp_path: Path) -> None:
    for name in ("bundle.zip", "odd#name.zip"):
        (tmp_path / name).write_bytes(zipped({"a.txt": b"a"}))
    async with opened(tmp_path, "archives") as gate:
        for name in ("bundle.zip", "odd#name.zip"):
            given = (await call(gate, "archive_open", path=name)).unwrap()["archive_name"]
            for archive_name in (given, name):
                asked = await gate.call(
                    "archive_extract", {"archive_name": archive_name}, Context(autonomy=Autonomy.A1)
                )
                assert isinstance(asked, Pending)
                assert (await gate.approval(asked.approval_id)).resources == (f"path:{tmp_path / name}",)
        outside = await call(gate, "archive_extract", archive_name=f"/etc/bundle.zip#{'0' * 32}")
        assert outside.error is not None
        assert outside.error.code == "policy_denied"


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


async def test_an_archive_is_unpacked_twice_to_prove_and_to_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its documents are read when it is proven."""
    (tmp_path / "bundle.tar").write_bytes(tarred({"a.md": b"# One\n# Two\n", "b.bin": b"\0"}))
    pour, poured = tar_format.TarArchive.pour, list[list[str]]()

    def counted(self: tar_format.TarArchive, wanted: Collection[Member], into: pouring.Into) -> None:
        poured.append(sorted(each.name for each in wanted))
        pour(self, wanted, into)

    monkeypatch.setattr(tar_format.TarArchive, "pour", counted)
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.tar")).ok
        done = (await call(gate, "archive_extract")).unwrap()
    assert (done["extracted"], done["processed"], done["sections_total"]) == (2, 1, 2)
    assert poured == [["a.md", "b.bin"]] * 2


async def test_the_sections_of_documents_of_up_to_16_mib_are_counted(tmp_path: Path) -> None:
    text = b"# One\n# Two\n".ljust(16 * 1024 * 1024, b"x")
    documents = {"a.md": text, "b.md": text + b"x"}
    (tmp_path / "bundle.zip").write_bytes(zipped(documents, packing=zipfile.ZIP_STORED))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        done = (await call(gate, "archive_extract")).unwrap()
    assert (done["extracted"], done["processed"], done["sections_total"]) == (2, 1, 2)


_REPOSITORY = ("config", "hooks/pre-commit", "objects/info/packs", "refs/heads/main", "HEAD")
_MAKERS: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {"7z": seven_zipped, "tar": tarred, "zip": zipped}


@pytest.mark.parametrize("turn", [1, -1], ids=["head-last", "head-first"])
@pytest.mark.parametrize("kind", ["7z", "tar", "zip"])
@pytest.mark.parametrize("where", ["mirror.git/", "a/b/", ""], ids=["named", "deep", "at-the-top"])
async def test_a_repository_without_a_git_is_not_unpacked_in_whichever_order_it_comes(
    tmp_path: Path, kind: str, where: str, turn: int
) -> None:
    (tmp_path / f"bundle.{kind}").write_bytes(_MAKERS[kind]({f"{where}{name}": b"x\n" for name in _REPOSITORY[::turn]}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path=f"bundle.{kind}")).ok
        refused = await call(gate, "archive_extract")
        assert refused.error is not None
        assert refused.error.category is Category.PERMISSION
        place = f"bundle/{where}".rstrip("/")
        assert f"{place} would be a git repository by what lies in it" in refused.error.message
        assert _names(tmp_path) == [f"bundle.{kind}"]
        assert (await call(gate, "archive_extract", pattern="*/pre-commit")).ok
    assert (tmp_path / "bundle" / where / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize(
    "names",
    [("head", "OBJECTS/a", "refs/a"), ("HEAD", "commondir"), ("HEAD/a", "objects/a", "refs/a")],
    ids=["another-case", "of-a-worktree", "directories"],
)
async def test_what_some_file_system_takes_for_a_repository_is_not_unpacked(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped({f"a/{name}": b"x" for name in names}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        assert "bundle/a would be a git repository" in str(await call(gate, "archive_extract"))
    assert _names(tmp_path) == ["bundle.zip"]


async def test_what_would_make_a_repository_of_the_directory_of_its_archive_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (tmp_path / f"{name}.zip").write_bytes(zipped({"a": b"x"}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="objects.zip")).ok
        assert (await call(gate, "archive_extract")).ok
        assert (await call(gate, "archive_open", path="refs.zip")).ok
        assert f"would make '{tmp_path}' a git repository" in str(await call(gate, "archive_extract"))
    assert not (tmp_path / "refs").exists()


async def test_an_extraction_waits_for_who_writes_in_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are judged by what lies there, and together they could make what each of them may not."""
    monkeypatch.setattr(turns, "_LONGEST_WAIT", 0.05)
    (tmp_path / "bundle.zip").write_bytes(zipped({"a.txt": b"a"}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        held = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            outcome = await call(gate, "archive_extract")
        finally:
            os.close(held)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        assert "others are writing" in str(outcome)
        assert _names(tmp_path) == ["bundle.zip"]
        assert (await call(gate, "archive_extract")).ok


async def test_names_of_a_repository_that_lie_apart_make_none(tmp_path: Path) -> None:
    (tmp_path / "bundle.zip").write_bytes(zipped({"a/HEAD": b"x", "a/objects/x": b"x", "b/refs/x": b"x"}))
    async with opened(tmp_path, "archives") as gate:
        assert (await call(gate, "archive_open", path="bundle.zip")).ok
        assert (await call(gate, "archive_extract")).ok


async def test_in_a_git_that_is_opened_a_repository_may_be_unpacked(tmp_path: Path) -> None:
    """Whoever names it in the paths has opened what lies in it for writing."""
    modules = tmp_path / ".git" / "modules"
    modules.mkdir(parents=True)
    (modules / "bundle.zip").write_bytes(zipped(dict.fromkeys(_REPOSITORY, b"x")))
    file = tmp_path / "callgate.yaml"
    file.write_text("version: 1\nscopes: {fs: {paths: [., .git/modules]}}\n")
    async with Callgate.open("memory://", config=file, working_directory=tmp_path, builtin_tools=["archives"]) as gate:
        assert (await call(gate, "archive_open", path=".git/modules/bundle.zip")).ok
        assert (await call(gate, "archive_extract")).ok
    assert (modules / "bundle" / "HEAD").exists()
