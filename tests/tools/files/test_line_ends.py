"""search_files where lines end with CRLF, with a CR alone, or not at all: told and matched, they are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.files.calling import once

MIXED = b"x;\r\nfoo\nx;\n\r\nx; \r\na\rb;\nlast x;"


async def numbers(folder: Path, pattern: str, *, path: str = ".") -> list[int]:
    output = (await once(folder, "search_files", pattern=pattern, path=path)).unwrap()
    assert not [match for match in output["matches"] if match["text"].endswith(("\r", "\n"))]
    assert output["note"] is None
    return [match["line"] for match in output["matches"]]


WHERE = {
    "x;$": [1, 3, 7],
    "^x;$": [1, 3],
    "^$": [4],
    "[^;]$": [2, 5, 6],
    r"\s$": [5],
    r"^[\x20-\x7e]{3}$": [2, 5],
    r"a.b|^b": [6],
    r"a\rb": [6],
    r"x;\r?$": [1, 3, 7],
    r";\r": [1],
    "[\r]$": [1, 4, 5],
    r"\x0D$": [1, 4, 5],
    r"\x{000d}$": [1, 4, 5],
    r"\u000d$": [1, 4, 5],
    r"\U0000000D$": [1, 4, 5],
    r"[^\r]+x;": [7],
    r"\\r|foo$": [2],
    r"\\\r|foo$": [2],
}


@pytest.mark.parametrize("pattern", WHERE)
async def test_a_line_ends_where_it_is_shown_to_end(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "mixed.txt").write_bytes(MIXED)
    assert await numbers(tmp_path, pattern) == WHERE[pattern]


@pytest.mark.parametrize("last", [b"end;", b"end;\r", b"end;\n", b"end;\r\n"])
@pytest.mark.parametrize("before", [b"", b"x" * 5000, b"x" * 300_000])
async def test_a_last_line_is_found_whatever_ends_it(tmp_path: Path, last: bytes, before: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(b"first\r\n" + before + last)
    assert await numbers(tmp_path, "end;$") == [2]
    assert await numbers(tmp_path, "d;", path="a.txt") == [2]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
async def test_lines_that_lie_across_the_pieces_of_a_file_are_found(tmp_path: Path, end: bytes) -> None:
    lines = [b"x" * (at % 211) + b";" for at in range(25_000)]
    (tmp_path / "large.txt").write_bytes(end.join(lines))
    assert (tmp_path / "large.txt").stat().st_size > 2 * 1024 * 1024
    expected = [at + 1 for at, line in enumerate(lines) if line == b"x" * 210 + b";"][:100]
    assert await numbers(tmp_path, "^x{210};$") == expected
