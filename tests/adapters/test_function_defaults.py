"""Functions with a schema that their author wrote: it is held against what is sent, and the function's own defaults
are judged and shown with it. The function gets them as it wrote them."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from callgate import Pending, tool
from callgate.adapters.convert import convert
from callgate.errors import InvalidArguments
from callgate.model.canonical import dumps
from callgate.model.tool import Tool
from callgate.testing import memory_gate

TEXT = {"type": "string"}
BOTH: dict[str, Any] = {"type": "object", "properties": {"id": TEXT, "name": TEXT}, "additionalProperties": False}
EITHER: list[dict[str, Any]] = [
    {**BOTH, "oneOf": [{"required": ["id"]}, {"required": ["name"]}]},
    {**BOTH, "maxProperties": 1},
    {**BOTH, "not": {"required": ["id", "name"]}},
    {**BOTH, "dependentSchemas": {"id": {"properties": {"name": False}}}},
    {**BOTH, "if": {"required": ["id"]}, "then": {"not": {"required": ["name"]}}},
]


class Color(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    YES = "yes"


class Spot(NamedTuple):
    x: int
    where: Path


def with_default(default: Any, schema: dict[str, Any], seen: list[Any]) -> Tool:
    def act(x: Any = default) -> None:
        seen.append(x)

    (made,) = convert(act, effects="read_only", input_schema=schema)
    return made


def run(made: Tool, final: Any) -> None:
    assert made.handler is not None
    made.handler(final, None)


@pytest.mark.parametrize("schema", EITHER)
def test_the_schema_is_for_what_is_sent(schema: dict[str, Any]):
    def find(id: str = "", name: str = "") -> list[str]:
        return [id, name]

    (made,) = convert(find, effects="read_only", input_schema=schema)
    for sent in ({"id": "1"}, {"name": "n"}):
        final = made.validator(sent)
        assert final == {"id": "", "name": "", **sent}
        assert made.validator(final) == final
    with pytest.raises(InvalidArguments):
        made.validator({"id": "1", "name": "n"})


@pytest.mark.parametrize("schema", [*EITHER, {**BOTH, "required": ["id"], "maxProperties": 1}])
def test_final_arguments_are_accepted_once_more_where_what_was_sent_equals_a_default(schema: dict[str, Any]):
    def find(id: str = "1", name: str = "n") -> list[str]:
        return [id, name]

    (made,) = convert(find, effects="read_only", input_schema=schema)
    final = made.validator({"id": "1"})
    assert final == {"id": "1", "name": "n"}
    assert made.validator(final) == final


def test_so_they_are_where_several_were_sent():
    def add(a: int = 1, b: int = 1, c: int = 1, d: int = 1) -> int:
        return a + b + c + d

    schema = {"type": "object", "required": ["a", "c", "d"], "maxProperties": 3}
    (made,) = convert(add, effects="read_only", input_schema=schema)
    final = made.validator({"a": 1, "c": 1, "d": 1})
    assert final == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert made.validator(final) == final
    with pytest.raises(InvalidArguments):
        made.validator({**final, "b": 2})


async def test_a_person_may_edit_another_argument_of_such_a_call():
    schema = {**EITHER[0], "properties": {"id": TEXT, "name": TEXT, "to": TEXT}}

    @tool(effects="system_state", risk="high", input_schema=schema)
    def send(id: str = "1", name: str = "n", to: str = "ann") -> str:
        """Send."""
        return f"{id} {name} {to}"

    async with memory_gate(send) as gate:
        asked = await gate.call("send", {"id": "1"})
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="op", arguments={"id": "1", "name": "n", "to": "bob"})
        assert (await gate.resume(asked.approval_id)).unwrap() == "1 n bob"


def test_what_the_schema_asks_for_is_asked_for_although_the_function_could_do_without():
    with pytest.raises(InvalidArguments, match="Missing required parameter: x"):
        with_default("a", {"type": "object", "properties": {"x": TEXT}, "required": ["x"]}, []).validator({})


def test_a_default_of_the_schema_stands_before_that_of_the_function():
    made = with_default("a", {"type": "object", "properties": {"x": {**TEXT, "default": "b"}}}, [])
    assert made.validator({}) == {"x": "b"}
    assert made.input_schema["properties"]["x"]["default"] == "b"


DEFAULTS: list[tuple[Any, Any]] = [
    ("a", "a"), (1, 1), (1.5, 1.5), (False, False), (None, None), (["a"], ["a"]), ({"a": [1]}, {"a": [1]}),
    (("a", 1), ["a", 1]), (Path("/etc"), "/etc"), ([Path("/etc")], ["/etc"]), ({"a": Path("/etc")}, {"a": "/etc"}),
    (frozenset({"b", "a"}), ["a", "b"]), (Color.RED, "red"), (Word.YES, "yes"), (Spot(1, Path("a")), [1, "a"]),
]  # fmt: skip
OPEN: list[dict[str, Any]] = [
    {"type": "object"},
    {"type": "object", "properties": {"x": {}}},
    {"type": "object", "properties": {"x": True}},
    {"type": "object", "allOf": [{"properties": {"x": {}}}], "unevaluatedProperties": False},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"x": {}}}}},
    {"type": "object", "oneOf": [{"properties": {"x": {}}}]},
    {"type": "object", "additionalProperties": {"not": {"const": "secret"}}},
    {"type": "object", "patternProperties": {"^x$": {}}, "additionalProperties": False},
    {
        "type": "object",
        "patternProperties": {"/|~|^\\p{L}$": {"not": {"const": "secret"}}},
        "unevaluatedProperties": False,
    },
    {"type": "object", "additionalProperties": True, "unevaluatedProperties": False},
    {"type": "object", "anyOf": [{"properties": {"x": {}}}, {"required": ["y"]}], "unevaluatedProperties": False},
]


@pytest.mark.parametrize("schema", OPEN)
@pytest.mark.parametrize(("default", "said"), DEFAULTS)
def test_a_default_is_among_the_arguments_and_reaches_the_function_as_it_was(
    schema: dict[str, Any], default: Any, said: Any
):
    seen: list[Any] = []
    made = with_default(default, schema, seen)
    final = made.validator({})
    assert dumps(final) == dumps({"x": said})
    assert made.validator(final) == final
    run(made, final)
    run(made, {"x": "other"})
    assert (seen, type(seen[0])) == ([default, "other"], type(default))


@pytest.mark.parametrize("part", [{}, {"description": "What."}, {"type": ["array", "string"]}])
def test_a_default_is_shown_in_the_schema(part: dict[str, Any]):
    schema = {"type": "object", "properties": {"x": part}}
    assert with_default(("a",), schema, []).input_schema["properties"]["x"] == {**part, "default": ["a"]}


holds_itself: list[Any] = []
holds_itself.append(holds_itself)


@pytest.mark.parametrize(
    ("default", "schema"),
    [
        ("a", {"type": "object", "properties": {"x": {"type": "integer"}}}),
        (None, {"type": "object", "properties": {"x": TEXT}}),
        ("", {"type": "object", "properties": {"x": {**TEXT, "minLength": 1}}}),
        ("a", {"type": "object", "properties": {"x": {}}, "allOf": [{"properties": {"x": {"type": "integer"}}}]}),
        ("a", {"type": "object", "properties": {"x": False}}),
        ("a", {"type": "object", "additionalProperties": False}),
        ("a", {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("a", {"type": "object", "unevaluatedProperties": False}),
        ("a", {"type": "object", "patternProperties": {"^y": {}}, "additionalProperties": False}),
        ("a", {"type": "object", "patternProperties": {"^y": {}}, "unevaluatedProperties": False}),
        ("a", {"type": "object", "patternProperties": {"^x": {"type": "integer"}}}),
        ("a", {"type": "object", "properties": {"x": {}}, "patternProperties": {"^x": {"type": "integer"}}}),
        ("a", {"type": "object", "patternProperties": {"^x": {}, "x$": False}}),
        (object(), {"type": "object"}),
        (float("inf"), {"type": "object"}),
        (b"a", {"type": "object"}),
        (holds_itself, {"type": "object"}),
    ],
)
def test_a_default_that_could_not_be_sent_stays_with_the_function(default: Any, schema: dict[str, Any]):
    seen: list[Any] = []
    made = with_default(default, schema, seen)
    assert made.validator({}) == {}
    run(made, {})
    assert seen[0] is default


def test_what_a_function_does_to_its_default_does_not_reach_the_next_call():
    def act(x: Any = [Path("a")]) -> list[str]:  # noqa: B006 - so it is written
        x.append(Path("b"))
        return [str(path) for path in x]

    (made,) = convert(act, effects="read_only", input_schema={"type": "object"})
    assert made.handler is not None
    for _ in range(2):
        assert made.handler(made.validator({}), None) == ["a", "b"]


def where(folder: Path = Path("/etc"), mode: str = "r") -> str:
    return f"{type(folder).__name__} {mode}"


def test_for_another_process_only_what_is_json_by_itself_is_said():
    (made,) = convert(where, effects="read_only", input_schema={"type": "object"}, isolation="process")
    assert made.validator({}) == {"mode": "r"}


@pytest.mark.parametrize("schema", [*OPEN[:1], *OPEN[3:6], *OPEN[7:]])
@pytest.mark.parametrize("default", ["/etc", Path("/etc"), ("/etc/passwd",), [Path("/etc/passwd")]])
async def test_a_default_outside_of_what_is_granted_is_refused(schema: Any, default: Any, tmp_path: Path):
    seen: list[Any] = []

    @tool(effects="read_only", scopes=["fs:read"], input_schema=schema)
    def read(x: Any = default) -> None:
        """Read."""
        seen.append(x)

    async with memory_gate(read, working_directory=tmp_path) as gate:
        outcome = await gate.call("read", {})
    assert outcome.error is not None
    assert (outcome.error.code, seen) == ("policy_denied", [])
