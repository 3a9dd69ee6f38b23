"""What `callgate` exports: every name is there, is the one its place has, and is the one the pages import."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import callgate

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*.py"))]
IMPORTED = re.compile(r"^from (callgate[\w.]*) import (.+)$", re.MULTILINE)
PLACES: dict[str, str] = vars(callgate)["_PLACES"]
BEHIND = ("callgate.adapters", "callgate.runtime", "callgate.pipeline", "callgate.registry", "callgate.stores")


@pytest.mark.parametrize("name", callgate.__all__)
def test_a_name_is_exported_from_its_place(name: str):
    found = getattr(callgate, name)
    place = PLACES[name]
    assert found is getattr(importlib.import_module(place), name)
    assert name in dir(callgate)


def test_the_three_lists_of_names_are_one():
    tree = ast.parse(Path(callgate.__file__).read_text(encoding="utf-8"))
    typed = {
        each.name: node.module
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    assert typed == PLACES
    assert sorted(PLACES) == sorted(callgate.__all__) == callgate.__all__


def test_an_unknown_name_is_said_to_be_none():
    with pytest.raises(AttributeError, match="has no attribute 'nosuch'"):
        _ = callgate.nosuch


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_imports_from_where_users_do(page: Path):
    found = IMPORTED.findall(page.read_text(encoding="utf-8"))
    names = {name.strip() for place, listed in found if place == "callgate" for name in listed.split(",")}
    assert names <= set(callgate.__all__)
    assert [place for place, _ in found if place.startswith(BEHIND)] == []


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    "names",
    [
        "from callgate import McpServer, McpServers, LangChainTools, Turn",
        "import callgate.frameworks.anthropic_loop, callgate.frameworks.openai_loop",
        "import callgate.frameworks.openai_chat_loop",
    ],
)
def test_no_sdk_is_loaded_before_it_is_used(names: str):
    program = (
        f"{names}; import sys; print(*({{'anthropic', 'openai', 'mcp', 'langchain_core', 'httpx'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
