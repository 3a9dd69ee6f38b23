"""What is judged is what the handler gets, as JSON: whatever pydantic makes of the arguments is written down again."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import inspect
import itertools
import pathlib
import re
import uuid
from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, Literal, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    AnyUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyAddress,
    Json,
    PlainSerializer,
    SecretBytes,
    SecretStr,
    StringConstraints,
    computed_field,
    create_model,
    field_serializer,
    model_serializer,
)
from pydantic_core import core_schema, to_jsonable_python

from callgate.adapters.convert import convert
from callgate.adapters.core_parts import PARTS
from callgate.errors import CallgateError, ConfigurationError, InvalidArguments
from callgate.model.canonical import dumps
from callgate.model.tool import Arguments, Tool

numbers = itertools.count()


class Word(enum.Enum):
    YES = "yes"
    NO = "no"


@dataclass
class Spot:
    x: int
    tags: set[str] = field(default_factory=lambda: {"b", "a"})


Tidy = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]
LEAVES: list[tuple[Any, list[Any]]] = [
    (Tidy, [" EVE ", "ann"]),
    (Word, ["yes", "no"]),
    (Spot, [{"x": 1}, {"x": 2, "tags": ["z", "y", "z"]}]),
    (IPvAnyAddress, [2130706433, "10.0.0.1", "::1"]),
    (AnyUrl, ["HTTPS://Example.com", "https://a.example/x"]),
    (dt.datetime, ["2024-02-29T01:02:03Z", "2024-02-29 01:02:03"]),
    (dt.timedelta, ["PT90S", "P1D"]),
    (decimal.Decimal, ["1.50", 2]),
    (pathlib.Path, ["a//b/./c", "/x"]),
    (uuid.UUID, ["6F1C2B1E-1d3a-4f5e-9c0b-2a7d8e9f0a1b"]),
    (float, [1, 2.5]),
    (set[int], [[3, 1, 2, 1]]),
    (tuple[int, Tidy], [[1, " A "]]),
    (dict[Word, int], [{"yes": 1}]),
    (bytes, ["abc"]),
    (Literal["a", 1], ["a", 1]),
    (Annotated[list[str], BeforeValidator(lambda v: v.split(",") if isinstance(v, str) else v)], ["a,b", ["c"]]),
]
EXTRAS: list[dict[str, Any]] = [
    {},
    {"alias": "url"},
    {"validation_alias": "url"},
    {"validation_alias": AliasChoices("url", "uri"), "serialization_alias": "other"},
    {"exclude": True},
]
OWN_WORDS = ["type", "items_schema", "fields", "choices", "default", "metadata", "members", "expected", "missing"]
"""Of pydantic's schemas; for an author they are names like others."""
CONFIGS = [ConfigDict(), ConfigDict(populate_by_name=True), ConfigDict(str_to_upper=True), ConfigDict(extra="allow")]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Any]:
    """A hint, and a value for it."""
    leaf: tuple[Any, list[Any]] = draw(st.sampled_from(LEAVES))
    hint: Any = leaf[0]
    value: Any = draw(st.sampled_from(leaf[1]))
    for _ in range(draw(st.integers(0, 2))):
        way = draw(st.sampled_from(["model", "list", "optional"]))
        if way == "model":
            extra = draw(st.sampled_from(EXTRAS))
            where = draw(st.sampled_from(["where", *OWN_WORDS]))
            names = ["url", where, "uri"] if extra else [where]
            more = draw(st.sampled_from([{}, {"count": 7}]))
            fields: dict[str, Any] = {
                where: (hint, Field(**extra)),
                "count": (int, Field(default_factory=lambda: next(numbers))),
                "limit": (int | None, 3),
            }
            hint = create_model("Made", __config__=draw(st.sampled_from(CONFIGS)), **fields)
            value = {draw(st.sampled_from(names)): value, **more}
        elif way == "list":
            hint, value = list[hint], [value]
        else:
            hint = hint | None
    return hint, value


def tool_of(hint: Any, seen: list[Any]) -> Tool:
    def act(x: Any) -> None:
        seen.append(x)

    act.__annotations__["x"] = hint
    (made,) = convert(act, effects="read_only")
    return made


def run(made: Tool, final: Arguments) -> None:
    assert made.handler is not None
    made.handler(final, None)


def scalars(value: Any) -> list[bytes]:
    """Every scalar in it as JSON says it, found without the code that is tested."""
    inside: list[Any] | None = None
    if isinstance(value, (BaseModel, Spot)):
        extra: dict[str, Any] = getattr(value, "__pydantic_extra__", None) or {}
        inside = [*vars(value).values(), *extra.values()]
    elif isinstance(value, dict):
        inside = list(cast("dict[Any, Any]", value).values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = list(cast("list[Any]", value))
    if inside is None:
        return [dumps(to_jsonable_python(value))]
    return sorted(one for inner in inside for one in scalars(inner))


@settings(max_examples=300, deadline=None)
@given(case=cases())
def test_what_is_judged_is_what_the_handler_is_given(case: tuple[Any, Any]):
    hint, value = case
    seen: list[Any] = []
    made = tool_of(hint, seen)
    try:
        final = made.validator({"x": value})
    except InvalidArguments:
        return
    before = next(numbers)
    assert dumps(made.validator(final)) == dumps(final)
    run(made, final)
    assert scalars(seen[0]) == scalars(final["x"])
    assert next(numbers) == before + 1, "a factory was asked again"


def test_most_of_it_is_accepted():
    for hint, values in LEAVES:
        for value in values:
            tool_of(hint, []).validator({"x": value})


def test_every_place_of_a_schema_in_a_schema_is_known():
    """What pydantic's own schemas may have in them, by its own declarations: a part that is missed is not rewritten."""
    kinds: list[Any] = [kind for kind in vars(core_schema).values() if hasattr(kind, "__required_keys__")]
    declared = {
        key
        for kind in kinds
        for key, hint in kind.__annotations__.items()
        if re.search(r"\bCoreSchema\b|Field\b|Parameter\b", str(hint))
    }
    assert declared - {"computed_fields", "serialization"} == PARTS


class Cat(BaseModel):
    type: Literal["cat"]
    to: str = Field(default="all cats", exclude=True)


class Default(BaseModel):
    type: Literal["default"]
    to: str = Field(default="everyone", exclude=True)


@pytest.mark.parametrize("name", OWN_WORDS)
def test_a_parameter_and_a_field_may_be_called_by_pydantics_own_words(name: str):
    model = create_model("Model", **cast("Any", {name: (SecretStr, ...), "hidden": (str, Field("h", exclude=True))}))
    seen: list[Any] = []

    def act(**given: Any) -> None:
        seen.append(given)

    act.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=model)]
    )
    act.__annotations__ = {name: model}
    (made,) = convert(act, effects="read_only")
    final = made.validator({name: {name: "s"}})
    assert final == {name: {name: "s", "hidden": "h"}}
    run(made, final)
    assert getattr(seen[0][name], name).get_secret_value() == "s"


@pytest.mark.parametrize(("kind", "to"), [("cat", "all cats"), ("default", "everyone")])
def test_choices_may_be_told_apart_by_any_word(kind: str, to: str):
    seen: list[Any] = []
    made = tool_of(Annotated[Cat | Default, Field(discriminator="type")], seen)
    assert made.validator({"x": {"type": kind}}) == {"x": {"type": kind, "to": to}}
    run(made, {"x": {"type": kind, "to": "nobody"}})
    assert seen[0].to == "nobody"


def test_what_is_read_once_reaches_the_function():
    seen: list[Any] = []
    made = tool_of(Iterable[str], seen)
    assert made.validator({"x": ["eve", "bob"]}) == {"x": ["eve", "bob"]}
    run(made, {"x": ["eve", "bob"]})
    assert list(seen[0]) == ["eve", "bob"]
    with pytest.raises(InvalidArguments):
        made.validator({"x": ["eve", 5]})


@dataclass
class Counted:
    text: str
    length: int = field(init=False, default=7)


def test_what_an_object_makes_by_itself_is_not_asked_for():
    seen: list[Any] = []
    made = tool_of(Counted, seen)
    assert made.validator({"x": {"text": "a"}}) == {"x": {"text": "a"}}
    run(made, {"x": {"text": "a"}})
    assert seen == [Counted("a")]


def test_what_is_only_for_making_an_object_is_refused():
    @dataclass
    class Message:
        text: str
        to: InitVar[str] = "everyone"

    with pytest.raises(ConfigurationError, match="to is for making an object"):
        tool_of(Message, [])


class Shown(BaseModel):
    """Everything that authors do to what is shown of a model."""

    key: SecretStr
    raw: SecretBytes | None = None
    where: str = Field(validation_alias=AliasChoices("url", "where"))
    hidden: str = Field("h", exclude=True)
    text: str = None  # pyright: ignore[reportAssignmentType] - as many write it
    parsed: Json[dict[str, int]] = Field(default_factory=dict)

    @computed_field
    def twice(self) -> str:
        return self.where * 2

    @field_serializer("where")
    def _loud(self, value: str) -> str:
        return value.upper()

    @model_serializer
    def _short(self) -> str:
        return "shown"


def test_how_a_model_is_shown_is_not_how_it_is_written():
    seen: list[Any] = []
    made = tool_of(Shown, seen)
    final = made.validator({"x": {"key": "k", "raw": "r", "where": "a", "parsed": '{"a":1}'}})
    assert final == {"x": {"key": "k", "raw": "r", "url": "a", "hidden": "h", "parsed": '{"a":1}'}}
    run(made, final)
    assert (seen[0].key.get_secret_value(), seen[0].where, seen[0].text, seen[0].parsed) == ("k", "a", None, {"a": 1})


class Mark:
    def __init__(self, text: str) -> None:
        self.text = text


def test_a_type_of_the_authors_own_is_written_as_its_author_says():
    seen: list[Any] = []
    kind = Annotated[Any, BeforeValidator(Mark), PlainSerializer(lambda mark: mark.text)]
    made = tool_of(kind, seen)
    assert made.validator({"x": "m"}) == {"x": "m"}
    run(made, {"x": "m"})
    assert seen[0].text == "m"
    with pytest.raises(InvalidArguments, match="cannot be written as JSON"):
        tool_of(Annotated[Any, BeforeValidator(Mark)], []).validator({"x": "m"})


def test_what_is_read_otherwise_each_time_is_refused():
    def more(number: int) -> int:
        return number + 1

    def another(_number: int) -> int:
        return next(numbers)

    for validator in (more, another):
        with pytest.raises(InvalidArguments, match="what is judged would not be what runs"):
            tool_of(Annotated[int, AfterValidator(validator)], []).validator({"x": 1})


def test_what_changes_between_the_question_and_the_run_does_not_run():
    answers = [1]
    seen: list[Any] = []
    made = tool_of(Annotated[int, AfterValidator(lambda _number: answers[-1])], seen)
    final = made.validator({"x": 5})
    answers.append(2)
    with pytest.raises(CallgateError, match="what is judged would not be what runs"):
        run(made, final)
    assert (final, seen) == ({"x": 1}, [])


def test_a_field_that_has_no_name_is_refused():
    class Inner(BaseModel):
        url: str = Field(validation_alias=AliasPath("request", "url"))

    with pytest.raises(ConfigurationError, match="AliasPath"):
        tool_of(Inner, [])
