"""The guide in every package says how to check it by hand. Here its steps are followed with nothing of Callgate's."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from callgate.events import vocabulary
from callgate.events.selection import Selection
from tests.events.offices import Office
from tests.events.stories import Story, record

ODD: dict[str, Any] = {
    "small": 0.00001,
    "smaller": 1e-7,
    "large": 1e16,
    "long": 2**70,
    "whole": 3.0,
    "words": 'grün "quoted" \\ \x01 \x7f \u2028 / \U0001f600',
    "\U0001f600": None,
    "\uffff": [True, [], {}],
}


class Number(str):
    """A number as it is written in its line."""

    __slots__ = ()


def read(line: bytes) -> dict[str, Any]:
    return json.loads(line, parse_float=Number, parse_int=Number)


def canonical(value: Any) -> str:
    if isinstance(value, Number):
        return value
    if isinstance(value, dict):
        items: list[tuple[str, Any]] = sorted(value.items())  # pyright: ignore[reportUnknownArgumentType]
        return "{" + ",".join(f"{canonical(key)}:{canonical(item)}" for key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"  # pyright: ignore[reportUnknownVariableType]
    return json.dumps(value, ensure_ascii=False)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def lines(package: Path, name: str) -> list[dict[str, Any]]:
    return [read(line) for line in (package / name).read_bytes().splitlines()]


def faults(package: Path) -> Iterator[str]:
    """What steps 1 to 3 find, and of step 4 what needs no signature."""
    for name, listed in read((package / "manifest.json").read_bytes())["files"].items():
        if digest((package / name).read_bytes()) != listed["sha256"]:
            yield f"{name} has another digest"
    last: dict[str, str] = {}
    seen: dict[tuple[str, str], str] = {}
    for event in lines(package, "events.jsonl"):
        yield from _faults_of(event)
        stream, number = event["stream"], event["sequence"]
        before = "0" * 64 if number == "0" else last.get(stream)
        if before is not None and event["previous"] != before:
            yield f"{number} does not follow"
        last[stream] = seen[stream, number] = event["hash"]
    for checkpoint in lines(package, "checkpoints.jsonl"):
        for stream, (number, head) in checkpoint["heads"].items():
            if seen.get((stream, number), head) != head:
                yield f"{number} is not the head that was signed"


def _faults_of(event: dict[str, Any]) -> Iterator[str]:
    rest = {name: value for name, value in event.items() if name not in {"hash", "payload", "salt"}}
    if digest(canonical(rest).encode()) != event["hash"]:
        yield f"{event['sequence']} has another hash"
    if event.get("payload") is not None:
        salt = bytes.fromhex(event["salt"])
        if digest(salt + canonical(event["payload"]).encode()) != event["payload_digest"]:
            yield f"{event['sequence']} has another payload"


def check_signatures(package: Path) -> int:
    """The rest of steps 1, 4 and 5; how many signatures there were."""
    keys = read((package / "keys.json").read_bytes())
    for key in keys.values():
        assert key["fingerprint"].replace(":", "") == digest(bytes.fromhex(key["public_key"]))[:32]
    signed = [(read((package / "manifest.sig").read_bytes()), b"callgate evidence 1\n", (package / "manifest.json"))]
    texts = [(note, prefix + file.read_bytes()) for note, prefix, file in signed]
    for checkpoint in lines(package, "checkpoints.jsonl"):
        rest = {name: value for name, value in checkpoint.items() if name != "signature"}
        texts.append((checkpoint, b"callgate checkpoint 1\n" + canonical(rest).encode()))
    for note, text in texts:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(keys[note["key_id"]]["public_key"]))
        key.verify(bytes.fromhex(note["signature"]), text)
    return len(texts)


async def packed(office: Office) -> tuple[Path, Path]:
    """All of a record with odd payloads and an erased one, and a part of it that has links."""
    story = Story()
    events = await record(office.store, story.attempted(), Story().attempted(arguments=ODD), story.succeeded(ODD))
    await office.store.write(lambda tx: tx.erase_payloads([events[0].id]))
    await record(office.store, Story().draft(vocabulary.ERASED, events=[events[0].id]))
    await office.seal()
    return await office.pack("all"), await office.pack("part", selection=Selection(trace=story.trace))


async def test_a_package_is_verified_by_the_steps_of_its_guide(office: Office):
    for package in await packed(office):
        assert list(faults(package)) == []
        assert check_signatures(package) >= 2
        events = lines(package, "events.jsonl")
        assert any(event.get("payload", ...) is None for event in events), "an erased one is in it"
        assert any(event.get("payload", {}) for event in events)
    assert any("payload" not in event for event in lines(office.folder / "part", "events.jsonl"))


async def test_the_guide_in_a_package_tells_these_steps(office: Office):
    guide = " ".join((await office.pack("all") / "README.txt").read_text().split())
    assert "HMAC" not in guide
    for words in (
        'an Ed25519 signature (hex) over the bytes "callgate evidence 1\\n" followed by those of manifest.json',
        "An event's hash is the SHA-256 of the canonical JSON of everything in it but hash, payload and salt.",
        "payload_digest is the SHA-256 of the salt's bytes (the salt is given in hex) followed by the payload's",
        '"callgate checkpoint 1\\n" followed by the canonical JSON of everything in the line but signature',
        "fingerprint, the first 32 hex digits of its SHA-256",
    ):
        assert words in guide


async def test_the_steps_find_what_was_changed(office: Office):
    package, _ = await packed(office)
    events, manifest = package / "events.jsonl", package / "manifest.json"
    text = events.read_bytes()
    events.write_bytes(text.replace(b"gr\xc3\xbcn", b"rot"))
    assert [fault.split(" has ")[1] for fault in faults(package)] == ["another digest", *["another payload"] * 2]
    events.write_bytes(text.replace(b"mail.send", b"mail.read"))
    assert "another payload" in " ".join(faults(package))
    manifest.write_bytes(manifest.read_bytes().replace(b'"complete":true', b'"complete":false'))
    with pytest.raises(InvalidSignature):
        check_signatures(package)
