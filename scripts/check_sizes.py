"""Hold modules to their limits: lines, an opening docstring, and names that say what is inside."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES_AT_MOST = {"src": 400, "tests": 600}
BANNED_NAMES = frozenset({"utils", "helpers", "common", "base", "core", "manager", "misc"})


def main(root: Path = ROOT) -> int:
    """Print every fault found under a root and return the exit status."""
    faults = sorted(find_faults(root))
    for fault in faults:
        print(fault)
    if faults:
        print(f"{len(faults)} fault(s) in module sizes, docstrings or names")
        return 1
    print("Module sizes, docstrings and names are fine")
    return 0


def find_faults(root: Path) -> Iterator[str]:
    """Say what is wrong with each module of the source and the tests."""
    for folder, limit in LINES_AT_MOST.items():
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            where = path.relative_to(root).as_posix()
            lines = len(text.splitlines())
            if lines > limit:
                yield f"{where}: {lines} lines, {limit} at most; split it by behaviour"
            if folder == "src":
                yield from _faults_of_source(where, path=path, text=text)


def _faults_of_source(where: str, *, path: Path, text: str) -> Iterator[str]:
    if not ast.get_docstring(ast.parse(text)):
        yield f"{where}: opens without a docstring; say its job in one sentence"
    name = path.parent.name if path.stem == "__init__" else path.stem
    if name.strip("_") in BANNED_NAMES:
        yield f"{where}: {name} says nothing; name the module after its noun or its step"


if __name__ == "__main__":
    sys.exit(main())
