"""Pools and definitions as a registry of the protocol's tools emits them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from callgate.compat import assemble_tool_pool, to_anthropic_tools, to_openai_tools
from callgate.errors import ConfigurationError


class Protocol:
    """A tool as the protocol wants it."""

    description = "Read a file."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    }

    def __init__(self, name: str) -> None:
        self.name = name

    async def execute(self, arguments: dict[str, Any], _context: Any) -> str:
        """Nothing is run here."""
        return arguments["path"]

    def is_read_only(self) -> bool:
        """It reads."""
        return True


@pytest.mark.requirement("REG-08")
def test_built_in_tools_come_first_each_part_by_name_and_the_built_in_wins() -> None:
    built_in = [Protocol("read_file"), Protocol("list_dir"), Protocol("run_shell")]
    served = [Protocol("web_search"), Protocol("list_dir"), Protocol("archive")]
    pool = assemble_tool_pool(built_in, served, {"run_shell", "archive"})
    assert [tool.name for tool in pool] == ["list_dir", "read_file", "web_search"]
    assert pool[0] is built_in[1]


def test_nothing_denied_leaves_everything() -> None:
    assert assemble_tool_pool([], [Protocol("b"), Protocol("a")])[0].name == "a"


@pytest.mark.requirement("SCH-01", "SCH-02")
def test_definitions_have_the_keys_of_each_provider_and_one_schema() -> None:
    tools = [Protocol("read_file"), Protocol("list_dir")]
    [anthropic, _], [openai, _] = to_anthropic_tools(tools), to_openai_tools(tools)
    assert list(anthropic) == ["name", "description", "input_schema"]
    assert list(openai) == ["type", "name", "description", "parameters"]
    assert (openai["type"], openai["name"], anthropic["name"]) == ("function", "read_file", "read_file")
    assert anthropic["input_schema"] == openai["parameters"]
    assert anthropic["input_schema"]["required"] == ["path"]


def test_what_is_no_tool_is_told() -> None:
    with pytest.raises(ConfigurationError, match="cannot be a tool"):
        to_anthropic_tools([3])
