"""Schemas out of type hints."""

import dataclasses
import datetime as dt
import decimal
import enum
import math
import pathlib
import typing
import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Optional

import pytest
from annotated_types import Ge
from pydantic import AliasChoices, BaseModel, Field
from typing_extensions import TypedDict

from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError, InvalidArguments
from callgate.model.context import Context
from callgate.model.tool import Tool
from callgate.model.tool_context import ToolContext


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Filter(BaseModel):
    """What to look for."""

    text: str
    limit: int = 3
    colors: list[Color] = []


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: int


class Named(typing.TypedDict):
    name: str


class Song(Named, total=False):
    seconds: typing.Required[int]
    tags: list[str]
    writer: Named


def tool_of(function: Any, **fields: Any) -> Tool:
    (made,) = convert(function, effects="read_only", **fields)
    return made


def schema_of(function: Any) -> dict[str, Any]:
    return tool_of(function).input_schema


def property_of(hint: Any) -> dict[str, Any]:
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = hint
    return schema_of(f)["properties"]["x"]


@pytest.mark.requirement("SCH-07")
def test_plain_types_become_their_json_types_and_defaults_make_optional():
    def f(a: str, b: int, c: float, d: bool, e: str = "x", g: int | None = None) -> None: ...

    schema = schema_of(f)
    kinds = {name: part.get("type") for name, part in schema["properties"].items()}
    assert kinds == {"a": "string", "b": "integer", "c": "number", "d": "boolean", "e": "string", "g": None}
    assert schema["required"] == ["a", "b", "c", "d"]
    assert schema["properties"]["e"]["default"] == "x"
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert "title" not in schema
    assert "title" not in schema["properties"]["a"]


@pytest.mark.requirement("SCH-07")
def test_self_and_cls_are_skipped():
    class Mailer:
        def send(self, to: str) -> None: ...

        @classmethod
        def make(cls, size: int) -> None: ...

        @staticmethod
        def check(address: str) -> None: ...

    assert list(schema_of(Mailer().send)["properties"]) == ["to"]
    assert list(schema_of(Mailer.make)["properties"]) == ["size"]
    assert list(schema_of(Mailer.check)["properties"]) == ["address"]


@pytest.mark.requirement("SCH-08")
@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (list, {"type": "array", "items": {}}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045 - both spellings
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (dict, {"type": "object", "additionalProperties": True}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["only"], {"type": "string", "const": "only"}),
        (Color, {"type": "string", "enum": ["red", "blue"], "title": "Color"}),
        (list[Color], {"type": "array", "items": {"type": "string", "enum": ["red", "blue"], "title": "Color"}}),
        (Any, {}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Annotated[int, Field(ge=1, le=9, description="How many.")],
         {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."}),
        (Annotated[int, Ge(1)], {"type": "integer", "minimum": 1}),
        (dt.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (pathlib.Path, {"type": "string", "format": "path"}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
    ],
)  # fmt: skip
def test_types_keep_their_shape(hint: Any, schema: dict[str, Any]):
    assert property_of(hint) == schema


@pytest.mark.requirement("SCH-08")
def test_models_dataclasses_and_typed_dicts_are_objects_that_take_nothing_extra():
    def f(a: Filter, b: Point, c: Movie) -> None: ...

    schema = schema_of(f)
    for name, fields in (("Filter", ["text"]), ("Point", ["x"]), ("Movie", ["title", "year"])):
        part = schema["$defs"][name]
        assert (part["type"], part["required"], part["additionalProperties"]) == ("object", fields, False)
    assert schema["$defs"]["Filter"]["properties"]["colors"]["items"]["enum"] == ["red", "blue"]
    assert "Color" not in schema["$defs"]


@pytest.mark.requirement("SCH-08")
def test_typed_dicts_of_the_standard_library_will_do():
    def f(song: Song, more: list[Named] | None = None) -> Any:
        return song

    tool = tool_of(f)
    part = tool.input_schema["$defs"]["Song"]
    assert (part["required"], list(part["properties"])) == (["name", "seconds"], ["name", "seconds", "tags", "writer"])
    given = {"song": {"name": "x", "seconds": 1, "writer": {"name": "y"}}, "more": None}
    assert tool.validator(given) == given
    assert run(tool, given) == given["song"]
    with pytest.raises(InvalidArguments, match=r"Missing required parameter: song\.seconds"):
        tool.validator({"song": {"name": "x"}})


def test_a_model_may_contain_itself():
    def f(tree: Tree) -> None: ...

    assert schema_of(f)["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}


def test_a_model_that_lets_extras_in_is_left_open():
    class Open(BaseModel, extra="allow"):
        x: int

    def f(it: Open) -> dict[str, Any]:
        return it.model_dump()

    tool = tool_of(f)
    assert tool.input_schema["$defs"]["Open"]["additionalProperties"] is True
    assert run(tool, {"it": {"x": 1, "more": 2}}) == {"x": 1, "more": 2}


@pytest.mark.requirement("SCH-08")
def test_args_and_kwargs_are_no_properties():
    def f(a: str, *args: int, b: int = 1, **kwargs: str) -> None: ...

    schema = schema_of(f)
    assert list(schema["properties"]) == ["a", "b"]
    assert schema["required"] == ["a"]
    assert schema["additionalProperties"] is False


def test_a_function_without_parameters_takes_an_empty_object():
    def f() -> None: ...

    assert schema_of(f) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_parameter_without_a_hint_takes_anything():
    def f(x, y=2): ...  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]

    assert schema_of(f)["properties"] == {"x": {}, "y": {"default": 2}}


def test_the_tool_context_is_never_in_the_schema():
    def f(a: str, ctx: ToolContext) -> None: ...
    def g(a: str, ctx: ToolContext | None = None) -> None: ...
    def h(ctx: "ToolContext", a: str) -> None: ...
    def i(a: str, *, ctx: Annotated[ToolContext, "ours"]) -> None: ...

    assert [list(schema_of(each)["properties"]) for each in (f, g, h, i)] == [["a"]] * 4


@pytest.mark.parametrize(
    "style",
    ["Args:\n        a: Which one.", ":param a: Which one.", "Parameters\n    ----------\n    a\n        Which one."],
)
def test_docstrings_describe_parameters(style: str):
    def f(a: str, b: Annotated[int, Field(description="Own words.")] = 1) -> None: ...

    f.__doc__ = f"Do it.\n\n    {style}\n"
    tool = tool_of(f)
    assert tool.description == "Do it."
    assert tool.input_schema["properties"]["a"]["description"] == "Which one."
    assert tool.input_schema["properties"]["b"]["description"] == "Own words."


def test_hidden_characters_in_descriptions_of_parameters_are_shown():
    def f(a: str, b: Annotated[int, Field(description="x\u200by")] = 1) -> None:
        """Do it.

        Args:
            a: one\u202etwo
        """

    properties = schema_of(f)["properties"]
    assert properties["a"]["description"] == "one<U+202E>two"
    assert properties["b"]["description"] == "x<U+200B>y"


def test_a_parameter_with_a_hidden_character_in_its_name_is_refused():
    place: dict[str, Any] = {}
    exec("def f(a\u3164: str): ...", place)
    with pytest.raises(ConfigurationError, match="hidden characters"):
        tool_of(place["f"])


def run(tool: Tool, arguments: dict[str, Any]) -> Any:
    assert tool.handler is not None
    return tool.handler(tool.validator(arguments), None)


DEFAULTS: dict[Any, dict[str, Any]] = {Filter: {"limit": 3, "colors": []}, Point: {"y": 0}}


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (Color, "red", Color.RED),
        (Filter, {"text": "a"}, Filter(text="a")),
        (Point, {"x": 1}, Point(1)),
        (Movie, {"title": "a", "year": 1}, {"title": "a", "year": 1}),
        (dt.date, "2024-02-29", dt.date(2024, 2, 29)),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
        (pathlib.Path, "/a/b", pathlib.Path("/a/b")),
        (set[int], [1, 2], {1, 2}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (bytes, "abc", b"abc"),
        (list[Color], ["blue"], [Color.BLUE]),
        (float, 1, 1.0),
        (list[float], [1, 2.5], [1.0, 2.5]),
    ],
)
def test_the_handler_gets_python_values_and_the_final_arguments_are_json(hint: Any, value: Any, expected: Any):
    seen: list[Any] = []

    def f(x: Any) -> None:
        seen.append(x)

    f.__annotations__["x"] = hint
    tool = tool_of(f)
    final = tool.validator({"x": value})
    assert final == {"x": {**DEFAULTS.get(hint, {}), **value} if isinstance(value, dict) else value}
    assert tool.validator(final) == final
    run(tool, {"x": value})
    assert seen == [expected]
    assert type(seen[0]) is type(expected)


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


@pytest.mark.requirement("SCH-10")
@pytest.mark.parametrize(
    "hint", [Level, Level | None, list[Level], Annotated[Level, Field(description="x")], Literal[0, 1]]
)
def test_true_is_no_number_among_choices_either(hint: Any):
    def f(x: Any) -> Any:
        return x

    f.__annotations__["x"] = hint
    tool = tool_of(f)
    one = [1] if hint == list[Level] else 1
    assert tool.validator({"x": one}) == {"x": one}
    assert run(tool, {"x": one}) == one
    assert "enum" in str(tool.input_schema["properties"]["x"])
    for wrong in ([True] if hint == list[Level] else True, "1", 2):
        with pytest.raises(InvalidArguments):
            tool.validator({"x": wrong})


def test_an_alias_is_the_name_in_the_arguments():
    def f(from_: Annotated[str, Field(alias="from")], to: str = Field("x", alias="class")) -> list[str]:
        """Go.

        Args:
            from_: Where it starts.
        """
        return [from_, to]

    tool = tool_of(f)
    assert list(tool.input_schema["properties"]) == ["from", "class"]
    assert tool.input_schema["properties"]["from"]["description"] == "Where it starts."
    assert tool.validator({"from": "a"}) == {"from": "a", "class": "x"}
    assert run(tool, {"from": "a"}) == ["a", "x"]


def test_a_parameter_has_one_name():
    def f(a: Annotated[int, Field(validation_alias=AliasChoices("b", "c"))]) -> None: ...

    with pytest.raises(ConfigurationError, match="one name only"):
        tool_of(f)


@pytest.mark.parametrize("hint", [Annotated[int | None, "x"], Literal["a", None], Any])  # noqa: PYI061 - a hint as found
def test_a_default_of_none_where_none_is_allowed_changes_nothing(hint: Any):
    def f(x: Any = None) -> None: ...

    f.__annotations__["x"] = hint
    assert tool_of(f).validator({}) == {"x": None}


def test_an_infinite_default_stays_with_the_function_and_an_infinite_schema_is_refused():
    class Range(BaseModel):
        high: float = math.inf

    def f(a: float = math.inf, b: Any = -math.inf, c: Range | None = None) -> Any:
        return [a, b, c]

    def g(a: Annotated[float, Field(json_schema_extra={"x": math.inf})]) -> None: ...

    tool = tool_of(f)
    assert tool.validator({}) == {"c": None}
    assert tool.validator({"c": {}}) == {"c": {}}
    assert "default" not in tool.input_schema["$defs"]["Range"]["properties"]["high"]
    assert tool.handler is not None
    assert tool.handler({"c": {}}, None) == [math.inf, -math.inf, {"high": math.inf}]
    with pytest.raises(ConfigurationError, match="is not JSON"):
        tool_of(g)


def test_a_field_in_place_of_a_default_gives_constraints_default_or_factory():
    def f(a: int = Field(ge=1), b: int = Field(3, le=5), c: list[str] = Field(default_factory=lambda: ["z"])) -> Any:  # noqa: B008
        return [a, b, c]

    tool = tool_of(f)
    assert tool.input_schema["required"] == ["a"]
    assert tool.validator({"a": 1}) == {"a": 1, "b": 3, "c": ["z"]}
    assert run(tool, {"a": 1}) == [1, 3, ["z"]]


def test_a_default_in_an_annotation_counts():
    def f(a: Annotated[int, Field(default=4)]) -> int:
        return a

    assert run(tool_of(f), {}) == 4


def test_a_field_whose_default_does_not_fit_is_refused():
    many: Any = "many"

    def f(a: int = Field(many)) -> None: ...

    with pytest.raises(ConfigurationError, match="the default of a does not fit"):
        tool_of(f)


@pytest.mark.parametrize("hint", [type("Opaque", (), {}), "NoSuchName", ToolContext | int, Context])
def test_a_hint_that_cannot_be_json_is_refused_by_name(hint: Any):
    def f(good: int, bad: Any) -> None: ...

    f.__annotations__["bad"] = hint
    if hint == ToolContext | int:
        assert list(schema_of(f)["properties"]) == ["good"]
        return
    with pytest.raises(ConfigurationError, match=r"bad|NoSuchName"):
        tool_of(f)


def test_the_context_cannot_be_taken_twice():
    def f(a: ToolContext, b: ToolContext) -> None: ...

    with pytest.raises(ConfigurationError, match="twice: a, b"):
        tool_of(f)


def test_a_function_that_needs_its_self_is_refused():
    class Mailer:
        def send(self, to: str) -> None: ...

    with pytest.raises(ConfigurationError, match="needs its self"):
        tool_of(Mailer.send)


def test_a_hint_that_json_has_nothing_for_is_told_with_tool_and_parameter():
    def each(count: int, action: Callable[[int], int]) -> None: ...

    with pytest.raises(ConfigurationError, match=r"^each: no schema can be made from the hint of action: "):
        schema_of(each)


def test_a_context_without_a_hint_is_no_argument_for_models():
    def bare(ctx: Any) -> None: ...

    bare.__annotations__.clear()
    with pytest.raises(ConfigurationError, match=r"^bare: ctx has no type hint, .* write ctx: ToolContext$"):
        schema_of(bare)

    def typed(context: Context) -> None: ...

    with pytest.raises(ConfigurationError, match=r"^typed: context would let a model say who asks"):
        schema_of(typed)
