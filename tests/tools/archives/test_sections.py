"""Sections of archived texts: headings as they are written, and lines that are made to take long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.tools.archives import searching
from callgate.tools.archives.members import Member
from callgate.tools.archives.sections import count_sections
from tests.tools.archives.building import tarred

# The processor's time is bounded by the system, so that a search that never ends is killed and not waited for.
_PROGRAM = """
import asyncio, resource, sys
from callgate import Callgate, Context
async def main():
    async with Callgate.open("memory://", working_directory=sys.argv[1], builtin_tools=["archives"]) as gate:
        who = Context(autonomy="A4")
        await gate.call("archive_open", {"path": "a.tar"}, who)
        used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
        resource.setrlimit(resource.RLIMIT_CPU, (used + 60, used + 60))
        given = {"query": "zzz"} if sys.argv[2] == "archive_search" else {}
        print((await gate.call(sys.argv[2], given, who)).status)
asyncio.run(main())
"""


def search(data: bytes, wanted: str, *, piece: int) -> list[tuple[int, str, str]]:
    hits: list[dict[str, Any]] = []
    searched = searching.Searched(Member("a.txt", "a.txt", len(data)), wanted, hits=hits, most=50)
    for at in range(0, len(data), piece):
        searched.write(data[at : at + piece])
    searched.end()
    return [(hit["line"], hit["section"], hit["match"]) for hit in hits]


@pytest.mark.parametrize(
    ("line", "section"),
    [
        ("# One", "One"),
        ("###### Six ## ", "Six"),
        ("#  # x", "# x"),
        ("# #", ""),
        ("####### Seven", None),
        ("#none", None),
        (" # none", None),
        ("#", None),
        ("", None),
    ],
    ids=["one", "closed", "hash-inside", "empty", "seven", "no-blank", "blank-before", "hash-only", "nothing"],
)
@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_a_heading_is_hashes_and_a_blank_at_the_beginning(line: str, section: str | None, piece: int) -> None:
    text = f"first!\r\n{line}\rlast!"
    assert search(text.encode(), "!", piece=piece) == [(1, "", "first!"), (3, section or "", "last!")]
    if line:
        assert (2, section or "", line.strip()) in search(text.encode(), line, piece=piece)
    assert count_sections(f"# a\n{line}\n") == (1 if section is None else 2)


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_what_comes_in_pieces_is_searched_as_a_whole(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters of several bytes, ends of lines and the text itself lie across them; a long line is held in parts."""
    monkeypatch.setattr(searching, "_LONGEST", 50)
    long = "x" * 120 + "Größe" + "y" * 120 + "größe"
    text = f"\ufeffGröße\r\nnone\r{long}\n# Größen\nlast größe".encode()
    assert [(line, section) for line, section, _ in search(text, "GRÖßE", piece=piece)] == [
        (1, ""), (3, ""), (4, "Größen"), (5, "Größen")
    ]  # fmt: skip
    assert "Größe" in search(text, "größe", piece=piece)[1][2]


def test_what_turns_out_to_be_no_text_has_no_lines() -> None:
    assert search(b"needle\n\0", "needle", piece=3) == []


@pytest.mark.parametrize(
    "data", [b"\xff needle", b"\xc3needle", b"needle\n\xc3"], ids=["no-utf-8", "half", "half-at-end"]
)
def test_what_turns_out_to_be_another_encoding_is_searched(data: bytes) -> None:
    assert [line for line, _, _ in search(data, "needle", piece=3)] == [1]


@pytest.mark.parametrize("name", ["archive_search", "archive_extract"])
def test_a_line_of_many_hashes_is_read_as_fast_as_any_other(tmp_path: Path, name: str) -> None:
    line = b"# " + b"# " * 4_000_000 + b"x\n"
    (tmp_path / "a.tar").write_bytes(tarred({"README.md": line}))
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["succeeded"], (done.returncode, done.stderr[-1000:])
