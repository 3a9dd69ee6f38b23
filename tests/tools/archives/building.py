"""Archives for tests: honest ones of every kind, and those that lie."""

from __future__ import annotations

import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

HONEST = {
    "README.md": b"# Title\nhello License\n\n## Two\nlast license line\n",
    "docs/a.txt": b"plain\n",
    "bin.dat": bytes(range(256)),
    "empty": b"",
}


def zipped(files: Mapping[str, bytes], *, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip file with these."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", packing) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def zipped_entry(name: str, data: bytes = b"x", *, mode: int = 0) -> bytes:
    """A zip file with one entry of a kind."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, data)
    return made.getvalue()


def tarred(files: Mapping[str, bytes], packing: str = "") -> bytes:
    """A tar file with these, packed or not: "", gz, bz2, xz."""
    return tarred_entries([_entry(name, data) for name, data in files.items()], packing)


def tarred_entries(entries: list[tuple[tarfile.TarInfo, bytes]], packing: str = "") -> bytes:
    """A tar file with these entries."""
    made = io.BytesIO()
    mode: Any = f"w:{packing}"
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def _entry(name: str, data: bytes = b"") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, data


def special(name: str, kind: bytes, target: str = "") -> bytes:
    """A tar file with one entry of this kind."""
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return tarred_entries([(info, b""), _entry("ok.txt", b"ok")])


def seven_zipped(files: Mapping[str, bytes], change: Callable[[Any], None] | None = None) -> bytes:
    """A 7z file with these; its header may be changed before it is written."""
    import py7zr  # noqa: PLC0415 - slow to import

    made = io.BytesIO()
    archive = py7zr.SevenZipFile(made, "w")
    for name, data in files.items():
        archive.writestr(data, name)
    if change is not None:
        change(archive)
    archive.close()
    return made.getvalue()


def link_mode() -> int:
    """The mode of a symbolic link."""
    return stat.S_IFLNK | 0o777


def patched(data: bytes, mark: bytes, offset: int, value: bytes) -> bytes:
    """With other bytes behind the last place where a mark stands."""
    at = data.rindex(mark) + offset
    return data[:at] + value + data[at + len(value) :]


HIDDEN = b"A" * 50 + b"what was hidden"
CENTRAL, LOCAL, END = b"PK\1\2", b"PK\3\4", b"PK\5\6"


def lying_size(size: int, *, checked: int | None = None, packed: int | None = None) -> bytes:
    """A zip file whose both headers say another size than is packed, and whose checksum is that of so many bytes."""
    made = zipped({"a.txt": HIDDEN})
    values = {
        14: zlib.crc32(HIDDEN[: size if checked is None else checked]),
        18: packed,
        22: size,
    }
    for mark, further in ((LOCAL, 0), (CENTRAL, 2)):
        for at, value in values.items():
            if value is not None:
                made = patched(made, mark, at + further, struct.pack("<L", value))
    return made


def with_method(method: int) -> bytes:
    """A zip file that is packed in another way than it is."""
    made = zipped({"a.txt": b"x"})
    for mark, at in ((LOCAL, 8), (CENTRAL, 10)):
        made = patched(made, mark, at, struct.pack("<H", method))
    return made


def counting_wrong(entries: int, *, said: int) -> bytes:
    """A zip file of one file and directories, of whose entries its end record says another number."""
    made = zipped({"a.txt": b"x", **{f"{number}/": b"" for number in range(entries - 1)}})
    number = struct.pack("<H", said)
    return patched(patched(made, END, 8, number), END, 10, number)


def with_large_end() -> bytes:
    """A zip file with the end record of one that is larger than 4 GiB."""
    made = zipped({"a.txt": b"x"})
    at = made.rindex(END)
    return made[:at] + b"PK\6\7" + bytes(16) + made[at:]


def seven_zipped_encrypted() -> bytes:
    """A 7z file with a password."""
    import py7zr  # noqa: PLC0415 - slow to import

    made = io.BytesIO()
    with py7zr.SevenZipFile(made, "w", password="secret") as archive:
        archive.writestr(b"x", "a.txt")
    return made.getvalue()


def overlapping() -> bytes:
    """A zip file in which two members are the same bytes."""
    made = zipped({"a.txt": b"x" * 100, "b.txt": b"x" * 100})
    # Both entries of the table point to the first member.
    return patched(made, CENTRAL, 42, struct.pack("<L", 0))


def xz_with_large_dictionary() -> bytes:
    """An xz file that wants more memory than is given."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    return lzma.compress(tarred(HONEST), format=lzma.FORMAT_XZ, filters=filters)
