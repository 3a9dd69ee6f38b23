"""vault_create_index: every note of a folder, and nothing of what a person wrote is touched. TOOL-16."""

from __future__ import annotations

from pathlib import Path

from callgate import Context, Failed, Pending, Previewed
from callgate.model.levels import Autonomy
from tests.tools.vault.calling import call, done, opened, put, texts

NOTES = {
    "drinks/tea.md": "---\ntitle: Green tea\n---\n# Tea\n\nComes from [[china|China]] and\nis **good**.\n\nMore.\n",
    "drinks/hot/cocoa.md": "No heading.\n",
    "drinks/odd.md": "# A ]] | title [x]\n\n<!-- a comment -->\n\n- an item <!-- /callgate:index -->\n",
    "water.md": "# Water\n",
}


async def test_every_note_is_listed_with_its_link_and_its_first_paragraph(tmp_path: Path) -> None:
    """TOOL-16: the index lists every note."""
    put(tmp_path, NOTES)
    async with opened(tmp_path) as gate:
        made = await done(gate, "vault_create_index", folder="drinks")
        assert (made["status"], made["path"], made["entries"]) == ("ok", "drinks/index.md", 3)
        assert texts(tmp_path)["drinks/index.md"] == (
            "<!-- callgate:index -->\n"
            "# drinks\n"
            "\n"
            "- [[drinks/hot/cocoa|cocoa]]: No heading.\n"
            "- [[drinks/odd|A title x]]: - an item <! -- /callgate:index -->\n"
            "- [[drinks/tea|Green tea]]: Comes from China and is good.\n"
            "<!-- /callgate:index -->\n"
        )
        made = await done(gate, "vault_create_index", folder="/", title="Every\nthing", include_summaries=False)
        assert (made["path"], made["entries"]) == ("index.md", 5)
        assert texts(tmp_path)["index.md"].splitlines() == [
            "<!-- callgate:index -->",
            "# Every thing",
            "",
            "- [[drinks/hot/cocoa|cocoa]]",
            "- [[drinks/index|drinks]]",
            "- [[drinks/odd|A title x]]",
            "- [[drinks/tea|Green tea]]",
            "- [[water|Water]]",
            "<!-- /callgate:index -->",
        ]
        assert (await done(gate, "vault_read", path="index.md"))["title"] == "Every thing"


async def test_a_part_that_lost_its_end_is_no_part_of_its_own(tmp_path: Path) -> None:
    mine = "# Mine\n\n<!-- callgate:index -->\n(the list is gone, and its end with it)\n\nThoughts of ten years.\n"
    put(tmp_path, {"tea.md": "# Tea\n", "index.md": mine})
    part = "<!-- callgate:index -->\n# Notes\n\n- [[tea|Tea]]\n<!-- /callgate:index -->\n"
    async with opened(tmp_path) as gate:
        for _ in range(3):
            await done(gate, "vault_create_index", folder="/")
            assert texts(tmp_path)["index.md"] == f"{mine}\n{part}"


async def test_only_its_own_part_of_a_note_changes(tmp_path: Path) -> None:
    put(tmp_path, NOTES | {"drinks/index.md": "---\nmine: 1\n---\nWritten by a person.\r\n"})
    async with opened(tmp_path) as gate:
        await done(gate, "vault_create_index", folder="drinks")
        first = texts(tmp_path)["drinks/index.md"]
        assert first.startswith("---\nmine: 1\n---\nWritten by a person.\r\n\n<!-- callgate:index -->\n# drinks\n")
        put(tmp_path, {"drinks/index.md": f"{first}And below.\n", "drinks/milk.md": "# Milk\n"})
        again = await done(gate, "vault_create_index", folder="drinks")
        assert again["entries"] == 4
        after = texts(tmp_path)["drinks/index.md"]
        assert after.startswith("---\nmine: 1\n---\nWritten by a person.\r\n\n<!-- callgate:index -->\n# drinks\n")
        assert after.endswith("<!-- /callgate:index -->\nAnd below.\n")
        assert after.count("<!-- callgate:index -->") == 1
        assert "- [[drinks/milk|Milk]]\n" in after
        await done(gate, "vault_create_index", folder="drinks")
        assert texts(tmp_path)["drinks/index.md"] == after


async def test_the_links_of_an_index_follow_a_move(tmp_path: Path) -> None:
    put(tmp_path, NOTES | {"tea.md": "another"})
    async with opened(tmp_path) as gate:
        await done(gate, "vault_create_index", folder="/")
        await done(gate, "vault_move", old_path="drinks/tea.md", new_path="leaves/oolong.md")
        assert "- [[leaves/oolong|Green tea]]" in texts(tmp_path)["index.md"]
        assert "- [[tea|tea]]" in texts(tmp_path)["index.md"]


async def test_it_is_asked_about_with_its_difference_and_is_of_that_only(tmp_path: Path) -> None:
    put(tmp_path, NOTES)
    async with opened(tmp_path) as gate:
        shown = await gate.call("vault_create_index", {"folder": "drinks"}, Context(autonomy=Autonomy.A0))
        assert isinstance(shown, Previewed)
        assert "+- [[drinks/tea|Green tea]]" in str(shown.preview)
        waiting = await gate.call("vault_create_index", {"folder": "drinks"}, Context(autonomy=Autonomy.A1))
        assert isinstance(waiting, Pending)
        put(tmp_path, {"drinks/milk.md": "# Milk\n"})
        await gate.approve(waiting.approval_id, by="operator")
        assert not (await gate.resume(waiting.approval_id)).ok
        assert "drinks/index.md" not in texts(tmp_path)


async def test_a_folder_without_notes_and_one_with_too_many_are_said(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "x"} | {f"many/{at}{'x' * 120}.md": f"{'word ' * 60}" for at in range(3000)})
    async with opened(tmp_path) as gate:
        empty = await call(gate, "vault_create_index", folder="nothing")
        assert isinstance(empty, Failed)
        assert "there are no notes in nothing" in str(empty)
        large = await call(gate, "vault_create_index", folder="many")
        assert isinstance(large, Failed)
        assert "include_summaries" in str(large)
        assert (await done(gate, "vault_create_index", folder="many", include_summaries=False))["entries"] == 3000
