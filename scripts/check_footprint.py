"""Measure a fresh installation of the core dependencies, and fail when it outgrows its limit."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEGABYTE = 1_000_000
LIMIT = 60 * MEGABYTE


def main() -> int:
    """Install into an empty folder, print its size by package and return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        _install(target)
        sizes = {entry.name: _size(entry) for entry in target.iterdir()}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:10]:
        print(f"{size / MEGABYTE:7.1f} MB  {name}")
    total = sum(sizes.values())
    print(f"{total / MEGABYTE:7.1f} MB  in all, {LIMIT // MEGABYTE} MB at most")
    return 1 if total > LIMIT else 0


def _install(target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-qq", "--no-deps", "--compile"]
    locked = ["--require-hashes", "--requirement", str(ROOT / "requirements" / "core.txt")]
    subprocess.run([*pip, "--target", str(target), *locked], check=True, stdin=subprocess.DEVNULL)


def _size(entry: Path) -> int:
    files = [path for path in (entry.rglob("*") if entry.is_dir() else [entry]) if path.is_file()]
    return sum(path.stat().st_size for path in files)


if __name__ == "__main__":
    sys.exit(main())
