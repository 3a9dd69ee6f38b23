"""Every built-in tool: there when somebody names it, declared in full, and only missing where its libraries are."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.errors import ConfigurationError
from callgate.model.levels import Effect, Origin
from callgate.model.tool import Tool
from callgate.settings.values import BuiltinToolsSettings, LanguageSettings
from callgate.tools.catalogue import CATEGORIES, make_builtin
from callgate.tools.outbound.network import Network
from callgate.tools.services import NOTHING

ROOT = Path(__file__).parents[2]
EVERYTHING = make_builtin(["all"], BuiltinToolsSettings())
NAMES = [(category, name) for category, offered in CATEGORIES.items() for name in offered.tools]


def made(name: str) -> Tool:
    [tool] = [tool for tool in EVERYTHING if tool.name == name]
    return tool


async def test_none_is_there_unless_somebody_names_it(tmp_path: Path) -> None:
    async with Callgate.open("memory://", working_directory=tmp_path) as gate:
        assert gate.tools() == ()
    (tmp_path / "callgate.yaml").write_text("builtin_tools: {enable: [json_parse]}\n")
    async with Callgate.open("memory://", working_directory=tmp_path, builtin_tools=["json_query"]) as gate:
        assert [tool.name for tool in gate.tools()] == ["json_parse", "json_query"]
        assert (await gate.call("json_parse", {"content": "[1]"})).unwrap() == {"data": [1], "type": "array"}


@pytest.mark.parametrize("category", CATEGORIES)
def test_who_makes_a_category_by_hand_hands_it_nothing_that_it_would_ignore(category: str) -> None:
    """A Network in the place of what a gate lends changed nothing: what was to stay here went out."""
    make = importlib.import_module(f"callgate.tools.{category}.offer").make
    for other in (Network(), None, "x"):
        with pytest.raises(ConfigurationError, match=rf"not {type(other).__name__}; all else goes by its name"):
            make(BuiltinToolsSettings(), other)
    assert len(make(BuiltinToolsSettings(), NOTHING)) == len(make(BuiltinToolsSettings())) > 0


async def test_one_name_needs_no_list() -> None:
    async with Callgate.open("memory://", builtin_tools="json_query") as gate:
        assert [tool.name for tool in gate.tools()] == ["json_query"]


async def test_a_name_that_is_none_says_which_there_are(tmp_path: Path) -> None:
    file = tmp_path / "callgate.yaml"
    file.write_text("builtin_tools:\n  enable: [json_querry]\n")
    with pytest.raises(ConfigurationError, match=r"callgate.yaml:2.*json_querry; did you mean json_query\?"):
        await Callgate.open("memory://", file).__aenter__()
    with pytest.raises(ConfigurationError, match=r"there are .*archives, code, data"):
        make_builtin(["zzz"], BuiltinToolsSettings())


@pytest.mark.parametrize(
    ("written", "meant"),
    [("wbe", "web"), ("al", "all"), ("readonly", "read_only")],
)
def test_a_short_name_with_a_slip_in_it_is_found_by_its_letters(written: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"category {written}; did you mean {meant}\?"):
        make_builtin([written], BuiltinToolsSettings())


async def test_a_tool_of_ones_own_goes_before_one_of_a_category_but_not_before_one_that_was_named() -> None:
    def json_parse(content: str) -> str:
        """Mine."""
        return content

    gate = Callgate.open("memory://", builtin_tools=["data"])
    gate.add(json_parse, effects="read_only")
    async with gate:
        assert (await gate.call("json_parse", {"content": "x"})).unwrap() == "x"
    gate = Callgate.open("memory://", builtin_tools=["json_parse"])
    gate.add(json_parse, effects="read_only")
    with pytest.raises(ConfigurationError, match="json_parse"):
        await gate.__aenter__()


def test_what_the_catalogue_names_is_what_the_categories_make() -> None:
    assert [(tool.source_name, tool.name) for tool in EVERYTHING] == NAMES
    assert {tool.source for tool in EVERYTHING} == {Origin.BUILTIN}


@pytest.mark.parametrize("name", [name for _, name in NAMES])
def test_each_is_declared_in_full(name: str) -> None:
    tool = made(name)
    assert tool.declared
    assert tool.effects
    assert tool.description
    assert tool.examples
    assert tool.output_schema is not None
    assert all("description" in body for body in tool.input_schema.get("properties", {}).values())
    if Effect.NETWORK_ACCESS in tool.effects:
        assert tool.untrusted_output
        assert tool.egress
    if not tool.read_only:
        assert tool.hooks.preview is not None
        assert tool.risk_declared


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_missing_library_makes_its_tools_unavailable_and_harms_no_other(
    category: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = importlib.util.find_spec
    needed = {module for modules in CATEGORIES[category].tools.values() for module in modules}

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in needed else here(name, package)

    category_of = {name: of for of, name in NAMES}
    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    for tool in make_builtin(CATEGORIES, BuiltinToolsSettings()):
        its = CATEGORIES[category_of[tool.name]]
        if needed.isdisjoint(its.tools[tool.name]):
            assert tool.unavailable == made(tool.name).unavailable
        else:
            assert f"pip install 'callgate[{its.extra}]'" in (tool.unavailable or "")


def test_what_a_category_needs_is_brought_by_an_extra_that_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    by_server = BuiltinToolsSettings(language=LanguageSettings(provider="openai", url="https://x", model="m"))
    for settings in (BuiltinToolsSettings(), by_server):
        for name, category in CATEGORIES.items():
            needs = category.under(settings)
            assert needs.extra in {None, *extras}, name
            assert needs.extra is not None or not any(needs.tools.values()), name


def test_naming_them_all_imports_none_of_their_libraries() -> None:
    needed = sorted(
        {module for offered in CATEGORIES.values() for modules in offered.tools.values() for module in modules}
    )
    code = (
        "import sys; from callgate.tools.catalogue import make_builtin;"
        "from callgate.settings.values import BuiltinToolsSettings; make_builtin(['all'], BuiltinToolsSettings());"
        f"print([name for name in {needed!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
