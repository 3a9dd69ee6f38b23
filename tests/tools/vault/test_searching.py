"""Searching: best first, whatever the query is made of; and the index can be lost, broken or shared. TOOL-15."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.vault import index_file, keeping_step, note_index
from callgate.tools.vault.describing import Description, Title, describe
from callgate.tools.vault.note_index import Indexed, NoteIndex
from tests.tools.vault.calling import asker, call, done, home, opened, put, texts

ROOT = Path(__file__).parent.parent.parent.parent
NOTES = {
    "title.md": "# Oolong\n\nA text about something else entirely, and nothing more.\n",
    "tag.md": "---\ntags: [oolong]\n---\n# Other\n\nA text about something else entirely, and nothing more.\n",
    "inline.md": "# Inline\n\nA text with #oolong/dark in it, and some more words besides it.\n",
    "heading.md": "# Other\n\nA text about something else.\n\n## Oolong\n\nAnd nothing more than that.\n",
    "body.md": "# Other\n\nA text that has oolong in it once, and a good many more words besides it.\n",
    "nothing.md": "# Other\n\nWater.\n",
    "café.md": "# Crème brûlée\n\nAt the café, running dogs.\n",
    "日本.md": "# 日本茶\n\n緑茶は日本で最も飲まれている。\n",
    "code.md": "# Code\n\n`a->b` C++ and x_y_z, foo-bar, user@example.com, 3.14\n",
}


async def found(gate: Callgate, query: str, limit: int = 20) -> list[str]:
    return [hit["path"] for hit in (await done(gate, "vault_search", query=query, limit=limit))["results"]]


async def test_titles_count_more_than_tags_headings_and_text(tmp_path: Path) -> None:
    put(tmp_path, NOTES)
    async with opened(tmp_path) as gate:
        ranked = await found(gate, "oolong")
        assert ranked[0] == "title.md"
        assert set(ranked) == {"title.md", "tag.md", "inline.md", "heading.md", "body.md"}
        assert ranked[-1] == "body.md"
        scores = [hit["score"] for hit in (await done(gate, "vault_search", query="oolong"))["results"]]
        assert scores == sorted(scores, reverse=True)
        assert len(await found(gate, "oolong", 2)) == 2


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("creme BRULEE", ["café.md"]),
        ("café", ["café.md"]),
        ("dog run", ["café.md"]),
        ('"nothing more than"', ["heading.md"]),
        ('"more nothing than"', []),
        ("日本茶", ["日本.md"]),
        ("緑茶", ["日本.md"]),
        ("C++", ["code.md"]),
        ("->", ["code.md"]),
        ("foo-bar", ["code.md"]),
        ("user@example.com", ["code.md"]),
        ("x_y_z 3.14", ["code.md"]),
        ("oolong zzzz", ["title.md", "tag.md", "inline.md", "heading.md", "body.md"]),
        ("wat", ["nothing.md"]),
        ("zzzz", []),
        ("%", []),
    ],
    ids=range(16),
)
async def test_a_query_is_words_and_finds_what_a_person_means(tmp_path: Path, query: str, paths: list[str]) -> None:
    put(tmp_path, NOTES)
    async with opened(tmp_path) as gate:
        assert sorted(await found(gate, query)) == sorted(paths)


ODD = [
    *('"', '""', '"a', 'a" OR "b', "NEAR(a b)", "title:a", "a AND", "OR", "NOT a", "(a", "a*", "*", "^a", "-a"),
    *(
        "{a b}:c",
        "a + b",
        "'; DROP TABLE notes; --",
        "\\",
        "a\0b",
        "a\x1bb",
        "x" * 1000,
        "a " * 500,
        '" ' * 500,
        "\ud83d",
        "🙂",
    ),
]


@pytest.mark.parametrize("query", ODD, ids=range(len(ODD)))
async def test_no_text_is_syntax_that_fails(tmp_path: Path, query: str) -> None:
    put(tmp_path, NOTES)
    async with opened(tmp_path) as gate:
        outcome = await call(gate, "vault_search", query=query)
        assert outcome.ok or (outcome.error is not None and outcome.error.category is Category.USER_INPUT), outcome
        assert outcome.ok or query == "\ud83d", outcome
        assert await found(gate, "water") == ["nothing.md"]


@pytest.mark.parametrize(
    "arguments",
    [{"query": ""}, {"query": "  "}, {"query": "x" * 1001}, {"query": "x", "limit": 0}, {"query": "x", "limit": 21}],
    ids=range(5),
)
async def test_a_query_that_cannot_be_is_an_input_error(tmp_path: Path, arguments: dict[str, object]) -> None:
    put(tmp_path, {"a.md": "a"})
    async with opened(tmp_path) as gate:
        outcome = await call(gate, "vault_search", **arguments)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT


def indexes(folder: Path) -> list[Path]:
    return sorted((folder / ".callgate" / "indexes" / "vault").glob("*.db"))


@pytest.mark.parametrize("harm", ["no-database", "half", "empty", "no-tables", "version", "gone", "torn"])
async def test_a_broken_index_is_made_again(tmp_path: Path, harm: str) -> None:
    put(tmp_path, NOTES)
    async with opened(tmp_path, lasting=True) as gate:
        assert await found(gate, "water") == ["nothing.md"]
        [file] = indexes(tmp_path)
        _harm(file, harm)
        assert await found(gate, "water") == ["nothing.md"]
        put(tmp_path, {"nothing.md": "only milk"})
        assert await found(gate, "milk") == ["nothing.md"]
    async with opened(tmp_path, lasting=True) as gate:
        assert (await done(gate, "vault_list"))["count"] == len(NOTES)


def _harm(file: Path, harm: str) -> None:
    content = file.read_bytes()
    if harm in {"no-tables", "version"}:
        statement = "DROP TABLE notes" if harm == "no-tables" else f"PRAGMA user_version = {99}"
        connection = sqlite3.connect(file)
        connection.execute(statement)
        connection.commit()
        connection.close()
    elif harm == "gone":
        file.unlink()
    else:
        torn = bytearray(content)
        torn[4096:] = b"\xaa" * (len(content) - 4096)
        written = {
            "no-database": b"x" * 10_000,
            "half": content[: len(content) // 2],
            "empty": b"",
            "torn": bytes(torn),
        }
        file.write_bytes(written[harm])


async def test_an_index_lasts_and_each_project_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read once and rests is not read again, by another gate either."""
    put(tmp_path, NOTES)
    for file in home(tmp_path).iterdir():
        os.utime(file, (0, 0))
    monkeypatch.setattr(keeping_step, "_MOMENT", 0)
    read: list[str] = []
    usual = keeping_step.describe

    def counted(path: str, content: bytes) -> Description:
        read.append(path)
        return usual(path, content)

    monkeypatch.setattr(keeping_step, "describe", counted)
    for _ in range(2):
        async with opened(tmp_path, lasting=True) as gate:
            assert (await done(gate, "vault_list"))["count"] == len(NOTES)
    assert sorted(read) == sorted(NOTES)
    async with opened(tmp_path, lasting=True) as gate:
        await done(gate, "vault_write", path="a.md", body="x", project_id="other")
        assert (await done(gate, "vault_list", project_id="other"))["count"] == 1
    assert len(indexes(tmp_path)) == 2


async def test_what_does_not_get_through_in_its_time_goes_on_at_the_next_call(tmp_path: Path) -> None:
    put(tmp_path, {f"{at}.md": f"note {at} {'word ' * 200}" for at in range(1200)})
    async with opened(tmp_path) as gate:
        first = await gate.call("vault_search", {"query": "word"}, asker(), timeout=1.05)
        assert not first.ok
        assert (await done(gate, "vault_list"))["truncated"]


def test_what_another_process_changes_amid_a_search_is_not_seen_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = NoteIndex(tmp_path / "index.db"), NoteIndex(tmp_path / "index.db")
    ours.change([Indexed(path, 1, 3, 1, path, describe(path, b"# T\n\ntea")) for path in ("a.md", "b.md")], ())

    def title_after_them(text: str, is_heading: bool) -> Title:
        theirs.change((), ["a.md", "b.md"])
        return Title(text, is_heading)

    monkeypatch.setattr(note_index, "Title", title_after_them)
    assert [hit.path for hit in ours.search("tea", 9)] == ["a.md", "b.md"]
    assert ours.search("tea", 9) == []


_WRITER = """
import asyncio, sys
from pathlib import Path
from tests.tools.vault.calling import done, opened

async def main():
    name = sys.argv[2]
    async with opened(Path(sys.argv[1]), lasting=True) as gate:
        print("ready", flush=True)
        sys.stdin.readline()
        for at in range(15):
            await done(gate, "vault_write", path=f"{name}/{at}.md", body=f"{name} {at} [[hub]]")
            await done(gate, "vault_search", query=name)
            if at % 5 == 2:
                await done(gate, "vault_move", old_path=f"{name}/{at}.md", new_path=f"{name}/moved {at}.md")

asyncio.run(main())
"""


@pytest.mark.slow
async def test_two_processes_on_one_vault_and_one_index_lose_nothing(tmp_path: Path) -> None:
    put(tmp_path, {"hub.md": "x"})
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _WRITER, str(tmp_path), name, cwd=ROOT,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout is not None
        assert await asyncio.wait_for(writer.stdout.readline(), 60) == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
    assert [await asyncio.wait_for(writer.wait(), 100) for writer in writers] == [0, 0]
    async with opened(tmp_path, lasting=True) as gate:
        assert (await done(gate, "vault_list"))["count"] == 31
        assert len(await found(gate, "one")) == 15
        moved = await done(gate, "vault_move", old_path="hub.md", new_path="centre.md")
    assert moved["links_updated"] == 30
    assert all(text.endswith("[[centre]]") for path, text in texts(tmp_path).items() if path != "centre.md")
    assert len(indexes(tmp_path)) == 1


async def test_an_index_that_others_keep_busy_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"a.md": "x"})
    monkeypatch.setattr(index_file, "_PATIENCE", 0.05)
    async with opened(tmp_path, lasting=True) as gate:
        await done(gate, "vault_list")
        [file] = indexes(tmp_path)
        holder = sqlite3.connect(file, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        (home(tmp_path) / "b.md").write_text("y")
        outcome = await call(gate, "vault_list")
        holder.close()
        assert "index of the notes cannot be used now" in str(outcome)
        assert (await done(gate, "vault_list"))["count"] == 2
