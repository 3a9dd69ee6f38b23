"""vault_move: the note is at its new path, every link means what it meant, and nothing else changes. TOOL-16."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, Failed, Pending, Previewed, Refused
from callgate.model.levels import Autonomy, Category, Happened
from callgate.tools.vault import moving
from tests.tools.vault.calling import call, done, home, once, opened, put, texts

CASES: dict[str, tuple[dict[str, str], str, str, dict[str, str]]] = {
    "every-form-of-a-wiki-link": (
        {
            "tea.md": "x",
            "a.md": "[[tea]] [[Tea]] [[tea|alias]] [[tea#Brewing]] [[tea#^b1|x]] ![[tea]] [[ tea ]] [[tea.md]] "
            "[[/tea]]",
            "t.md": "| [[tea\\|in a table]] |\n",
        },
        "tea.md",
        "drinks/chai.md",
        {
            "a.md": "[[chai]] [[chai]] [[chai|alias]] [[chai#Brewing]] [[chai#^b1|x]] ![[chai]] [[ chai ]] [[chai.md]] "
            "[[drinks/chai]]",
            "t.md": "| [[chai\\|in a table]] |\n",
        },
    ),
    "links-by-path": (
        {
            "a/tea.md": "x",
            "n.md": "[[a/tea]] [[A/Tea#h]]",
            "b/n.md": "[[a/tea|t]] [[../a/tea]]",
            "x/a/n.md": "[[a/tea]]",
        },
        "a/tea.md",
        "b/c/tea.md",
        {"n.md": "[[b/c/tea]] [[b/c/tea#h]]", "b/n.md": "[[b/c/tea|t]] [[b/c/tea]]", "x/a/n.md": "[[b/c/tea]]"},
    ),
    "a-name-that-stays-the-same-needs-no-change": (
        {"tea.md": "x", "a.md": "[[tea]] and [t](tea.md)"},
        "tea.md",
        "drinks/tea.md",
        {"a.md": "[[tea]] and [t](drinks/tea.md)"},
    ),
    "relative-markdown-links": (
        {
            "a/tea.md": "x",
            "a/n.md": '[t](tea.md) [t](./tea.md#h "title") ![t](tea.md)',
            "n.md": "[t](a/tea.md) [t](/a/tea.md) [t](a%2Ftea.md) <a/tea.md> [t](https://x.y/a/tea.md)",
            "b/n.md": "[t](../a/tea.md)\n\n[ref]: ../a/tea.md\n[^1]: ../a/tea.md\n",
        },
        "a/tea.md",
        "b/my (green) tea.md",
        {
            "a/n.md": '[t](../b/my%20%28green%29%20tea.md) [t](../b/my%20%28green%29%20tea.md#h "title") '
            "![t](../b/my%20%28green%29%20tea.md)",
            "n.md": "[t](b/my%20%28green%29%20tea.md) [t](/b/my%20%28green%29%20tea.md) "
            "[t](b/my%20%28green%29%20tea.md) <a/tea.md> [t](https://x.y/a/tea.md)",
            "b/n.md": "[t](my%20%28green%29%20tea.md)\n\n[ref]: my%20%28green%29%20tea.md\n[^1]: ../a/tea.md\n",
        },
    ),
    "markdown-links-in-angles": (
        {"a b.md": "x", "n.md": "[t](<a b.md>) [t](<a b.md#h> 'x') [t](a%20b.md)"},
        "a b.md",
        "c d.md",
        {"n.md": "[t](<c d.md>) [t](<c d.md#h> 'x') [t](c%20d.md)"},
    ),
    "code-is-left-alone": (
        {
            "tea.md": "x",
            "a.md": "`[[tea]]` ``a ` [[tea]]`` [[tea]]\n\n```md\n[[tea]]\n````\n\n    [[tea]] far\n\n~~~\n[t](tea.md)"
            "\n~~~\n\n- item\n\n    [[tea]] in the item\n\n> ```\n> [[tea]]\n\n[[tea]] \\[[tea]] ` [[tea]]\n",
        },
        "tea.md",
        "chai.md",
        {
            "a.md": "`[[tea]]` ``a ` [[tea]]`` [[chai]]\n\n```md\n[[tea]]\n````\n\n    [[tea]] far\n\n~~~\n[t](tea.md)"
            "\n~~~\n\n- item\n\n    [[chai]] in the item\n\n> ```\n> [[tea]]\n\n[[chai]] \\[[tea]] ` [[chai]]\n",
        },
    ),
    "its-own-links-move-with-it": (
        {
            "a/tea.md": "[w](water.md) [w](../top.md) [[water]] [[tea]] [me](tea.md) [[#here]] [x](no.md)",
            "a/water.md": "",
            "top.md": "",
            "water.md": "",
        },
        "a/tea.md",
        "b/c/chai.md",
        {
            "b/c/chai.md": "[w](../../a/water.md) [w](../../top.md) [[a/water]] [[chai]] [me](chai.md) [[#here]] "
            "[x](no.md)",
        },
    ),
    "another-of-the-new-name-keeps-its-links": (
        {"tea.md": "x", "x/chai.md": "y", "n.md": "[[tea]] [[chai]]", "x/n.md": "[[tea]] [[chai]]"},
        "tea.md",
        "chai.md",
        {"n.md": "[[chai]] [[x/chai]]", "x/n.md": "[[/chai]] [[chai]]"},
    ),
    "one-of-two-with-the-same-name": (
        {"a/tea.md": "x", "b/tea.md": "y", "a/n.md": "[[tea]]", "b/n.md": "[[tea]]", "n.md": "[[tea]]"},
        "a/tea.md",
        "a/chai.md",
        {"a/n.md": "[[chai]]", "n.md": "[[chai]]"},
    ),
    "a-link-to-nothing-stays-as-it-is": (
        {"tea.md": "x", "n.md": "[[chai]] [[tea]]"},
        "tea.md",
        "chai.md",
        {"n.md": "[[chai]] [[chai]]"},
    ),
    "links-in-front-matter": (
        {"tea.md": "x", "n.md": '---\nrelated: "[[tea]]"\nlist:\n  - "[[tea|t]]"\n---\nbody\n'},
        "tea.md",
        "chai.md",
        {"n.md": '---\nrelated: "[[chai]]"\nlist:\n  - "[[chai|t]]"\n---\nbody\n'},
    ),
    "line-endings-and-letters": (
        {"té.md": "x", "n.md": "a\r\n[[te\u0301]]\r\n[t](t%C3%A9.md)\r\n"},
        "té.md",
        "日本.md",
        {"n.md": "a\r\n[[日本]]\r\n[t](日本.md)\r\n"},
    ),
    "a-link-by-accident-where-two-names-differ-in-capitals": (
        {"Tea.md": "a person", "tea.md": "a drink", "old.md": "x", "sub/n.md": "[[tea]] [[Tea]]"},
        "old.md",
        "sub/tea.md",
        {"sub/n.md": "[[/tea]] [[Tea]]"},
    ),
    "to-a-name-that-differs-in-capitals": (
        {"Tea.md": "a person", "sub/tea.md": "other", "old.md": "a drink", "sub/n.md": "[[old]] [[/Tea]]"},
        "old.md",
        "tea.md",
        {"sub/n.md": "[[/tea]] [[/Tea]]"},
    ),
    "from-a-name-that-differs-in-capitals": (
        {
            "a/Tea.md": "a person",
            "a/tea.md": "a drink",
            "a/n.md": "[[./tea]] [[./Tea]] [[/a/tea]] [[/A/Tea]]",
            "b/n.md": "[[../a/tea]] [[../a/Tea]]",
        },
        "a/tea.md",
        "chai.md",
        {"a/n.md": "[[chai]] [[./Tea]] [[chai]] [[/A/Tea]]", "b/n.md": "[[chai]] [[../a/Tea]]"},
    ),
    "only-case-changes": (
        {"tea.md": "x", "n.md": "[[tea]] [t](tea.md)"},
        "tea.md",
        "Tea.md",
        {"n.md": "[[tea]] [t](Tea.md)"},
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_links_follow_and_mean_what_they_meant(tmp_path: Path, case: str) -> None:
    """TOOL-16: the old path is gone, the new one reads, links follow."""
    notes, old, new, changed = CASES[case]
    put(tmp_path, notes)
    async with opened(tmp_path) as gate:
        moved = await done(gate, "vault_move", old_path=old, new_path=new)
        assert (moved["status"], moved["old_path"], moved["new_path"]) == ("ok", old, new)
        after = {new if path == old else path: text for path, text in notes.items()}
        assert texts(tmp_path) == after | changed
        assert (await call(gate, "vault_read", path=new)).ok
        assert not (await call(gate, "vault_read", path=old)).ok
        assert [note["path"] for note in (await done(gate, "vault_list"))["notes"]] == sorted(after)
    assert not list(home(tmp_path).glob(".*"))


async def test_links_that_followed_are_counted(tmp_path: Path) -> None:
    put(
        tmp_path, {"tea.md": "[[tea]]", "a.md": "[[tea]] [[tea]] [[water]]", "b.md": "[t](tea.md)", "water.md": "[[x]]"}
    )
    async with opened(tmp_path) as gate:
        moved = await done(gate, "vault_move", old_path="tea.md", new_path="chai.md")
    assert (moved["links_updated"], moved["notes_updated"]) == (4, 3)


async def test_there_and_back_again_is_as_before(tmp_path: Path) -> None:
    notes, old, new, _ = CASES["relative-markdown-links"]
    put(tmp_path, notes)
    async with opened(tmp_path) as gate:
        await done(gate, "vault_move", old_path=old, new_path=new)
        await done(gate, "vault_move", old_path=new, new_path=old)
    back = {path: text.replace("./", "").replace("%2F", "/") for path, text in texts(tmp_path).items()}
    assert back == {path: text.replace("./", "").replace("%2F", "/") for path, text in notes.items()}


async def test_what_is_there_already_is_never_replaced(tmp_path: Path) -> None:
    notes = {"a.md": "a [[b]]", "b.md": "b", "f/c.md": "c", "n.md": "[[a]]"}
    put(tmp_path, notes)
    (home(tmp_path) / "folder.md").mkdir()
    (home(tmp_path) / "link.md").symlink_to("nowhere.md")
    async with opened(tmp_path) as gate:
        for new in ("b.md", "f/c.md", "folder.md", "link.md", "b.md/x.md"):
            outcome = await call(gate, "vault_move", old_path="a.md", new_path=new)
            assert isinstance(outcome, Failed)
            assert outcome.happened is Happened.NONE
        (home(tmp_path) / "link.md").unlink()
        assert texts(tmp_path) == notes


async def test_what_comes_to_lie_there_in_the_last_moment_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"a.md": "a", "n.md": "[[a]]"})
    usual = moving.Record.write

    def meanwhile(record: Any, content: bytes) -> None:
        put(tmp_path, {"b.md": "theirs"})
        usual(record, content)

    monkeypatch.setattr(moving.Record, "write", meanwhile)
    outcome = await once(tmp_path, "vault_move", old_path="a.md", new_path="b.md")
    assert isinstance(outcome, Failed)
    assert outcome.happened is Happened.NONE
    assert texts(tmp_path) == {"a.md": "a", "b.md": "theirs", "n.md": "[[a]]"}
    assert not list(home(tmp_path).glob(".*"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a.md", "a.md"),
        ("a.md", "../b.md"),
        ("../a.md", "b.md"),
        ("a.md", "b.txt"),
        ("a.md", "b]].md"),
        ("a.md", "/b.md"),
    ],
    ids=["same", "climbing", "climbing-old", "no-note", "no-link", "absolute"],
)
async def test_a_move_that_cannot_be_is_an_input_error(tmp_path: Path, old: str, new: str) -> None:
    put(tmp_path, {"a.md": "a"})
    outcome = await once(tmp_path, "vault_move", old_path=old, new_path=new)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert texts(tmp_path) == {"a.md": "a"}


async def test_a_move_is_asked_about_with_every_change_and_is_of_that_change_only(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "a", "n.md": "[[a|alias]]", "m.md": "nothing"})
    arguments = {"old_path": "a.md", "new_path": "b.md"}
    async with opened(tmp_path) as gate:
        shown = await gate.call("vault_move", arguments, Context(autonomy=Autonomy.A0))
        assert isinstance(shown, Previewed)
        told = "move a.md to b.md; 1 links in 1 notes follow\nn.md:\n- [[a]]\n+ [[b]]"
        assert shown.preview is not None
        assert shown.preview.text == told
        waiting = await gate.call("vault_move", arguments, Context(autonomy=Autonomy.A3))
        assert isinstance(waiting, Pending), "destructive: a person is asked below A4"
        put(tmp_path, {"m.md": "[[a]]"})
        await gate.approve(waiting.approval_id, by="operator")
        outcome = await gate.resume(waiting.approval_id)
        assert not outcome.ok
        assert texts(tmp_path) == {"a.md": "a", "n.md": "[[a|alias]]", "m.md": "[[a]]"}
        again = await gate.call("vault_move", arguments, Context(autonomy=Autonomy.A3))
        assert isinstance(again, Pending)
        await gate.approve(again.approval_id, by="operator")
        assert (await gate.resume(again.approval_id)).unwrap()["links_updated"] == 2


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("vault_move", {"old_path": "nobody.md", "new_path": "b.md"}, "there is no note nobody.md"),
        ("vault_move", {"old_path": "a.md", "new_path": "n.md"}, "n.md"),
        ("vault_write", {"path": "a.md", "body": "a", "title": " "}, "title is empty"),
        ("vault_write", {"path": "../a.md", "body": "a"}, "../a.md"),
        ("vault_create_index", {"folder": "nowhere"}, "nowhere"),
    ],
    ids=["no-note", "there-already", "no-title", "outside", "no-folder"],
)
async def test_nobody_is_asked_about_what_cannot_be(
    tmp_path: Path, name: str, arguments: dict[str, Any], said: str
) -> None:
    put(tmp_path, {"a.md": "a", "n.md": "[[a|alias]]"})
    async with opened(tmp_path) as gate:
        refused = await gate.call(name, arguments, Context(autonomy=Autonomy.A1))
        assert isinstance(refused, Refused), refused
        assert said in str(refused)


async def test_a_preview_of_very_many_changes_is_bounded(tmp_path: Path) -> None:
    notes = {f"n/{at}.md": f"[[long name {'x' * 100}]] [[LONG name {'x' * 100}]]" for at in range(200)}
    put(tmp_path, notes | {f"long name {'x' * 100}.md": "a"})
    async with opened(tmp_path) as gate:
        arguments = {"old_path": f"long name {'x' * 100}.md", "new_path": "b.md"}
        shown = await gate.call("vault_move", arguments, Context(autonomy=Autonomy.A0))
        assert isinstance(shown, Previewed)
        assert len(str(shown.preview)) < 25_000
        assert "400 links in 200 notes" in str(shown.preview)
    assert texts(tmp_path).keys() >= notes.keys()


async def test_bytes_that_are_no_text_stay_in_a_note_whose_links_follow(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "a"})
    raw = b"\xff\xfe [[a]] \x00 \xc3( [x](a.md)\r\n\xed\xa0\x80"
    (home(tmp_path) / "n.md").write_bytes(raw)
    assert (await once(tmp_path, "vault_move", old_path="a.md", new_path="b.md")).ok
    assert (home(tmp_path) / "n.md").read_bytes() == raw.replace(b"[[a]]", b"[[b]]").replace(b"a.md", b"b.md")


async def test_moves_and_writes_of_many_at_once_leave_every_link_whole(tmp_path: Path) -> None:
    put(tmp_path, {f"{at}.md": f"[[{(at + 1) % 8}]]" for at in range(8)})
    async with opened(tmp_path) as gate, opened(tmp_path) as other:
        outcomes = await asyncio.gather(
            *(
                call((gate, other)[at % 2], "vault_move", old_path=f"{at}.md", new_path=f"moved/n{at}.md")
                for at in range(8)
            )
        )
    assert all(outcome.ok for outcome in outcomes)
    assert texts(tmp_path) == {f"moved/n{at}.md": f"[[n{(at + 1) % 8}]]" for at in range(8)}
