"""What is code in a note, as CommonMark has it: nothing in it changes, and links outside of it follow. TOOL-16."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.vault.calling import done, opened, put, texts

CODE: dict[str, str] = {
    "behind-a-heading": "# Commands\n    grep [[tea]] all\n",
    "behind-an-underlined-heading": "Commands\n===\n    grep [[tea]] all\n",
    "behind-a-rule": "---\n    [[tea]]\n",
    "behind-a-fence": "```\nx\n```\n    [[tea]]\n",
    "a-fence-that-no-quotation-ends": "```\n> ```\n[[tea]]\n```\n",
    "a-fence-that-no-code-ends": "```\n    ```\n[[tea]]\n```\n",
    "a-longer-fence": "````\n```\n[[tea]]\n```\n````\n",
    "a-fence-in-a-quotation": "> ```\n> [[tea]]\n",
    "a-fence-in-an-item": "1. a\n   ```\n   [[tea]]\n\n   [[tea]]\n",
    "a-fence-behind-a-mark": "- ~~~\n  [[tea]]\n  ~~~\n",
    "indented-in-an-item": "- a\n\n      [[tea]]\n",
    "behind-a-tab": "x\n\n\t[[tea]]\n",
    "a-span": "`a [[tea]] b`\n",
    "a-span-over-two-lines": "``a ` [[tea]]\n[[tea]] b``\n",
    "a-span-in-a-quotation": "> `a\n> [[tea]]`\n",
    "a-span-in-a-row": "| a | b |\n|---|---|\n| ` | ` [[tea]] ` |\n",
}
TEXT: dict[str, str] = {
    "ticks-in-two-items": "- press ` then see [[tea]]\n- press ` again\n",
    "a-tick-in-a-heading": "# The ` key\nsee [[tea]]\n\n",
    "ticks-in-a-heading-and-below": "# The ` key\nsee [[tea]] and press `\n",
    "a-tick-in-a-quotation": "> a ` tick\n\n[[tea]]\n",
    "ticks-in-a-quotation-and-an-item": "> a ` b\n> - [[tea]] ` x\n",
    "a-form-feed-is-no-line": "a page\x0c``` [[tea]]\n",
    "a-line-separator-is-no-line": "one\u2028\u2028    [[tea]]\n",
    "ticks-in-two-rows": "| a ` | [[tea]] |\n|---|---|\n| ` | x |\n",
    "an-escaped-tick": "\\`[[tea]]`\n",
    "behind-a-fence-in-an-item": "1. one\n\n   ```\n   code\n   ```\n\n   [[tea]]\n",
    "behind-a-fence-in-a-quotation": "> ```\n> x\n[[tea]]\n",
    "a-paragraph-goes-on": "a\n    [[tea]]\n",
    "an-item-goes-on": "- a\n    [[tea]]\n",
    "the-second-paragraph-of-an-item": "- a\n\n    [[tea]]\n",
    "an-item-in-an-item": "- a\n\n  - b\n\n    [[tea]]\n",
    "a-number-that-begins-no-list": "a `\n2. b `\n\n[[tea]]\n",
    "a-fence-with-a-tick-behind-it": "``` a ` [[tea]]\n",
    "a-fence-in-front-matter": "---\nx: |\n  ```\n---\n[[tea]]\n",
    "old-line-breaks": "a\r```\r[[x]]\r```\r[[tea]]\r",
}


@pytest.mark.parametrize("name", CODE)
async def test_nothing_in_code_is_changed(tmp_path: Path, name: str) -> None:
    text = f"text [[tea]]\n\n{CODE[name]}"
    put(tmp_path, {"tea.md": "# Tea\n", "n.md": text})
    async with opened(tmp_path) as gate:
        await done(gate, "vault_move", old_path="tea.md", new_path="chai.md")
    assert texts(tmp_path)["n.md"] == text.replace("tea", "chai", 1)


@pytest.mark.parametrize("name", TEXT)
async def test_a_link_outside_of_code_follows(tmp_path: Path, name: str) -> None:
    put(tmp_path, {"tea.md": "# Tea\n", "n.md": TEXT[name]})
    async with opened(tmp_path) as gate:
        await done(gate, "vault_move", old_path="tea.md", new_path="chai.md")
    assert texts(tmp_path)["n.md"] == TEXT[name].replace("tea", "chai")
