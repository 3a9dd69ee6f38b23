"""What handlers give back."""

import dataclasses
import enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from callgate.adapters.convert import convert
from callgate.model.tool import Tool


class Report(BaseModel):
    title: str
    pages: int = 1


@dataclasses.dataclass
class Point:
    x: int


class Color(enum.Enum):
    RED = "red"


def returning(hint: Any, value: Any = None, **fields: Any) -> Tool:
    def f() -> Any:
        return value

    f.__annotations__["return"] = hint
    (made,) = convert(f, effects="read_only", **fields)
    return made


def output_of(made: Tool) -> Any:
    assert made.handler is not None
    return made.handler({}, None)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int, {"type": "integer"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (None, None),
        (Any, None),
        (object, None),
        (Tool, None),
    ],
)
def test_a_return_hint_is_the_output_schema_where_it_says_something(hint: Any, schema: Any):
    assert returning(hint).output_schema == schema


def test_a_model_is_shown_as_it_is_written_out():
    schema = returning(Report).output_schema
    assert schema is not None
    assert list(schema["properties"]) == ["title", "pages"]


def test_no_hint_is_no_schema():
    def f(): ...

    (made,) = convert(f, effects="read_only")
    assert (made.output_schema, made.output_check) == (None, None)


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, 1, True),
        (int, 1, "1"),
        (float, 1, True),
        (float, 1.5, "x"),
        (str, "x", None),
        (bool, True, 1),
        (int | None, None, "x"),
        (list[int], [1], ["x"]),
        (list[int], (1, 2), ["x"]),
        (dict[str, int], {"a": 1}, {"a": "x"}),
        (list, [object], 3),
        (dict[str, Any], {"a": object()}, 3),
        (list[str], [], [object()]),
    ],
)
def test_plain_hints_are_checked_as_json(hint: Any, good: Any, bad: Any):
    check = returning(hint).output_check
    assert check is not None
    assert check(good) is None
    complaint = check(bad)
    assert complaint is not None
    assert complaint.startswith("returned ")


def test_a_complaint_does_not_quote_the_output():
    check = returning(list[int]).output_check
    assert check is not None
    assert "hunter2" not in str(check(["hunter2"]))


@pytest.mark.parametrize("hint", [Report, Point, Color, Path, list[Report]])
def test_hints_with_classes_of_their_own_are_not_checked_unless_asked(hint: Any):
    assert returning(hint).output_check is None


def test_a_check_can_be_asked_for_or_switched_off():
    asked = returning(Report, check_output=True).output_check
    assert asked is not None
    assert asked({"title": "x", "pages": 1}) is None
    assert asked({"pages": 1}) == "Missing required output: title"
    assert returning(int, check_output=False).output_check is None
    assert returning(None, check_output=True).output_check is None


def test_a_declared_output_schema_is_checked():
    made = returning(int, output_schema={"type": "object", "required": ["n"]})
    assert made.output_schema == {"type": "object", "required": ["n"]}
    assert made.output_check is not None
    assert made.output_check({}) == "Missing required output: n"
    assert made.output_check({"n": 1}) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Report(title="x"), {"title": "x", "pages": 1}),
        (Point(1), {"x": 1}),
        (Color.RED, "red"),
        ([Report(title="x")], [{"title": "x", "pages": 1}]),
        ({"a": Point(1)}, {"a": {"x": 1}}),
        ((1, 2), [1, 2]),
        (Path("/a"), "/a"),
        (SecretStr("hunter2"), "**********"),
        (None, None),
        ("text", "text"),
        ({"a": [1]}, {"a": [1]}),
    ],
)
@pytest.mark.parametrize("hint", [Any, object])
def test_pythons_own_objects_come_out_as_json(hint: Any, value: Any, expected: Any):
    assert output_of(returning(hint, value)) == expected


async def test_async_handlers_give_json_too():
    async def f() -> Report:
        return Report(title="x")

    (made,) = convert(f, effects="read_only")
    assert made.handler is not None
    assert await made.handler({}, None) == {"title": "x", "pages": 1}


def test_what_cannot_be_json_is_left_for_others_to_refuse():
    thing = object()
    assert output_of(returning(Any, thing)) is thing


def test_a_large_result_is_handed_on_as_it_is():
    large = list(range(10_000))
    assert output_of(returning(Any, large)) is large
