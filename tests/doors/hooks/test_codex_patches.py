"""Patches of Codex: whatever a version of it takes for a header, the file that it names is judged."""

from pathlib import Path

import pytest

from tests.doors.hooks.host import CodexRun

FREE = "autonomy: A4\n"


def applied(patch: str, folder: Path) -> None:
    """What a Codex does that trims every line before it looks for a header: it adds and deletes files."""
    adding = folder / "nothing"
    for line in patch.split("\n"):
        header, _, path = line.strip().partition(": ")
        if header == "*** Add File":
            adding = folder / path
            adding.parent.mkdir(parents=True, exist_ok=True)
            adding.write_text("")
        elif header == "*** Delete File":
            (folder / path).unlink()
        elif line.startswith("+"):
            adding.write_text(adding.read_text() + line[1:] + "\n")


@pytest.fixture
def free(codex: CodexRun) -> CodexRun:
    (codex.folder / "callgate.yaml").write_text(FREE)
    return codex


@pytest.mark.parametrize(
    "blank", ["", " ", "\t", " \u2003", "\x85", "\x0b"], ids=["none", "one", "tab", "em", "next", "vt"]
)
def test_a_header_behind_blanks_is_one(free: CodexRun, blank: str):
    outside = free.folder.parent / "precious.txt"
    outside.write_text("x")
    files = [outside, free.folder / "callgate.yaml"]
    hidden = (
        "Delete File: ../precious.txt",
        "Delete File: callgate.yaml",
        "Add File: .codex/hooks.json\n+{}",
    )
    for header in hidden:
        patch = f"*** Begin Patch\n*** Add File: notes.txt\n+hello\n{blank}*** {header}\n*** End Patch"
        done = free.use("apply_patch", {"command": patch}, header)
        if done.code == 0:
            applied(patch, free.folder)
        assert done.err.startswith("Not run"), header
    assert all(each.exists() for each in files)
    assert not (free.folder / ".codex").exists()


def test_a_patch_that_a_version_applies_is_let_through_and_applied(free: CodexRun):
    patch = "*** Begin Patch\r\n *** Add File: a.txt\r\n+*** Delete File: ../x: as text\r\n*** End Patch\r\n"
    assert free.use("apply_patch", {"command": patch}).code == 0
    applied(patch.replace("\r", ""), free.folder)
    assert (free.folder / "a.txt").read_text() == "*** Delete File: ../x: as text\n"


@pytest.mark.parametrize(
    "line",
    [
        "***Delete File: ../x",
        "*** delete file: ../x",
        "***  Delete File: ../x",
        "*** Rename to: ../x",
        "*** Environment ID: elsewhere",
        "\u200b*** Delete File: ../x",
        "\ufeff *** Add File: ../x",
        "\uff0a\uff0a\uff0a Delete File: ../x",
        "*** Delete\u00a0File: ../x",
        "*** Add File:  b.txt",
        "*** Add File: ",
        "*** Add File: a.txt\r*** Delete File: ../x",
        "*** Update File: a.txt\n*** Move to: b.txt ",
    ],
    ids=ascii,
)
def test_a_line_that_looks_like_a_header_and_is_none_is_not_let_through(free: CodexRun, line: str):
    done = free.use("apply_patch", {"command": f"*** Begin Patch\n*** Add File: a.txt\n+x\n{line}\n*** End Patch"})
    assert (done.code, done.out) == (2, "")
    assert "header" in done.err


@pytest.mark.parametrize(
    "line", [" *** ", " ***Note***: read this", " * a: b", "@@ *** Add File: x", "-*** Add File: ../x"]
)
def test_text_of_a_file_is_no_header(free: CodexRun, line: str):
    patch = f"*** Begin Patch\n*** Update File: a.md\n@@\n{line}\n+b\n*** End of File\n*** End Patch"
    assert free.use("apply_patch", {"command": patch}).code == 0


OUTSIDE = "*** Begin Patch\n*** Add File: ../x\n+x\n*** End Patch"


@pytest.mark.parametrize(
    "given", [["a"], ["a", OUTSIDE, "b"], ["a", 1], [], {"a": 1}], ids=["none", "more", "1", "", "{}"]
)
def test_more_or_less_than_one_patch_is_not_understood(free: CodexRun, given: object):
    assert "one patch" in free.use("apply_patch", {"command": given}).err
