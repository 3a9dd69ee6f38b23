"""Manifest: what a package says it holds, believed only after every file was held against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from callgate.events.evidence import contents
from callgate.events.evidence.package import BadPackage, Package, digest_of, parse, whole
from callgate.events.signature import fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What the package says, checked as far as it can be without its events."""

    complete: bool
    """All of a record, or a part."""
    streams: dict[str, tuple[int, int]]
    """First and last event of each stream."""
    shown: int
    links: int
    public_keys: Mapping[str, bytes]
    """The keys signatures are checked with."""
    notes: tuple[str, ...]


def read_manifest(package: Package, *, trusted: Mapping[str, bytes] | None) -> Manifest:
    """Read it and hold every file against it.

    Raises:
        BadPackage: It lies, or is none.
    """
    text = whole(package, contents.MANIFEST)
    body = parse(text, contents.MANIFEST)
    if body.get("format") != contents.FORMAT or body.get("version") != contents.VERSION:
        raise BadPackage("its manifest is of another format or version")
    _compare_files(package, body)
    inside = _read_keys(package)
    notes: list[str] = []
    if trusted is None:
        names = ", ".join(sorted(fingerprint(key) for key in inside.values())) or "none"
        notes.append(f"its signatures are checked with the keys it brings ({names}): compare them with published ones")
    keys = inside if trusted is None else trusted
    notes.extend(_check_signature(package, text, keys=keys))
    return _manifest(body, keys, notes=notes)


def _compare_files(package: Package, body: dict[str, Any]) -> None:
    files: Any = body.get("files")
    if not isinstance(files, dict) or set(cast("dict[str, Any]", files)) != set(contents.LISTED):
        raise BadPackage("its manifest does not list the files that evidence has")
    for name in contents.LISTED:
        digest, size = digest_of(package, name)
        if files[name] != {"sha256": digest, "bytes": size}:
            raise BadPackage(f"{name} is not the file its manifest tells of")


def _read_keys(package: Package) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for key_id, entry in parse(whole(package, contents.KEYS), contents.KEYS).items():
        try:
            key = bytes.fromhex(entry["public_key"])
            given = entry["fingerprint"]
        except (TypeError, KeyError, ValueError) as error:
            raise BadPackage(f"{contents.KEYS} has an entry that is not a key") from error
        if given != fingerprint(key):
            raise BadPackage(f"{contents.KEYS} shows a fingerprint that is not its key's")
        found[key_id] = key
    return found


def _check_signature(package: Package, text: bytes, *, keys: Mapping[str, bytes]) -> list[str]:
    if contents.SIGNATURE not in package.sizes:
        return ["the package itself is not signed: that its approvals are those of the store is not proven"]
    body = parse(whole(package, contents.SIGNATURE), contents.SIGNATURE)
    key = keys.get(str(body.get("key_id")))
    if key is None:
        raise BadPackage(f"it is signed with key {body.get('key_id')!r}, which is not known here")
    try:
        signature = bytes.fromhex(str(body.get("signature")))
        Ed25519PublicKey.from_public_bytes(key).verify(signature, contents.SIGNED_PREFIX + text)
    except (InvalidSignature, ValueError) as error:
        raise BadPackage("its signature does not fit: it was changed or forged") from error
    return []


def _manifest(body: dict[str, Any], keys: Mapping[str, bytes], *, notes: list[str]) -> Manifest:
    match body:
        case {"complete": bool(complete), "streams": dict(), "shown": int(shown), "links": int(links)}:
            streams = {name: _span(span) for name, span in body["streams"].items()}
        case _:
            raise BadPackage("its manifest lacks what a manifest says")
    return Manifest(complete=complete, streams=streams, shown=shown, links=links, public_keys=keys, notes=tuple(notes))


def _span(span: Any) -> tuple[int, int]:
    match span:
        case [int(first), int(last)] if 0 <= first <= last:
            return first, last
        case _:
            raise BadPackage("its manifest has a stream without beginning or end")
