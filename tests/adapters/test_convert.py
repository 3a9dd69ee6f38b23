"""The one entry for anything that can be a tool."""

import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from callgate.adapters.base_tool import BaseTool, ToolCallContext
from callgate.adapters.build import build_tool
from callgate.adapters.convert import convert
from callgate.adapters.function import tool
from callgate.errors import ConfigurationError
from callgate.model.tool import Tool


def execute(payload: dict[str, Any], context: Any) -> int:
    return 1


DEFINITION: dict[str, Any] = {"name": "built", "input_schema": {"type": "object"}, "execute": execute}


@tool(effects="read_only")
def marked(text: str) -> str:
    return text


def plain(text: str) -> str:
    return text


class Mail(BaseTool):
    @property
    def tool_name(self) -> str:
        return "mail"

    @property
    def capabilities(self) -> list[str]:
        return ["send", "read"]

    def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
        return action


def names(thing: Any, **fields: Any) -> list[str]:
    return [made.name for made in convert(thing, **fields)]


def module(**names_in_it: Any) -> ModuleType:
    made = ModuleType("my_tools")
    vars(made).update(names_in_it)
    return made


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (marked, ["marked"]),
        (plain, ["plain"]),
        (DEFINITION, ["built"]),
        (build_tool(DEFINITION), ["built"]),
        (Mail, ["mail.send", "mail.read"]),
        (Mail(), ["mail.send", "mail.read"]),
        ([marked, plain, Mail], ["marked", "plain", "mail.send", "mail.read"]),
        ((marked,), ["marked"]),
        ([], []),
        (module(a=marked, b=marked, c=plain, d=3, e=tool, f=build_tool(DEFINITION)), ["marked", "built"]),
        ([module(a=marked)], ["marked"]),
    ],
)
def test_whatever_can_be_a_tool_becomes_one(thing: Any, expected: list[str]):
    assert names(thing) == expected


def test_a_tool_is_itself():
    made = build_tool(DEFINITION)
    assert convert(made) == [made]
    with pytest.raises(ConfigurationError, match="is a tool already"):
        convert(made, risk="low")


@pytest.mark.parametrize("thing", [None, 3, "marked", b"x", object(), iter([marked]), [[marked]], [None]])
def test_anything_else_is_refused_with_what_is_accepted(thing: Any):
    with pytest.raises(ConfigurationError, match="cannot be a tool; add a function"):
        convert(thing)


def test_a_class_that_is_no_tool_is_refused():
    with pytest.raises(ConfigurationError, match="is a class; add an instance"):
        convert(dict)


def test_a_module_without_tools_is_refused_by_name():
    with pytest.raises(ConfigurationError, match="my_tools has no @tool function"):
        convert(module(a=plain))


def test_fields_hold_for_all_and_a_name_for_one():
    assert {made.category for made in convert([marked, plain], category="text")} == {"text"}
    with pytest.raises(ConfigurationError, match="one name cannot stand for 2 tools"):
        convert([marked, plain], name="x")
    assert names([marked], name="x") == ["x"]


def test_an_unknown_field_is_refused_even_when_nothing_is_converted():
    with pytest.raises(ConfigurationError, match="did you mean 'category'"):
        convert([], categry="text")  # pyright: ignore[reportCallIssue]


def test_a_tool_is_a_tool_value():
    (made,) = convert(marked)
    assert isinstance(made, Tool)
    assert made.original is marked


def test_heavy_packages_are_loaded_with_the_first_tool_and_not_before():
    program = """
import sys
from callgate.adapters.convert import convert
from callgate.adapters.function import tool
import callgate.adapters.base_tool, callgate.adapters.build
heavy = ("pydantic", "pydantic_core", "jsonschema_rs")
assert not [name for name in heavy if name in sys.modules], "loaded on import"

@tool(effects="read_only")
def f(text: str) -> int: return 1

assert not [name for name in heavy if name in sys.modules], "loaded by the decorator"
convert(f)
assert "pydantic" in sys.modules and "jsonschema_rs" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True, timeout=60)
