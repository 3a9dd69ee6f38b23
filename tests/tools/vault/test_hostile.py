"""Notes that mean harm, or are broken: nothing is lost, nothing takes long, and what is wrong is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate import Failed
from callgate.model.levels import Category
from callgate.tools.vault import contents, frontmatter
from callgate.tools.vault.describing import describe
from callgate.tools.vault.links import Spelling, find_links, rewrite
from callgate.tools.vault.prose import without_code
from tests.tools.vault.calling import call, done, home, opened, put, texts

MEBIBYTE = 1024 * 1024
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + at)}: &{chr(98 + at)} [{','.join([f'*{chr(97 + at)}'] * 9)}]\n" for at in range(9)
)
BROKEN: dict[str, str] = {
    "an-alias-bomb": BOMB,
    "a-merge-bomb": "a: &a {x: 1}\nb: {<<: *a}\n",
    "deep": "a: " + "[" * 2000 + "]" * 2000 + "\n",
    "deep-and-open": "a: " + "{a: " * 5000 + "\n",
    "no-yaml": "title: [unclosed\n",
    "a-tab": "a:\n\t- b\n",
    "a-list": "- a\n- b\n",
    "a-text": "just text\n",
    "a-tag": "a: !!python/object/apply:os.system ['echo x']\n",
    "large": "a: " + "x" * 70_000 + "\n",
    "many-parts": "a: [" + "1," * 6000 + "]\n",
    "no-day": "date: 2024-99-99\n",
    "an-endless-number": "n: " + "9" * 5000 + "\n",
    "two-documents": "a: 1\n--- \nb\n",
    "an-odd-key": "? [a, b]\n: 1\n",
    "a-nul": 'a: "\x00"\n',
}


@pytest.mark.parametrize("name", BROKEN)
async def test_broken_front_matter_is_told_and_stays_byte_for_byte(tmp_path: Path, name: str) -> None:
    raw = f"---\n{BROKEN[name]}---\n"
    put(tmp_path, {"a.md": f"{raw}# Body\n\n[[b]]\n", "b.md": "b"})
    async with opened(tmp_path) as gate:
        read = await done(gate, "vault_read", path="a.md")
        if name != "two-documents":
            assert read["metadata"] == {}
            assert read["metadata_error"]
            assert read["content"] == f"{raw}# Body\n\n[[b]]\n"
        assert (await done(gate, "vault_search", query="body"))["count"] == 1
        await done(gate, "vault_move", old_path="b.md", new_path="c.md")
        assert texts(tmp_path)["a.md"] == f"{raw}# Body\n\n[[c]]\n"
        if name != "two-documents":
            outcome = await call(gate, "vault_write", path="a.md", body="new\n", title="A title")
            assert isinstance(outcome, Failed)
            assert "front matter" in str(outcome)
            assert texts(tmp_path)["a.md"] == f"{raw}# Body\n\n[[c]]\n"
            await done(gate, "vault_write", path="a.md", body="new\n")
            assert texts(tmp_path)["a.md"] == f"{raw}new\n"


@pytest.mark.parametrize(
    ("yaml", "values"),
    [
        ("a: .nan\nb: -.inf\n", {"a": "nan", "b": "-inf"}),
        ("a: 123456789012345678901234567890\n", {"a": "123456789012345678901234567890"}),
        ("2: x\ntrue: y\nnull: z\n", {"2": "x", "True": "y", "None": "z"}),
        ("a: 2024-01-02T03:04:05Z\n", {"a": "2024-01-02T03:04:05+00:00"}),
        ("a: !!set {x}\nb: !!binary aGk=\n", {"a": ["x"], "b": "b'hi'"}),
        ("", {}),
        ("# only a comment\n", {}),
    ],
    ids=["no-number", "large-number", "odd-keys", "a-time", "other-kinds", "empty", "comment"],
)
def test_what_json_has_no_form_for_becomes_text(yaml: str, values: dict[str, object]) -> None:
    front, body = frontmatter.split(f"---\n{yaml}---\nbody")
    assert front.error is None
    assert dict(front.values) == values
    assert body == "body"


@pytest.mark.parametrize(
    "text", ["---\nno end\n", "--- \n", " ---\na: 1\n---\n", "text\n---\na: 1\n---\n", "----\na\n----\n"]
)
def test_what_is_no_front_matter_is_body(text: str) -> None:
    assert frontmatter.split(text) == (frontmatter.Frontmatter(), text)


HOSTILE: dict[str, str] = {
    "opening-brackets": "[[" * (MEBIBYTE // 2),
    "opening-brackets-with-letters": "[[a" * (MEBIBYTE // 3),
    "links": "[[a]]" * (MEBIBYTE // 5),
    "different-links": "".join(f"[[{at:x}]]" for at in range(110_000)),
    "aliases": "[[a|" * (MEBIBYTE // 4),
    "addresses": "](a" * (MEBIBYTE // 3),
    "open-parentheses": "](" + "(" * (MEBIBYTE - 2),
    "many-parentheses": "](a(b" * (MEBIBYTE // 5),
    "angles": "](<" * (MEBIBYTE // 3),
    "definitions": "[a]:" * (MEBIBYTE // 4),
    "lines-of-definitions": "[a]: b.md\n" * (MEBIBYTE // 10),
    "ticks": "`" * MEBIBYTE,
    "runs-of-ticks": " ".join("`" * at for at in range(1, 1400)),
    "pairs-of-ticks": "` `` " * (MEBIBYTE // 5),
    "fences": "```\n" * (MEBIBYTE // 4),
    "open-fences": "```a`\n" * (MEBIBYTE // 6),
    "quotations": ">" * MEBIBYTE,
    "lists": "- " * (MEBIBYTE // 2),
    "headings": "# a\n" * (MEBIBYTE // 4),
    "blanks": " " * MEBIBYTE,
    "a-heading-of-blanks": "# " + " " * (MEBIBYTE - 3) + "x",
    "a-heading-with-blanks-in-it": "# a" + " " * (MEBIBYTE - 5) + "x\n",
    "a-heading-that-is-closed-again-and-again": "# a" + " #" * (MEBIBYTE // 2 - 4) + "x\n",
    "hashes": "#" * MEBIBYTE,
    "tags": "#a" * (MEBIBYTE // 2),
    "dashes": "---\n" + "-" * (MEBIBYTE - 4),
    "lines-of-dashes": "---\n" + "--- x\n" * (MEBIBYTE // 6),
    "line-breaks": "\n" * MEBIBYTE,
    "backslashes": "\\" * (MEBIBYTE - 5) + "[[a]]",
    "one-word": "a" * MEBIBYTE,
    "letters": "\u0130" * (MEBIBYTE // 2),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_keeps_the_readers_busy(name: str) -> None:
    """A megabyte of what makes patterns try again and again; two minutes end the run."""
    text = HOSTILE[name]
    assert len(without_code(text)) == len(text)
    describe("a.md", text.encode())
    links = find_links(text)
    changed, count = rewrite(text, {link.spelling: "z" for link in links[:1]})
    assert (count > 0) == bool(links)
    assert len(changed) <= len(text)


async def test_an_index_is_added_to_a_note_that_begins_one_again_and_again(tmp_path: Path) -> None:
    begun = f"{contents.BEGIN}\n" * 40_000
    put(tmp_path, {"a.md": "a", "index.md": begun})
    async with opened(tmp_path) as gate:
        await done(gate, "vault_create_index", folder="/", include_summaries=False)
    assert texts(tmp_path)["index.md"] == f"{begun}\n{contents.BEGIN}\n# Notes\n\n- [[a|a]]\n{contents.END}\n"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Tea", "Tea"),
        ("#  Tea  ##  ", "Tea"),
        ("# Tea#", "Tea#"),
        ("# Tea # two", "Tea # two"),
        ("# ##", "a"),
        ("#", "a"),
        ("#\tTea\t#\r", "Tea"),
        ("   ### Tea", "Tea"),
        ("#Tea", "a"),
    ],
)
def test_a_heading_is_told_without_what_closes_it(line: str, title: str) -> None:
    assert describe("a.md", f"{line}\n".encode()).title.shown == title


async def test_a_note_of_nothing_but_links_follows_a_move(tmp_path: Path) -> None:
    many = "".join(f"[[{at}]]" for at in range(20_000))
    put(tmp_path, {"a.md": "x", "n.md": "[[a]]" * 20_000, "m.md": f"{many}[[a]]"})
    async with opened(tmp_path) as gate:
        moved = await done(gate, "vault_move", old_path="a.md", new_path="b.md")
    assert moved["links_updated"] == 20_001
    assert texts(tmp_path)["n.md"] == "[[b]]" * 20_000
    assert texts(tmp_path)["m.md"] == f"{many}[[b]]"


async def test_what_is_no_text_is_listed_and_said_to_be_none(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "a"})
    (home(tmp_path) / "odd.md").write_bytes(b"# caf\xe9 \xff\x00 word\n")
    (home(tmp_path) / "nul.md").write_bytes(b"# with\x00nul\n\nsecond\x00word\n")
    (home(tmp_path) / "large.md").write_bytes(b"# large\n" * (MEBIBYTE // 8 + 1))
    (home(tmp_path) / "n\udcff.md").write_bytes(b"no name")
    async with opened(tmp_path) as gate:
        listed = await done(gate, "vault_list")
        assert [note["path"] for note in listed["notes"]] == ["a.md", "large.md", "nul.md", "odd.md"]
        for path, said in (("odd.md", "no UTF-8"), ("large.md", "too large")):
            outcome = await call(gate, "vault_read", path=path)
            assert outcome.error is not None
            assert outcome.error.category is Category.USER_INPUT
            assert said in outcome.error.message
        assert (await done(gate, "vault_read", path="nul.md"))["content"].startswith("# with\0nul")
        found = await done(gate, "vault_search", query="word", limit=9)
        assert {hit["path"] for hit in found["results"]} == {"nul.md", "odd.md"}


@pytest.mark.parametrize("form", ["wiki", "plain", "angled"])
def test_a_link_is_found_where_it_stands(form: str) -> None:
    text = {"wiki": "é [[a b#h|x]]", "plain": "é [x](a%20b.md#h)", "angled": "é [x](<a b.md#h>)"}[form]
    [link] = find_links(text)
    assert text[link.start : link.end] == link.spelling.target
    assert isinstance(link.spelling, Spelling)
    assert link.spelling.key == "a b"
