"""Defaults as authors write them, many hints and many values: the tool can be called with nothing given, and what is
judged is what the function gets. One that does not fit its own hint stays with its author, and nobody is blamed."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import inspect
import ipaddress
import math
import pathlib
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr, StringConstraints, TypeAdapter, create_model

from callgate.adapters.convert import convert
from callgate.model.canonical import dumps
from callgate.model.tool import Tool


class Color(enum.Enum):
    RED = "red"


class Search(BaseModel):
    amount: Decimal = 0  # pyright: ignore[reportAssignmentType] - as authors write it
    tag: str = Field(default="", min_length=1)


@dataclasses.dataclass
class Fee:
    rate: Decimal = 0.5  # pyright: ignore[reportAssignmentType] - as authors write it


class Node(BaseModel):
    limit: Decimal = 1  # pyright: ignore[reportAssignmentType] - as authors write it
    inner: Node | None = None


HINTS: list[Any] = [
    str, int, float, bool, Decimal, bytes, pathlib.Path, uuid.UUID, HttpUrl, SecretStr, dt.date, dt.datetime,
    dt.timedelta, Color, Literal["up", "down"], ipaddress.IPv4Address, Any, Search, Fee, Node,
    list[str], list[Decimal], list[pathlib.Path], list[SecretStr], list[Search], set[str], tuple[float, float],
    tuple[int, ...], dict[str, Decimal], dict[str, Any], Sequence[str], Iterable[str], Mapping[str, int],
    int | None, Decimal | None, int | str, Decimal | bool, Search | None,
    Annotated[str, Field(min_length=1)], Annotated[int, Field(ge=1)], Annotated[list[str], Field(min_length=1)],
    Annotated[str, StringConstraints(to_lower=True)],
]  # fmt: skip
DEFAULTS: list[Any] = [
    None, "", "x", "X ", ".", "/tmp", "https://example.org", "2024-01-02", "red", "up", Color.RED,
    0, 1, 5, -1, 100, 0.5, 1e3, 1e6, True, False, math.inf, b"", b"\xff", b"abc",
    [], ["a"], [""], [0], [0.5], [1.0], ("a",), (), (0, 1), (0, math.inf), [0, math.inf],
    {}, {"a": 1}, {"a": 0.5}, {"a": True}, {"amount": 2}, {"a"}, frozenset({1}),
    Decimal(0), Decimal("1.50"), pathlib.Path(), [pathlib.Path("/etc")], uuid.UUID(int=5), dt.date(2024, 1, 2),
    dt.timedelta(seconds=5), SecretStr("s"), [SecretStr("s")], Search(), Search(amount=Decimal(3)), [Search()],
    Fee(), Fee(rate=0.7), Node(inner=Node()), object(), len,  # pyright: ignore[reportArgumentType]
]  # fmt: skip


def tool_of(hint: Any, seen: list[Any], default: Any = inspect.Parameter.empty) -> Tool:
    def act(**given: Any) -> None:
        seen.append(given.get("x", default))

    act.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
        [inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)]
    )
    act.__annotations__ = {"x": hint}
    (made,) = convert(act, effects="read_only")
    return made


def as_parameter(hint: Any, default: Any, seen: list[Any]) -> tuple[Tool, Any]:
    return tool_of(hint, seen, default), {}


def in_model(hint: Any, default: Any, seen: list[Any], **config: Any) -> tuple[Tool, Any]:
    return tool_of(create_model("Model", __config__=ConfigDict(**config), x=(hint, default)), seen), {"x": {}}


def in_lower_case(hint: Any, default: Any, seen: list[Any]) -> tuple[Tool, Any]:
    return in_model(hint, default, seen, str_to_lower=True, val_json_bytes="base64")


def in_model_of_model(hint: Any, default: Any, seen: list[Any]) -> tuple[Tool, Any]:
    inner = create_model("Inner", x=(hint, default))
    fields: dict[str, Any] = {"one": (inner, Field(default_factory=inner)), "two": (inner | None, None)}
    twice = create_model("Outer", **fields)  # so it is described elsewhere
    return tool_of(twice, seen), {"x": {"two": {}}}


def in_dataclass(hint: Any, default: Any, seen: list[Any]) -> tuple[Tool, Any]:
    held = [default]
    field: Any = dataclasses.field(default_factory=lambda: held[0])
    if default.__class__.__hash__ is not None:
        field = dataclasses.field(default=default)
    return tool_of(dataclasses.make_dataclass("Data", [("x", hint, field)]), seen), {"x": {}}


Place = Callable[[Any, Any, list[Any]], tuple[Tool, Any]]
PLACES: list[Place] = [as_parameter, in_model, in_lower_case, in_model_of_model, in_dataclass]


def run(made: Tool, final: Any) -> None:
    assert made.handler is not None
    made.handler(final, None)


@settings(max_examples=600, deadline=None)
@given(hint=st.sampled_from(HINTS), default=st.sampled_from(DEFAULTS), place=st.sampled_from(PLACES))
def test_whatever_the_default_the_tool_can_be_called_without_it(hint: Any, default: Any, place: Place):
    if place is in_dataclass and default.__class__.__hash__ is None:
        return  # a dataclass makes such values, and does not read what is made
    seen: list[Any] = []
    made, arguments = place(hint, default, seen)
    final = made.validator(arguments)
    assert dumps(made.validator(final)) == dumps(final)
    run(made, final)
    assert len(seen) == 1


NODE = Node(limit=Decimal(1), inner=Node(limit=Decimal(1)))
SAID: list[tuple[Any, Any, Any, Any]] = [
    (Decimal, 100, "100", Decimal(100)),
    (Decimal, 0.5, "0.5", Decimal("0.5")),
    (int, 1e3, 1000, 1000),
    (HttpUrl, "https://example.org", "https://example.org/", HttpUrl("https://example.org")),
    (pathlib.Path, "/etc", "/etc", pathlib.Path("/etc")),
    (Color, "red", "red", Color.RED),
    (list[Decimal], [0], ["0"], [Decimal(0)]),
    (dict[str, Decimal], {"a": 1}, {"a": "1"}, {"a": Decimal(1)}),
]
OBJECTS: list[tuple[Any, Any, Any, Any]] = [
    (Search, Search(), {"amount": "0"}, Search(amount=Decimal(0))),
    (Fee, Fee(rate=0.7), {"rate": "0.7"}, Fee(rate=Decimal("0.7"))),  # pyright: ignore[reportArgumentType]
    (Node, Node(inner=Node()), {"limit": "1", "inner": {"limit": "1", "inner": None}}, NODE),
]


@pytest.mark.parametrize(
    ("place", "hint", "default", "said", "got"),
    [(place, *row) for place in (as_parameter, in_model) for row in SAID] + [(in_model, *row) for row in OBJECTS],
)
def test_a_default_is_what_its_hint_reads(place: Place, hint: Any, default: Any, said: Any, got: Any):
    seen: list[Any] = []
    made, arguments = place(hint, default, seen)
    final = made.validator(arguments)
    run(made, final)
    if place is as_parameter:
        assert (final, seen) == ({"x": said}, [got])
    else:
        assert (final, seen[0].x) == ({"x": {"x": said}}, got)
        assert type(seen[0].x) is type(got)


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (Annotated[str, Field(min_length=1)], ""), (Annotated[int, Field(ge=1)], 0), (Literal["up", "down"], ""),
        (uuid.UUID, ""), (bytes, b"\xff"), (float, math.inf), (list[float], [math.inf]), (str, None),
        (Annotated[list[str], Field(min_length=1)], []), (SecretStr, SecretStr("s")), (SecretStr, "s"),
        (list[SecretStr], ["s"]), (dt.timedelta, 5),
    ],
)  # fmt: skip
def test_a_default_that_does_not_fit_its_hint_or_is_a_secret_stays_its_authors(hint: Any, default: Any):
    seen: list[Any] = []
    made, arguments = in_model(hint, default, seen)
    assert made.validator(arguments) == {"x": {}}
    run(made, {"x": {}})
    assert seen[0].x == default


def test_a_value_that_is_sent_is_not_taken_for_a_default_that_equals_it():
    seen: list[Any] = []
    made, _ = in_model(dict[str, Decimal | bool], {"n": 0}, seen)
    for value in (False, "0.00"):
        assert made.validator({"x": {"x": {"n": value}}}) == {"x": {"x": {"n": value}}}
    assert made.validator({"x": {}}) == {"x": {"x": {"n": "0"}}}


class Uncertain(list[Any]):
    """Equal to nothing, as an array that compares each of its values."""

    def __eq__(self, other: object) -> bool:
        raise ValueError

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as an array


def test_a_default_that_cannot_be_compared_is_written_like_others():
    made, arguments = in_model(Any, {"a": Uncertain()}, [])
    assert made.validator(arguments) == {"x": {"x": {"a": []}}}


@pytest.mark.filterwarnings("ignore::pydantic.json_schema.PydanticJsonSchemaWarning")  # of LangChain's own reading
@settings(max_examples=200, deadline=None)
@given(hint=st.sampled_from(HINTS), default=st.sampled_from(DEFAULTS))
def test_a_langchain_tool_can_be_called_without_it_as_well(hint: Any, default: Any):
    if "inf" in repr(default):
        return  # such a schema of LangChain's is no JSON, and refused where the tool is made
    model = create_model("Model", __config__=ConfigDict(arbitrary_types_allowed=True), q=(str, ...), x=(hint, default))
    thing = StructuredTool.from_function(func=len, name="find", description="Find.", args_schema=model)
    (made,) = convert(thing, effects="read_only")
    final = made.validator({"q": "a"})
    assert dumps(made.validator(final)) == dumps(final)
    TypeAdapter(model).validate_python(final)
