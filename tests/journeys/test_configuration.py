"""What a configuration file brings into a program: every fault of it at once, and the modules it names."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from callgate import Callgate, Refused, Skill, tool
from callgate.errors import ConfigurationError
from callgate.testing import memory_gate

TOOL = "from callgate import tool\n\n@tool(effects='read_only')\ndef {name}() -> str:\n    return '{name}'\n"


@tool(effects="read_only")
def count() -> str:
    return "mine"


class Counter:
    """A tool as the protocol has it."""

    name = "count"
    description = "Count."
    input_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    effects = "read_only"

    async def execute(self, arguments: dict[str, Any], context: object) -> str:
        return f"mine: {arguments}, {context}"


@pytest.fixture(autouse=True)
def clean_imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Forget what a test imported from its own folder, and that it may be found there."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name, module in sys.modules.copy().items():  # another thread may import meanwhile
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration, which is not the working directory."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    place = tmp_path / "project"
    place.mkdir()
    return place


async def opened(file: Path) -> list[str]:
    async with Callgate.open("memory://", config=file) as gate:
        return [tool.name for tool in gate.tools()]


async def complaint(file: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        await opened(file)
    return str(caught.value)


async def test_faults_in_conditions_are_told_with_all_others_each_with_file_line_and_key(folder: Path):
    file = folder / "callgate.yaml"
    file.write_text(
        "atuonomy: A2\n"
        "global:\n"
        "  rules:\n"
        "    - {match: pay, when: 'args.amount >', verdict: deny}\n"
        "    - match: pay\n"
        "      verdict: deny\n"
        "      when: amount > 1\n"
        "    - {match: pay, when: \"'tainted' in labels\", verdict: deny}\n"
        "roles:\n"
        "  clerk: {allow: ['group:raed'], rules: [{match: pay, when: 'args.a.matches(args.b)', verdict: deny}]}\n"
    )
    expected = {
        "1: atuonomy": "unknown key 'atuonomy'; did you mean autonomy?",
        "4: global.rules[0].when": "the condition is not CEL: it ends at character 14",
        "7: global.rules[1].when": "the condition names amount, which is not one of args, tool, context;",
        "8: global.rules[2].when": "this version of Callgate does not have labels yet; leave them out",
        "10: roles.clerk.allow[0]": "unknown group 'raed'; did you mean read?",
        "10: roles.clerk.rules[0].when": "write the pattern of matches() as one text in quotes",
    }
    told = (await complaint(file)).splitlines()
    assert len(told) == len(expected)
    for line, (place, message) in zip(told, expected.items(), strict=True):
        assert line.startswith(f"{file}:{place}: {message}")


async def test_a_fault_in_a_condition_does_not_repeat_what_looks_like_a_secret(folder: Path):
    file = folder / "callgate.yaml"
    token = "sk-" + "0123456789abcdef" * 2
    rule = f'{{match: pay, when: \'args.token == "{token}" "{token}"\', verdict: deny}}'
    file.write_text(f"global:\n  rules: [{rule}]\n")
    told = await complaint(file)
    assert "global.rules[0].when: the condition is not CEL: at character " in told
    assert token not in told


@pytest.mark.parametrize("module", ["beside.py", "beside", "tools/below.py"])
async def test_a_module_of_the_configuration_is_found_beside_it(folder: Path, module: str):
    name = Path(module).stem
    (folder / "tools").mkdir()
    (folder / (module if module.endswith(".py") else f"{module}.py")).write_text(TOOL.format(name=name))
    (folder / "callgate.yaml").write_text(f"modules: [{module}]\n")
    assert await opened(folder / "callgate.yaml") == [name]


async def test_without_a_name_the_configuration_of_the_working_directory_brings_its_modules(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    (folder / "here.py").write_text(TOOL.format(name="here"))
    (folder / "callgate.yaml").write_text("modules: [here.py]\n")
    async with Callgate.open("memory://") as gate:
        assert [tool.name for tool in gate.tools()] == ["here"]


async def test_the_working_directory_is_not_searched_for_what_another_folder_names(folder: Path, tmp_path: Path):
    (tmp_path / "elsewhere" / "stranger.py").write_text(TOOL.format(name="stranger"))
    for module, why in (("stranger.py", "there is no file stranger.py"), ("stranger", "there is no module stranger")):
        (folder / "callgate.yaml").write_text(f"autonomy: A2\nmodules: [{module}]\n")
        assert (await complaint(folder / "callgate.yaml")).startswith(f"{folder}/callgate.yaml:2: modules[0]: {why}")


async def test_a_link_that_leads_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path):
    (tmp_path / "outside.py").write_text("raise RuntimeError('it ran')")
    (folder / "outside.py").symlink_to(tmp_path / "outside.py")
    (folder / "callgate.yaml").write_text("modules: [outside.py]\n")
    assert "modules[0]: outside.py leads out of" in await complaint(folder / "callgate.yaml")


async def test_no_file_takes_the_place_of_a_library(folder: Path):
    (folder / "json.py").write_text("raise RuntimeError('it ran')")
    (folder / "callgate.yaml").write_text("modules: [json.py]\n")
    assert "rename the file" in await complaint(folder / "callgate.yaml")
    (folder / "callgate.yaml").write_text("modules: [json]\n")
    told = await complaint(folder / "callgate.yaml")
    where = f"{folder}/callgate.yaml:1: modules[0]: the module json is a library ({json.__file__})"
    assert told == f"{where}, and has no @tool function; rename json.py"


@pytest.mark.parametrize(("name", "where"), [("this", "this.py"), ("xxsubtype", "built in")])
async def test_a_file_that_is_called_as_a_library_is_named_as_a_file(
    folder: Path, name: str, where: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delitem(sys.modules, name, raising=False)
    (folder / f"{name}.py").write_text(TOOL.format(name="own"))
    (folder / "callgate.yaml").write_text(f"modules: [{name}]\n")
    told = await complaint(folder / "callgate.yaml")
    assert f"{where}), and has no @tool function; for the file that lies here write {name}.py" in told
    monkeypatch.delitem(sys.modules, name)
    (folder / "callgate.yaml").write_text(f"modules: [{name}.py]\n")
    async with Callgate.open("memory://", config=folder / "callgate.yaml") as gate:
        assert [tool.name for tool in gate.tools()] == ["own"]


async def test_a_module_that_breaks_says_so_in_one_line_with_its_place(folder: Path):
    (folder / "breaks.py").write_text("import no_such_library")
    (folder / "callgate.yaml").write_text("modules:\n  - breaks.py\n")
    told = await complaint(folder / "callgate.yaml")
    assert told.startswith(f"{folder}/callgate.yaml:2: modules[0]: the module breaks.py cannot be imported")
    assert "\n" not in told


async def test_a_gate_that_is_opened_again_has_its_modules_again(folder: Path):
    (folder / "again.py").write_text(TOOL.format(name="again"))
    (folder / "callgate.yaml").write_text("modules: [again.py]\n")
    gate = Callgate.open("memory://", config=folder / "callgate.yaml")
    for _ in range(2):
        async with gate:
            assert [tool.name for tool in gate.tools()] == ["again"]


async def test_no_module_takes_the_place_of_a_tool_that_was_added_before_opening(folder: Path):
    (folder / "counting.py").write_text(TOOL.format(name="count"))
    (folder / "callgate.yaml").write_text("autonomy: A2\nmodules: [counting.py]\n")
    gate = Callgate.open("memory://", config=folder / "callgate.yaml")
    gate.add(count)
    for _ in range(2):  # also at the second try
        with pytest.raises(ConfigurationError) as told:
            await gate.__aenter__()
        assert str(told.value) == (
            f"{folder}/callgate.yaml:2: modules[0]: tool 'count' of the module counting is already registered by "
            f"function {__name__}.count; rename one of them, or leave one out"
        )
        assert gate.tool("count").original is count


async def test_what_is_no_function_and_was_added_before_opening_is_named_by_its_kind(folder: Path):
    (folder / "counting.py").write_text(TOOL.format(name="count"))
    (folder / "callgate.yaml").write_text("modules: [counting.py]\n")
    for thing, where in (
        (Counter(), f"function {__name__}.Counter"),
        (Skill(name="count", tools=("other",)), "function"),
    ):
        gate = Callgate.open("memory://", config=folder / "callgate.yaml")
        gate.add(thing)
        with pytest.raises(ConfigurationError, match=f"is already registered by {where}; rename one"):
            await gate.__aenter__()


async def test_two_modules_that_bring_the_same_name_are_told_apart(folder: Path):
    for name in ("first", "second"):
        (folder / f"{name}.py").write_text(TOOL.format(name="both"))
    (folder / "callgate.yaml").write_text("modules:\n  - first.py\n  - second.py\n")
    assert await complaint(folder / "callgate.yaml") == (
        f"{folder}/callgate.yaml:3: modules[1]: tool 'both' of the module second is already registered by "
        "the module first; rename one of them, or leave one out"
    )


async def test_a_function_that_a_program_adds_and_its_configuration_brings_is_one_tool(folder: Path):
    (folder / "shared.py").write_text(TOOL.format(name="shared"))
    (folder / "callgate.yaml").write_text("modules: [shared.py]\n")
    async with Callgate.open("memory://", config=folder / "callgate.yaml") as first:
        function = first.tool("shared").original
    gate = Callgate.open("memory://", config=folder / "callgate.yaml")
    gate.add(function)
    async with gate:
        assert [tool.name for tool in gate.tools()] == ["shared"]


TOOLKIT = """
from callgate import Toolkit, register_toolkit, tool

class Bank(Toolkit):
    owner = "nobody"

    @tool(effects="read_only")
    def look(self) -> str:
        "Look."
        return self.owner

register_toolkit(Bank)

class Other(Bank):
    "With the same tool."
"""


async def test_a_toolkit_that_a_program_adds_and_its_configuration_brings_is_one_and_stays_the_programs(folder: Path):
    (folder / "own_bank.py").write_text(TOOLKIT)
    (folder / "callgate.yaml").write_text("modules: [own_bank]\n")
    sys.path.insert(0, str(folder))
    module = importlib.import_module("own_bank")
    bank = module.Bank()
    bank.owner = "ann"
    for thing, owner in ((module, "nobody"), (module.Bank, "nobody"), (bank, "ann"), (bank.look, "ann")):
        gate = Callgate.open("memory://", config=folder / "callgate.yaml")
        gate.add(thing)
        for _ in range(2):  # also when it is opened again
            async with gate:
                assert (await gate.call("look", {})).output == owner


async def test_a_method_of_another_class_is_another_tool(folder: Path):
    (folder / "own_bank.py").write_text(TOOLKIT)
    (folder / "callgate.yaml").write_text("modules: [own_bank]\n")
    sys.path.insert(0, str(folder))
    gate = Callgate.open("memory://", config=folder / "callgate.yaml")
    gate.add(importlib.import_module("own_bank").Other().look)
    with pytest.raises(ConfigurationError, match="'look' of the module own_bank is already registered by"):
        await gate.__aenter__()


async def test_a_gate_of_tests_is_the_same_in_every_folder(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    (folder / "counting.py").write_text(TOOL.format(name="count"))
    (folder / "callgate.yaml").write_text("modules: [counting.py]\nglobal: {deny: ['*']}\n")
    for unopened in (memory_gate(count), memory_gate(count, config=None)):
        async with unopened as gate:
            assert gate.tool("count").original is count
            assert (await gate.call("count", {})).output == "mine"
    async with memory_gate(config="callgate.yaml") as gate:
        assert isinstance(await gate.call("count", {}), Refused)
