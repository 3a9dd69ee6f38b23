"""Notes in ordinary use: written, read, listed, found, by people as well as by tools. TOOL-15."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, Pending, Previewed, Refused
from callgate.flows.trees.contracts import CONTRACTS
from callgate.model.levels import Autonomy, Category, Happened
from callgate.tools import replacing
from tests.tools.examples import run_examples
from tests.tools.vault.calling import TOOLS, call, done, home, once, opened, put, texts

TEA = "# Green tea\n\nComes from China.\n\n## Brewing\n\nAt 80 degrees.\n"


async def test_what_is_written_is_read_listed_and_found(tmp_path: Path) -> None:
    """TOOL-15: write then read gives the body; list shows it; search finds it; the title is the first heading."""
    async with opened(tmp_path) as gate:
        written = await done(gate, "vault_write", path="drinks/tea.md", body=TEA)
        assert {key: written[key] for key in ("status", "path", "title")} == {
            "status": "ok",
            "path": "drinks/tea.md",
            "title": "Green tea",
        }
        read = await done(gate, "vault_read", path="drinks/tea.md")
        assert (read["content"], read["title"], read["metadata"]) == (TEA, "Green tea", {})
        listed = await done(gate, "vault_list")
        assert listed["folder"] == "/"
        assert listed["count"] == 1
        [note] = listed["notes"]
        assert (note["path"], note["title"], note["size"]) == ("drinks/tea.md", "Green tea", len(TEA))
        found = await done(gate, "vault_search", query="brewing china")
        assert found["query"] == "brewing china"
        assert found["count"] == 1
        [hit] = found["results"]
        assert (hit["path"], hit["title"]) == ("drinks/tea.md", "Green tea")
        assert "**China**" in hit["snippet"]
        assert hit["score"] > 0
    assert (home(tmp_path) / "drinks" / "tea.md").read_text() == TEA


async def test_an_access_list_that_nobody_can_tell_matters_to_who_replaces_a_note_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    put(tmp_path, {"tea.md": TEA})
    async with opened(tmp_path) as gate:
        with monkeypatch.context() as patch:
            patch.setattr(os, "getxattr", broken)
            assert (await done(gate, "vault_read", path="tea.md"))["content"] == TEA
            assert (await done(gate, "vault_search", query="china"))["count"] == 1
            replaced = await call(gate, "vault_write", path="tea.md", body="other\n")
    assert isinstance(replaced, Failed)
    assert replaced.happened is Happened.NONE
    assert texts(tmp_path) == {"tea.md": TEA}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: By its front matter\n---\n# By its heading\n", "By its front matter"),
        ("---\ntags: [a]\n---\ntext\n\n### By its heading ###\n", "By its heading"),
        ("```\n# no heading\n```\n\n    # nor this\n\n# [[tea|A link]] in **bold**\n", "A link in bold"),
        ("#no heading\n", "some note"),
        ("", "some note"),
        ("---\ntitle: 7\n---\n", "some note"),
        ("---\ntitle: ''\n---\n# Heading\n", "Heading"),
        ("\ufeff---\r\ntitle: Windows\r\n---\r\n# Heading\r\n", "Windows"),
    ],
    ids=["front-matter", "heading", "not-in-code", "file-name", "empty", "no-text", "empty-title", "windows"],
)
async def test_a_title_comes_from_the_front_matter_the_heading_or_the_file(
    tmp_path: Path, text: str, title: str
) -> None:
    put(tmp_path, {"some note.md": text})
    async with opened(tmp_path) as gate:
        assert (await done(gate, "vault_read", path="some note.md"))["title"] == title
        assert (await done(gate, "vault_list"))["notes"][0]["title"] == title


async def test_front_matter_is_read_and_stays_where_only_the_body_is_given(tmp_path: Path) -> None:
    front = "---\n# a comment\ntags: [tea,  'green']   # kept\ndate: 2024-05-01\nnested: {deep: [1, 2.5, null]}\n---\n"
    put(tmp_path, {"a.md": f"{front}old\n"})
    async with opened(tmp_path) as gate:
        read = await done(gate, "vault_read", path="a.md")
        assert read["content"] == "old\n"
        assert read["metadata"] == {
            "tags": ["tea", "green"],
            "date": "2024-05-01",
            "nested": {"deep": [1, 2.5, None]},
        }
        assert (await call(gate, "vault_write", path="a.md", body="# New\n")).ok
        assert texts(tmp_path)["a.md"] == f"{front}# New\n"
        assert (await call(gate, "vault_write", path="a.md", body="---\nother: 1\n---\nx")).ok
        assert texts(tmp_path)["a.md"] == "---\nother: 1\n---\nx"


async def test_a_title_that_is_given_is_kept_in_the_front_matter_and_nothing_else_changes(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "---\ntags: [x] # kept\ntitle: old\nz: 1\n---\n", "b.md": "---\r\nz: 1\r\n---\r\n"})
    async with opened(tmp_path) as gate:
        for path in ("a.md", "b.md", "c.md"):
            written = await done(gate, "vault_write", path=path, body="# Body\n", title='A "new": one')
            assert written["title"] == 'A "new": one'
            read = await done(gate, "vault_read", path=path)
            assert (read["title"], read["content"]) == ('A "new": one', "# Body\n")
        assert texts(tmp_path)["a.md"] == '---\ntags: [x] # kept\ntitle: "A \\"new\\": one"\nz: 1\n---\n# Body\n'
        raw = (home(tmp_path) / "b.md").read_bytes()
        assert raw == b'---\r\ntitle: "A \\"new\\": one"\r\nz: 1\r\n---\r\n# Body\n'


async def test_what_an_editor_does_is_seen_at_the_next_look(tmp_path: Path) -> None:
    """Made, changed in place under the same size and time, renamed, and deleted: without a word to the tools."""
    put(tmp_path, {"a.md": "one apple\n", "b.md": "two pears\n"})

    async def found(gate: Callgate, query: str) -> list[str]:
        return [hit["path"] for hit in (await done(gate, "vault_search", query=query))["results"]]

    async with opened(tmp_path) as gate:
        assert await found(gate, "apple") == ["a.md"]
        put(tmp_path, {"c/new.md": "three apples\n"})
        assert await found(gate, "apples") == ["a.md", "c/new.md"]
        file = home(tmp_path) / "b.md"
        before = file.stat()
        file.write_text("two melon\n")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert await found(gate, "melon") == ["b.md"]
        assert await found(gate, "pears") == []
        file.rename(home(tmp_path) / "renamed.md")
        assert await found(gate, "melon") == ["renamed.md"]
        (home(tmp_path) / "a.md").unlink()
        assert await found(gate, "apples") == ["c/new.md"]
        assert [note["path"] for note in (await done(gate, "vault_list"))["notes"]] == ["c/new.md", "renamed.md"]
        (tmp_path / "vault" / "agent=agent").rename(tmp_path / "vault" / "before")
        put(tmp_path, {"another.md": "four apples\n"})
        assert await found(gate, "apples") == ["another.md"]


async def test_a_change_in_the_very_moment_of_the_last_look_is_seen(tmp_path: Path) -> None:
    """The same file, of the same size, within one tick of the clock: a hundred times."""
    put(tmp_path, {"a.md": "word000\n"})
    file = home(tmp_path) / "a.md"
    async with opened(tmp_path) as gate:
        for at in range(100):
            file.write_text(f"word{at:03}\n")
            assert (await done(gate, "vault_search", query=f"word{at:03}"))["count"] == 1


async def test_a_list_is_of_a_folder_and_bounded(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "", "b/c.md": "", "b/d/e.md": "", "bc.md": "", "b%_/x.md": "", "b/readme.txt": ""})
    async with opened(tmp_path) as gate:
        for folder, paths in (
            ("b", ["b/c.md", "b/d/e.md"]),
            ("b/", ["b/c.md", "b/d/e.md"]),
            ("b/d", ["b/d/e.md"]),
            ("b%_", ["b%_/x.md"]),
            ("nothing", []),
            ("/", ["a.md", "b%_/x.md", "b/c.md", "b/d/e.md", "bc.md"]),
        ):
            listed = await done(gate, "vault_list", folder=folder)
            assert [note["path"] for note in listed["notes"]] == paths
            assert listed["folder"] == (folder.rstrip("/") or "/")
            assert not listed["truncated"]
        put(tmp_path, {f"many/{at}.md": "" for at in range(1001)})
        listed = await done(gate, "vault_list", folder="many")
        assert (listed["count"], listed["truncated"]) == (1000, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/etc/a.md", "x"),
        ("../a.md", "x"),
        ("a/../../b.md", "x"),
        ("./a.md", "x"),
        ("a//b.md", "x"),
        ("a.txt", "x"),
        ("a.MD", "x"),
        (".md", "x"),
        (".hidden/a.md", "x"),
        (".callgate-move.json.md", "x"),
        ("a\0.md", "x"),
        ("a\n.md", "x"),
        ("~/a.md", "x"),
        ("x" * 254 + ".md", "x"),
        ("é" * 130 + ".md", "x"),
        ("a[b].md", "x"),
        ("a|b.md", "x"),
        ("a#b.md", "x"),
        ("a.md", "x\0y"),
        ("a.md", "x" * (1024 * 1024 + 1)),
        ("a.md", "é" * (512 * 1024 + 1)),
    ],
    ids=range(21),
)
async def test_a_note_that_cannot_be_is_an_input_error(tmp_path: Path, path: str, body: str) -> None:
    """TOOL-15: relative, ending in .md, without `..`, at most 256 characters and 1 MiB."""
    outcome = await once(tmp_path, "vault_write", path=path, body=body)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert texts(tmp_path) == {}


async def test_the_largest_note_and_the_longest_path_work(tmp_path: Path) -> None:
    path = "/".join(["a" * 50] * 4) + "/" + "b" * 49 + ".md"
    assert len(path) == 256
    body = "\u20ac" * 349_525 + "a"
    assert len(body.encode()) == 1024 * 1024
    async with opened(tmp_path) as gate:
        assert (await call(gate, "vault_write", path=path, body=body)).ok
        assert (await done(gate, "vault_read", path=path))["content"] == body
        assert (await done(gate, "vault_list"))["count"] == 1


async def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        outcome = await call(gate, "vault_read", path="nothing.md")
        assert isinstance(outcome, Failed)
        assert "there is no note nothing.md" in str(outcome)
        assert (await done(gate, "vault_list"))["notes"] == []
        assert (await done(gate, "vault_search", query="x"))["results"] == []
        for name, arguments in (
            ("vault_move", {"old_path": "a.md", "new_path": "b.md"}),
            ("vault_create_index", {"folder": "/"}),
        ):
            outcome = await call(gate, name, **arguments)
            assert isinstance(outcome, Failed)
            assert outcome.happened is Happened.NONE
    assert not (tmp_path / "vault").exists()


async def test_a_write_is_asked_about_with_its_difference_and_is_of_that_note_only(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "---\nx: 1\n---\nold\n"})
    arguments = {"path": "a.md", "body": "new\n"}
    async with opened(tmp_path) as gate:
        shown = await gate.call("vault_write", arguments, Context(autonomy=Autonomy.A0))
        assert isinstance(shown, Previewed)
        assert "-old" in str(shown.preview)
        assert "+new" in str(shown.preview)
        assert "-x: 1" not in str(shown.preview)
        waiting = await gate.call("vault_write", arguments, Context(autonomy=Autonomy.A2))
        assert isinstance(waiting, Pending)
        put(tmp_path, {"a.md": "---\nx: 2\n---\nold\n"})
        await gate.approve(waiting.approval_id, by="operator")
        outcome = await gate.resume(waiting.approval_id)
        assert not outcome.ok
        assert texts(tmp_path)["a.md"] == "---\nx: 2\n---\nold\n"


async def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    put(tmp_path, {"a.md": "old"})
    monkeypatch.setattr(replacing, "write_all", full)
    for path in ("a.md", "new/folder/b.md"):
        outcome = await once(tmp_path, "vault_write", path=path, body="new")
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
    assert sorted(str(file.relative_to(home(tmp_path))) for file in home(tmp_path).rglob("*")) == ["a.md"]
    assert texts(tmp_path) == {"a.md": "old"}


async def test_the_contracts_of_behaviour_trees_hold_for_what_the_tools_give(tmp_path: Path) -> None:
    """BT-03, BT-04: each success condition is true of a real output, and each key that is written is in it."""
    arguments: dict[str, dict[str, Any]] = {
        "vault_write": {"path": "a.md", "body": "text"},
        "vault_read": {"path": "a.md"},
        "vault_search": {"query": "text"},
        "vault_list": {},
        "vault_move": {"old_path": "a.md", "new_path": "b.md"},
        "vault_create_index": {"folder": "/"},
    }
    async with opened(tmp_path) as gate:
        for name, given in arguments.items():
            output = await done(gate, name, **given)
            contract = CONTRACTS[name]
            assert [condition.fault(output) for condition in contract.success if condition.fault(output)] == []
            assert {key for key in contract.writes.values() if key is not None} <= output.keys()
            schema = next(tool for tool in gate.tools() if tool.name == name).input_schema
            assert set(contract.reads) == set(schema.get("required", []))
            assert {*contract.reads, *contract.may_read} <= schema["properties"].keys()


async def test_the_examples_run(tmp_path: Path) -> None:
    put(tmp_path, {"welcome.md": "Hello", "tea.md": "Tea", "drinks/water.md": "Water"})
    async with opened(tmp_path) as gate:
        await run_examples(gate, *TOOLS)


async def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate, opened(tmp_path) as other:
        outcomes = await asyncio.gather(
            *(call((gate, other)[at % 2], "vault_write", path=f"f/{at}.md", body=f"note {at}\n") for at in range(20))
        )
        assert all(outcome.ok for outcome in outcomes)
        assert (await done(gate, "vault_list"))["count"] == 20
        assert (await done(other, "vault_search", query="note", limit=20))["count"] == 20


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("vault_write", {"path": "kept.md", "body": "new"}),
        ("vault_create_index", {"folder": "drinks"}),
        ("vault_move", {"old_path": "tea.md", "new_path": "drinks/chai.md"}),
    ],
)
async def test_a_note_that_is_protected_against_writing_stays_as_it_is(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    notes = {"tea.md": "x", "kept.md": "[[tea]]", "drinks/index.md": "by hand", "drinks/mate.md": "y"}
    put(tmp_path, notes)
    for kept in ("kept.md", "drinks/index.md"):
        (home(tmp_path) / kept).chmod(0o444)
    async with opened(tmp_path) as gate:
        told = await call(gate, name, **arguments)
        assert "is protected against writing" in str(told)
        assert isinstance(told, Failed)
        assert told.happened is Happened.NONE
        shown = await gate.call(name, arguments, Context(autonomy=Autonomy.A0))
        assert "is protected against writing" in str(shown)
        asked = await gate.call(name, arguments, Context(autonomy=Autonomy.A1))
        assert isinstance(asked, Refused), asked
        assert "is protected against writing" in str(asked)
        assert texts(tmp_path) == notes


async def test_a_note_that_is_protected_can_get_another_name(tmp_path: Path) -> None:
    put(tmp_path, {"tea.md": "x", "a.md": "[[tea]]"})
    (home(tmp_path) / "tea.md").chmod(0o444)
    async with opened(tmp_path) as gate:
        await done(gate, "vault_move", old_path="tea.md", new_path="chai.md")
    assert texts(tmp_path) == {"chai.md": "x", "a.md": "[[chai]]"}
