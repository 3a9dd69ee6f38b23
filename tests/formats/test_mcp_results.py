"""MCP results: text for the model, structure that fits the schema that was told, and the mark of an error."""

from typing import Any

import jsonschema_rs
import pytest

from callgate import tool
from callgate.adapters.convert import convert
from callgate.formats import mcp
from callgate.model.tool import Tool
from tests.registry.making import make


def test_an_object_is_its_own_structure_and_text_has_none():
    body = mcp.result('{"a":1}', is_error=False, output={"a": 1})
    assert body == {"content": [{"type": "text", "text": '{"a":1}'}], "isError": False, "structuredContent": {"a": 1}}
    assert "structuredContent" not in mcp.result("sun", is_error=False, output="sun")


def test_an_error_has_no_structure():
    assert mcp.result("no", is_error=True, output={"a": 1}) == {
        "content": [{"type": "text", "text": "no"}],
        "isError": True,
    }


def returning(hint: Any) -> Tool:
    async def look() -> Any:
        """Look."""

    look.__annotations__["return"] = hint
    (made,) = convert(tool(effects="read_only")(look))
    return made


@pytest.mark.parametrize(
    ("hint", "output"), [(int, 3), (list[str], ["a"]), (str | None, None), (dict[str, int], {"a": 1}), (bool, True)]
)
def test_the_structure_of_a_success_fits_the_schema_that_was_told(hint: Any, output: Any):
    made = returning(hint)
    told = mcp.output_schema(made)
    assert told is not None
    assert told["type"] == "object"
    body = mcp.result("text", is_error=False, output=output, schema=made.output_schema)
    jsonschema_rs.validator_for(told).validate(body["structuredContent"])


def test_shared_parts_of_an_output_schema_stay_at_its_top():
    schema: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "integer"}}}
    told = mcp.output_schema(make("a", output_schema=schema))
    assert told is not None
    jsonschema_rs.validator_for(told).validate({"result": [1, 2]})
    assert not jsonschema_rs.validator_for(told).is_valid({"result": ["a"]})


def test_an_output_schema_that_refers_to_its_own_top_is_not_told():
    schema: dict[str, Any] = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}}
    assert mcp.output_schema(make("a", output_schema=schema)) is None
    assert mcp.output_schema(make("a")) is None
