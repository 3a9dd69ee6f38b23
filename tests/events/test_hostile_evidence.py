"""A package that anyone may have made: forged, lying or built to break its reader. Each is refused or found out."""

import hashlib
import io
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.events.evidence import verify_evidence
from callgate.events.report import Report
from callgate.model.canonical import dumps
from tests.events.houses import House, MemoryHouse
from tests.events.offices import Office, refused
from tests.events.stories import HandClock


@pytest.fixture
async def house(clock: HandClock) -> House:
    """One store is enough: what is packed is looked at elsewhere."""
    made = MemoryHouse(clock)
    await made.open()
    return made


def edit(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file and make the manifest fit, as a forger would."""
    file = path / name
    file.write_bytes(change(file.read_bytes()))
    manifest = json.loads((path / "manifest.json").read_bytes())
    if name != "manifest.json":
        text = file.read_bytes()
        manifest["files"][name] = {"sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}
        (path / "manifest.json").write_bytes(dumps(manifest))


@pytest.fixture
async def unsigned(office: Office) -> Path:
    return await office.pack("unsigned", sign=False)


def found(path: Path, office: Office, words: str) -> Report:
    report = verify_evidence(path, public_keys=office.keys.public_keys)
    assert not report.ok
    assert any(words in problem for problem in report.problems), report.problems
    return report


async def test_a_changed_file_is_found(office: Office):
    path = await office.pack("all")
    file = path / "events.jsonl"
    file.write_bytes(file.read_bytes().replace(b"ada@example.org", b"eve@example.org"))
    refused(path, "events.jsonl is not the file its manifest tells of")


async def test_a_changed_manifest_is_found_by_its_signature(office: Office):
    path = await office.pack("all")
    edit(path, "approvals.jsonl", lambda text: text.replace(b'"pending"', b'"approved"'))
    refused(path, "its signature does not fit")


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("events.jsonl", b"ada@example.org", b"eve@example.org", "was edited"),
        ("events.jsonl", b'"role":"assistant"', b'"role":"superuser"', "was edited"),
        ("decisions.jsonl", b'"verdict":"allow"', b'"verdict":"deny"', "does not say what event"),
        ("approvals.jsonl", b'"state":"pending"', b'"state":"used"', "the events say pending"),
        ("checkpoints.jsonl", b'"time":', b'"time":1', "has a signature that does not fit"),
    ],
)
async def test_a_forged_file_is_found_though_the_manifest_fits(
    office: Office, unsigned: Path, name: str, old: bytes, new: bytes, words: str
):
    edit(unsigned, name, lambda text: text.replace(old, new, 1))
    found(unsigned, office, words)


def drop_line(number: int) -> Callable[[bytes], bytes]:
    def change(text: bytes) -> bytes:
        lines = text.splitlines(keepends=True)
        del lines[number]
        return b"".join(lines)

    return change


async def test_a_left_out_event_is_found(office: Office, unsigned: Path):
    edit(unsigned, "events.jsonl", drop_line(3))
    found(unsigned, office, "event 3 is missing from stream")


async def test_a_left_out_tail_is_found(office: Office, unsigned: Path):
    edit(unsigned, "events.jsonl", lambda text: b"".join(text.splitlines(keepends=True)[:4]))
    found(unsigned, office, "was cut: the checkpoint of")


async def test_a_left_out_decision_and_one_too_many_are_found(office: Office, unsigned: Path):
    edit(unsigned, "decisions.jsonl", drop_line(0))
    found(unsigned, office, "does not say what event")
    edit(unsigned, "decisions.jsonl", lambda text: text + text)
    found(unsigned, office, "decisions.jsonl")


async def test_an_extra_decision_is_found(office: Office, unsigned: Path):
    edit(unsigned, "decisions.jsonl", lambda text: text + b'{"event":"made up"}\n')
    found(unsigned, office, "has decisions that no event in it made")


async def test_a_left_out_approval_is_found(office: Office, unsigned: Path):
    edit(unsigned, "approvals.jsonl", lambda _: b"")
    found(unsigned, office, "approval a1 is gone")


async def test_a_manifest_that_counts_wrong_is_found(office: Office, unsigned: Path):
    edit(unsigned, "manifest.json", lambda text: text.replace(b'"shown":10', b'"shown":11'))
    found(unsigned, office, "the manifest counts other events")


async def test_a_manifest_that_tells_of_other_streams_is_found(office: Office, unsigned: Path):
    manifest = json.loads((unsigned / "manifest.json").read_bytes())
    manifest["streams"]["another"] = [0, 1]
    (unsigned / "manifest.json").write_bytes(dumps(manifest))
    found(unsigned, office, "the events are not those the manifest tells of")


async def test_a_whole_record_passed_off_as_a_part_is_still_held_to_its_chain(office: Office, unsigned: Path):
    edit(unsigned, "manifest.json", lambda text: text.replace(b'"complete":true', b'"complete":false'))
    edit(unsigned, "events.jsonl", drop_line(3))
    found(unsigned, office, "event 3 is missing from stream")


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b'"text"',
        b"{}",
        b'{"a": 1}',
        b'{"a":1,"a":1}',
        b'{"b":1,"a":1}',
        b'{"a":NaN}',
        b"\xff\xfe",
        b"[" * 5000,
        b'{"a":' * 5000,
        b'{"payload":null}',
        b'{"sequence":"0"}',
    ],
)
async def test_a_line_that_is_no_event_is_refused(unsigned: Path, line: bytes):
    edit(unsigned, "events.jsonl", lambda text: line + b"\n" + text)
    refused(unsigned, "line 1 of events.jsonl is not")


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": "0"},
        {"sequence": True},
        {"sequence": -1},
        {"time": "now"},
        {"call": 5},
        {"causes": "x"},
        {"causes": [1]},
        {"payload": []},
        {"salt": 1},
        {"extra": 1},
        {"type": None},
        {"hash": None},
    ],
)
async def test_an_event_with_a_field_of_the_wrong_kind_is_refused(unsigned: Path, change: dict[str, Any]):
    def forge(text: bytes) -> bytes:
        first, *rest = text.splitlines(keepends=True)
        return b"".join([dumps(json.loads(first) | change) + b"\n", *rest])

    edit(unsigned, "events.jsonl", forge)
    refused(unsigned, "line 1 of events.jsonl is not an event")


async def test_a_line_cut_off_or_too_long_is_refused(unsigned: Path, monkeypatch: pytest.MonkeyPatch):
    edit(unsigned, "events.jsonl", lambda text: text[:-1])
    refused(unsigned, "the last line of events.jsonl is cut off")
    monkeypatch.setattr("callgate.events.evidence.package.LINE_AT_MOST", 100)
    monkeypatch.setattr("callgate.events.evidence.package._CHUNK", 150)
    refused(unsigned, "is too long")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("checkpoints.jsonl", b'{"id":1}\n'),
        ("approvals.jsonl", b'{"id":"a1"}\n'),
        ("keys.json", b'{"k":1}'),
        ("keys.json", b'{"k":{"fingerprint":"","public_key":"zz"}}'),
        ("keys.json", b'{"k":{"fingerprint":"wrong","public_key":"00"}}'),
        ("keys.json", b"[]"),
    ],
)
async def test_nonsense_in_any_file_is_refused(unsigned: Path, name: str, text: bytes):
    edit(unsigned, name, lambda _: text)
    assert verify_evidence(unsigned).problems[0].startswith("refused: ")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"files": {}},
        {"files": 5},
        {"streams": 5},
        {"streams": {"s": [5, 1]}},
        {"streams": {"s": ["0", 1]}},
        {"complete": "yes"},
        {"shown": None},
    ],
)
async def test_a_lying_manifest_is_refused(unsigned: Path, change: dict[str, Any]):
    manifest = json.loads((unsigned / "manifest.json").read_bytes()) | change
    (unsigned / "manifest.json").write_bytes(dumps(manifest))
    refused(unsigned, "manifest")


@pytest.mark.parametrize("text", [b"{}", b'{"key_id":"x","signature":"zz"}', b'{"key_id":5}', b"[]"])
async def test_a_signature_that_is_none_is_refused(office: Office, unsigned: Path, text: bytes):
    (unsigned / "manifest.sig").write_bytes(text)
    refused(unsigned, "")
    text = dumps({"key_id": office.keys.key_id, "signature": "zz"})
    (unsigned / "manifest.sig").write_bytes(text)
    refused(unsigned, "its signature does not fit")


async def test_a_missing_file_is_refused(unsigned: Path):
    (unsigned / "keys.json").unlink()
    refused(unsigned, "keys.json is missing")


async def test_a_folder_with_links_or_strangers_is_refused(unsigned: Path, tmp_path: Path):
    target = tmp_path / "elsewhere"
    shutil.move(unsigned / "keys.json", target)
    (unsigned / "keys.json").symlink_to(target)
    refused(unsigned, "keys.json is not a plain file")
    (unsigned / "keys.json").unlink()
    (unsigned / "keys.json").mkdir()
    refused(unsigned, "keys.json is not a plain file")
    (unsigned / "keys.json").rmdir()
    (unsigned / "stranger.txt").write_text("hello")
    refused(unsigned, "something that does not belong in it: 'stranger.txt'")


def zipped(path: Path, entries: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries:
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "a/manifest.json", "manifest.json\\x", "C:\\x"])
def test_a_zip_with_a_name_that_is_not_ours_is_refused(tmp_path: Path, name: str):
    refused(zipped(tmp_path / "bad.zip", [(name, b"x")]), "something that does not belong in it")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_with_a_name_twice_is_refused(tmp_path: Path):
    refused(zipped(tmp_path / "bad.zip", [("manifest.json", b"{}"), ("manifest.json", b"{}")]), "manifest.json twice")


def test_a_zip_bomb_is_refused_before_it_is_opened(tmp_path: Path):
    bomb = zipped(tmp_path / "bomb.zip", [("manifest.json", b"{}"), ("events.jsonl", b"\0" * 20_000_000)])
    refused(bomb, "packed more tightly than evidence can be")


def test_a_package_that_claims_to_be_huge_is_refused(tmp_path: Path):
    large = zipped(tmp_path / "large.zip", [("manifest.json", os.urandom(5000))])
    refused(large, "claims to hold more than 1000 bytes", most_bytes=1000)


async def test_a_zip_whose_bytes_do_not_fit_is_refused(office: Office):
    path = await office.pack("all.zip")
    good = path.read_bytes()
    middle = len(good) // 3
    for bad in (good[:-30], good[:middle] + b"\0\0\0\0" + good[middle + 4 :], b"PK\x05\x06" + b"\0" * 18, b""):
        path.write_bytes(bad)
        assert verify_evidence(path).problems[0].startswith("refused: ")


def test_an_encrypted_zip_is_refused(tmp_path: Path):
    path = zipped(tmp_path / "bad.zip", [("manifest.json", b"{}")])
    text = bytearray(path.read_bytes())
    text[text.index(b"PK\x01\x02") + 8] |= 1
    text[text.index(b"PK\x03\x04") + 6] |= 1
    path.write_bytes(bytes(text))
    refused(path, "manifest.json is not a plain file")


def tarred(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for info, text in members:
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (member("../escape"), "does not belong"),
        (member("/etc/passwd"), "does not belong"),
        (member("manifest.json", tarfile.SYMTYPE, "/etc/passwd"), "not a plain file"),
        (member("manifest.json", tarfile.LNKTYPE, "events.jsonl"), "not a plain file"),
        (member("manifest.json", tarfile.CHRTYPE), "not a plain file"),
        (member("manifest.json", tarfile.FIFOTYPE), "not a plain file"),
        (member("manifest.json", tarfile.DIRTYPE), "not a plain file"),
    ],
)
def test_a_tar_with_something_that_is_not_ours_is_refused(tmp_path: Path, info: tarfile.TarInfo, words: str):
    refused(tarred(tmp_path / "bad.tar", [(info, b"")]), words)


def test_a_tar_with_a_name_twice_is_refused(tmp_path: Path):
    refused(tarred(tmp_path / "bad.tar", [(member("manifest.json"), b"{}")] * 2), "manifest.json twice")


@pytest.mark.parametrize("text", [b"", b"hello", b"\0" * 10240, os.urandom(2000)])
def test_what_is_no_package_is_refused(tmp_path: Path, text: bytes):
    path = tmp_path / "nothing.bin"
    path.write_bytes(text)
    refused(path, "")
    refused(tmp_path / "absent", "cannot be read")


def test_a_zip_with_an_empty_name_is_refused(tmp_path: Path):
    path = tmp_path / "bad.zip"
    info = zipfile.ZipInfo("x")
    info.filename = ""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, b"x")
    refused(path, "something that does not belong in it: ''")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_no_damage_to_an_archive_breaks_its_reader(office: Office, data: st.DataObject):
    suffix = data.draw(st.sampled_from([".zip", ".tar"]))
    path = office.folder / f"all{suffix}"
    good = office.folder / f"good{suffix}"
    if not good.exists():
        await office.pack(good.name)
    text = bytearray(good.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(text[: data.draw(st.integers(0, len(text)))]) if data.draw(st.booleans()) else bytes(text))
    report = verify_evidence(path, public_keys=office.keys.public_keys)
    assert isinstance(report.ok, bool)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_no_damage_to_a_file_goes_unseen_or_breaks_its_reader(office: Office, data: st.DataObject):
    good = office.folder / "good"
    if not good.exists():
        await office.pack("good", sign=False)
    path = office.folder / "bad"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(good, path)
    name = data.draw(st.sampled_from(["events.jsonl", "checkpoints.jsonl", "decisions.jsonl"]))

    def damage(text: bytes) -> bytes:
        place = data.draw(st.integers(0, len(text) - 1))
        other = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[place]))
        return text[:place] + bytes([other]) + text[place + 1 :]

    edit(path, name, damage)
    assert not verify_evidence(path, public_keys=office.keys.public_keys).ok
