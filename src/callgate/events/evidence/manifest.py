"""Manifest: what a package says it holds, believed only after every file was held against it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from callgate.events.evidence import contents
from callgate.events.evidence.package import BadPackage, Package, digest_of, parse, whole
from callgate.events.signature import fingerprint, fits

_UNSIGNED = "the package itself is not signed: that its approvals are those of the store is not proven"


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


def read_manifest(
    package: Package, *, trusted: Mapping[str, bytes] | None, signed: bool = False, known: Collection[str] = ()
) -> Manifest:
    """Read it and hold every file against it; if `signed`, it has to be signed itself.

    The keys it brings need no note where the reader knows all of their fingerprints.

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
    names = {fingerprint(key) for key in inside.values()}
    if trusted is None and not (names and names <= set(known)):
        told = ", ".join(sorted(names)) or "none"
        notes.append(f"its signatures are checked with the keys it brings ({told}): compare them with published ones")
    keys = inside if trusted is None else trusted
    if contents.SIGNATURE in package.sizes:
        _check_signature(package, text, keys=keys)
    elif signed:
        raise BadPackage(f"{_UNSIGNED}, and may be anybody's")
    else:
        notes.append(_UNSIGNED)
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


def _check_signature(package: Package, text: bytes, *, keys: Mapping[str, bytes]) -> None:
    body = parse(whole(package, contents.SIGNATURE), contents.SIGNATURE)
    key = keys.get(str(body.get("key_id")))
    if key is None:
        raise BadPackage(f"it is signed with key {body.get('key_id')!r}, which is not known here")
    if not fits(_from_hex(body.get("signature")), contents.SIGNED_PREFIX + text, public_key=key):
        raise BadPackage("its signature does not fit: it was changed or forged")


def _from_hex(text: Any) -> bytes:
    """The bytes; what is no hex has none, and fits nothing."""
    try:
        return bytes.fromhex(str(text))
    except ValueError:
        return b""


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
