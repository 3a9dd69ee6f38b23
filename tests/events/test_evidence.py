"""Evidence is verified on another machine, without store and keys, and a hostile package is refused."""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.errors import ConfigurationError
from callgate.events import vocabulary
from callgate.events.evidence import verify_evidence
from callgate.events.evidence.contents import KNOWN
from callgate.events.selection import Selection
from tests.events.offices import Office, refused
from tests.events.stories import HouseKeys, Story, record, record_many

KINDS = [".zip", ".tar", ""]


@pytest.mark.parametrize("suffix", KINDS)
async def test_all_of_a_record_verifies_elsewhere(office: Office, suffix: str):
    path = await office.pack("all" + suffix)
    report = verify_evidence(path, public_keys=office.keys.public_keys)
    assert report.ok, report.problems
    assert report.events == 10
    assert report.unsigned == 0
    assert report.signed_until == office.clock.now()
    assert len(report.notes) == 1
    assert "what was recorded after the last checkpoint" in report.notes[0]


@pytest.mark.parametrize("suffix", KINDS)
async def test_evidence_is_verified_from_a_copy_in_a_fresh_process_without_the_store(
    office: Office, suffix: str, tmp_path: Path
):
    made = await office.pack("all" + suffix)
    copy = tmp_path / f"copy{suffix}"
    made.rename(copy)
    program = (
        "import sys, json; from pathlib import Path; from callgate.events.evidence import verify_evidence;"
        "print(json.dumps(verify_evidence(Path(sys.argv[1])).to_json()))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CALLGATE")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(copy), cwd=tmp_path, env=environment, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    report = json.loads(out)
    assert report["ok"] is True, report
    assert report["events"] == 10
    assert any("compare them with published ones" in note for note in report["notes"])


async def test_the_same_record_gives_the_same_bytes(office: Office):
    for suffix in (".zip", ".tar"):
        first, second = await office.pack("first" + suffix), await office.pack("second" + suffix)
        assert first.read_bytes() == second.read_bytes()


async def test_what_is_in_a_package(office: Office):
    path = await office.pack("all")
    assert {file.name for file in path.iterdir()} == KNOWN
    (approval,) = [json.loads(line) for line in (path / "approvals.jsonl").read_bytes().splitlines()]
    assert approval["id"] == "a1"
    assert not {"sealed_id", "mac"} & approval.keys()
    decisions = [json.loads(line) for line in (path / "decisions.jsonl").read_bytes().splitlines()]
    assert [line["type"] for line in decisions] == [vocabulary.ATTEMPTED] * 3 + [
        vocabulary.GATE_REQUIRED,
        vocabulary.REFUSED,
    ]
    assert decisions[0]["decision"]["verdict"] == "allow"
    assert "arguments" not in decisions[0]


async def test_evidence_never_replaces_anything(office: Office):
    for suffix in KINDS:
        path = await office.pack("all" + suffix)
        with pytest.raises(ConfigurationError, match="is there already"):
            await office.pack("all" + suffix)
        assert verify_evidence(path).ok
    dangling = office.folder / "dangling.zip"
    dangling.symlink_to(office.folder / "nowhere")
    with pytest.raises(ConfigurationError, match="is there already"):
        await office.pack("dangling.zip")
    assert not list(office.folder.glob(".*")), "nothing is left lying about"


async def test_a_package_without_a_signature_says_what_is_not_proven(office: Office):
    report = verify_evidence(await office.pack("all.zip", sign=False), public_keys=office.keys.public_keys)
    assert report.ok
    assert any("is not signed" in note for note in report.notes)
    unsigned = office.folder / "all.zip"
    refused(unsigned, "is not signed", public_keys=office.keys.public_keys, signed=True)
    assert verify_evidence(await office.pack("signed.zip"), public_keys=office.keys.public_keys, signed=True).ok


async def test_a_package_of_another_key_is_refused_by_who_knows_the_right_one(office: Office):
    mallory = HouseKeys(b"mallory")
    path = await office.pack("all.zip")
    refused(path, "which is not known here", public_keys=mallory.public_keys)
    unsigned = await office.pack("unsigned.zip", sign=False)
    report = verify_evidence(unsigned, public_keys=mallory.public_keys)
    assert not report.ok
    assert "which is not known here" in report.problems[0]


async def test_a_part_is_proven_by_links_to_a_signed_head(office: Office):
    story = Story()
    await record(office.store, story.attempted(), Story().attempted(), story.succeeded())
    await record_many(office.store, 2)
    await office.seal()
    await record_many(office.store, 5)
    path = await office.pack("part", selection=Selection(trace=story.trace))
    report = verify_evidence(path, public_keys=office.keys.public_keys)
    assert report.ok, report.problems
    assert report.unsigned == 0
    lines = [json.loads(line) for line in (path / "events.jsonl").read_bytes().splitlines()]
    shown = [line for line in lines if "payload" in line]
    assert [line["trace"] for line in shown] == [story.trace] * 2
    assert all(line["payload"] is not None for line in shown)
    links = [line for line in lines if "payload" not in line]
    assert len(links) == 1 + 4, "the stranger's event between, and those up to the head"
    assert not any({"payload", "salt"} & line.keys() for line in links)
    assert any("2 events are shown; 5 more are given without their content" in note for note in report.notes)
    assert any("this is a part of the record" in note for note in report.notes)
    assert len((path / "checkpoints.jsonl").read_bytes().splitlines()) == 1


async def test_a_part_of_many_pages_misses_nothing(office: Office):
    story = Story()
    await record(office.store, *[story.draft("tool_call.progress", step=step) for step in range(2500)])
    await office.seal()
    path = await office.pack("part.zip", selection=Selection(types=("*",), since=0.0))
    report = verify_evidence(path, public_keys=office.keys.public_keys)
    assert report.ok, report.problems
    assert report.events == 2500 + 10 + 1
    assert report.unsigned == 0, "the event about the last checkpoint needs no proof"


async def test_a_part_that_no_checkpoint_covers_says_so(office: Office):
    story = Story()
    await record(office.store, story.attempted(), story.succeeded())
    report = verify_evidence(
        await office.pack("part.zip", selection=Selection(trace=story.trace)), public_keys=office.keys.public_keys
    )
    assert report.ok
    assert report.unsigned == 2
    assert any("2 events are newer than the last signed head here: nobody vouches" in note for note in report.notes)
    await office.seal(record_it=False)
    await record(office.store, story.draft(vocabulary.PROGRESS))
    later = await office.pack("later.zip", selection=Selection(trace=story.trace))
    report = verify_evidence(later, public_keys=office.keys.public_keys)
    assert report.ok
    assert report.unsigned == 1, "what lies before the last signed head is proven"


async def test_a_part_with_an_approval_brings_that_one(office: Office):
    path = await office.pack("part", selection=Selection(types=(vocabulary.GATE_REQUIRED,)))
    assert len((path / "approvals.jsonl").read_bytes().splitlines()) == 1
    nothing = await office.pack("nothing", selection=Selection(trace="nobody"))
    assert (nothing / "approvals.jsonl").read_bytes() == b""
    report = verify_evidence(nothing, public_keys=office.keys.public_keys)
    assert report.ok
    assert report.events == 0


async def test_a_part_with_an_erased_event_says_that_its_content_is_gone(office: Office):
    story = Story()
    events = await record(office.store, story.attempted(), story.succeeded())
    await office.store.write(lambda tx: tx.erase_payloads([events[0].id]))
    await record(office.store, Story().draft(vocabulary.ERASED, events=[events[0].id]))
    await office.seal()
    part = verify_evidence(await office.pack("part.zip", selection=Selection(trace=story.trace)))
    assert part.ok, part.problems
    assert any("the content of 1 events was erased" in note for note in part.notes)
    whole = verify_evidence(await office.pack("all.zip"))
    assert whole.ok, whole.problems


async def test_an_export_that_fails_leaves_nothing_behind(office: Office, monkeypatch: pytest.MonkeyPatch):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        await office.pack("all.zip")
    assert list(office.folder.iterdir()) == []
