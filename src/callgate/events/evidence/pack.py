"""Packing: a folder of files becomes a zip or tar, the same for the same files, or stays a folder. All or nothing."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from callgate.errors import ConfigurationError
from callgate.events.evidence.contents import KNOWN

_FIRST_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_PLAIN_FILE = 0o100644 << 16


@contextmanager
def packing(destination: Path) -> Generator[Path]:
    """A folder to write files into; when the block ends well, the destination is there with exactly these.

    Raises:
        ConfigurationError: There is something at the destination already.
    """
    if destination.exists() or destination.is_symlink():
        raise ConfigurationError(f"{destination} is there already; evidence never replaces anything")
    destination.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
    try:
        inside = work / "files"
        inside.mkdir(mode=0o700)
        yield inside
        made = _packed(inside, destination.suffix, work=work)
        made.rename(destination)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _packed(inside: Path, suffix: str, *, work: Path) -> Path:
    files = sorted(path for path in inside.iterdir() if path.name in KNOWN)
    if suffix == ".zip":
        return _zipped(files, work / "made.zip")
    if suffix == ".tar":
        return _tarred(files, work / "made.tar")
    return inside


def _zipped(files: list[Path], target: Path) -> Path:
    with _private(target).open("wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            info = zipfile.ZipInfo(path.name, _FIRST_ZIP_TIME)
            info.external_attr = _PLAIN_FILE
            info.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as source, archive.open(info, "w", force_zip64=True) as entry:
                shutil.copyfileobj(source, entry)
    return target


def _tarred(files: list[Path], target: Path) -> Path:
    with _private(target).open("wb") as out, tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            info = tarfile.TarInfo(path.name)
            info.size = path.stat().st_size
            info.mode = 0o644
            with path.open("rb") as source:
                archive.addfile(info, source)
    return target


def _private(path: Path) -> Path:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return path
