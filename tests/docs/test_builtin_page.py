"""The page on built-in tools: every category in the catalogue's order, every tool in its table, and what they need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.settings.values import BuiltinToolsSettings, LanguageSettings
from callgate.tools.catalogue import CATEGORIES, SHIPPED, make_builtin

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "builtin.md").read_text()
SECTIONS = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
OVERVIEW = {
    name: (needs, set(re.findall(r"`(\w+:\w+)`", scopes)))
    for name, needs, scopes in re.findall(r"^\| \[(\w+)\]\(#\w+\) \|[^|]*\|([^|]*)\|([^|]*)\|$", PAGE, re.MULTILINE)
}
BY_SERVER = BuiltinToolsSettings(language=LanguageSettings(provider="openai", url="https://x.example", model="m"))


def test_categories_stand_in_the_order_of_the_catalogue() -> None:
    assert list(SECTIONS) == [*CATEGORIES, *SHIPPED]
    assert list(OVERVIEW) == list(SECTIONS)


@pytest.mark.parametrize("name", [*CATEGORIES, *SHIPPED])
def test_a_section_begins_with_a_table_of_its_tools(name: str) -> None:
    assert SECTIONS[name].startswith("\n| tool | does |\n|---|---|\n| `")
    table = SECTIONS[name].split("\n\n")[0]
    tools = CATEGORIES[name].tools if name in CATEGORIES else SHIPPED[name]
    assert sorted(re.findall(r"`(\w+)\(", table)) == sorted(tools)


@pytest.mark.parametrize("name", CATEGORIES)
def test_the_overview_tells_what_a_category_needs(name: str) -> None:
    needs, scopes = OVERVIEW[name]
    tools = [tool for settings in (BuiltinToolsSettings(), BY_SERVER) for tool in make_builtin([name], settings)]
    extra = CATEGORIES[name].extra
    assert re.findall(r"callgate\[([\w-]+)\]", needs) == ([] if extra is None else [extra])
    assert scopes == {str(scope) for tool in tools for scope in tool.scopes}


@pytest.mark.parametrize("name", SHIPPED)
async def test_the_overview_tells_what_a_shipped_plugin_needs(name: str, tmp_path: Path) -> None:
    async with Callgate.open("memory://", working_directory=tmp_path, builtin_tools=[name]) as gate:
        assert OVERVIEW[name] == (" ", {str(scope) for tool in gate.tools() for scope in tool.scopes})


def test_the_readme_counts_them() -> None:
    number = sum(len(category.tools) for category in CATEGORIES.values()) + sum(map(len, SHIPPED.values()))
    assert f"the {number} [built-in tools](docs/builtin.md)" in (ROOT / "README.md").read_text()
