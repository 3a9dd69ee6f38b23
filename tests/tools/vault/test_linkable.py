"""Names that links can hold: what follows a note once follows it again, and no link changes its meaning. TOOL-16."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from callgate.model.levels import Category
from tests.tools.vault.calling import call, done, opened, put, texts

COMPOSED = "caf\u00e9.md"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.mark.parametrize(
    "name",
    [" tea two.md", "tea two .md", "notes.md.md", "a`b.md", ("x" + "\u3000" * 80 + "x/") * 3 + "a.md"],
    ids=["blank-before", "blank-behind", "two-endings", "tick", "long-address"],
)
@pytest.mark.parametrize("tool", ["vault_move", "vault_write"])
async def test_a_name_that_no_link_holds_is_refused(tmp_path: Path, tool: str, name: str) -> None:
    put(tmp_path, {"tea.md": "# Tea\n", "today.md": "[[tea]]\n"})
    before = texts(tmp_path)
    given = {"vault_move": {"old_path": "tea.md", "new_path": name}, "vault_write": {"path": name, "body": "x"}}
    async with opened(tmp_path) as gate:
        outcome = await call(gate, tool, **given[tool])
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert "no link to it could hold" in outcome.error.message
    assert texts(tmp_path) == before


@pytest.mark.parametrize("link", ["[[tea]]", "[t](tea.md)", "[t](<tea.md>)"], ids=["wiki", "plain", "angled"])
@pytest.mark.parametrize(
    "new",
    ["green\u00a0tea.md", "\u304a\u8336\u3000\u30e1\u30e2.md", "why tea?.md", "a: b.md", "50% (x).md", "a/b.c/d e.md"],
    ids=["no-break-space", "wide-space", "question", "colon", "percent", "folders"],
)
async def test_a_link_follows_there_and_back_again(tmp_path: Path, link: str, new: str) -> None:
    put(tmp_path, {"tea.md": "# Tea\n", "today.md": f"{link}\n"})
    async with opened(tmp_path) as gate:
        assert (await done(gate, "vault_move", old_path="tea.md", new_path=new))["links_updated"] == 1
        assert texts(tmp_path)["today.md"] != f"{link}\n"
        assert (await done(gate, "vault_move", old_path=new, new_path="chai.md"))["links_updated"] == 1
        assert texts(tmp_path)["today.md"].replace("./", "") == f"{link}\n".replace("tea", "chai")


@pytest.mark.parametrize("link", ["[[{}]]", "[x]({}.md)", "[x](<{}.md>)"])
async def test_of_two_names_that_look_the_same_the_one_that_is_written_is_meant(tmp_path: Path, link: str) -> None:
    text = link.format(COMPOSED.removesuffix(".md")) + "\n"
    put(tmp_path, {COMPOSED: "meant\n", "x.md": "another\n", "n.md": text})
    async with opened(tmp_path) as gate:
        await done(gate, "vault_move", old_path="x.md", new_path=DECOMPOSED)
        assert (await done(gate, "vault_move", old_path=DECOMPOSED, new_path="y.md"))["links_updated"] == 0
        assert texts(tmp_path)["n.md"] == text
        assert (await done(gate, "vault_move", old_path=COMPOSED, new_path="z.md"))["links_updated"] == 1
