"""Arguments held against a signature: what passes, what does not, and what is said about it."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, SecretStr

from callgate.adapters.convert import convert
from callgate.errors import InvalidArguments
from callgate.model.tool import Tool


def tool_of(function: Any, **fields: Any) -> Tool:
    (made,) = convert(function, effects="read_only", **fields)
    return made


def faults_of(tool: Tool, arguments: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidArguments) as caught:
        tool.validator(arguments)
    return caught.value.faults


def fetch(
    url: str, times: int = 1, ratio: float = 0.5, deep: bool = False, head: dict[str, str] | None = None
) -> None: ...


@pytest.mark.requirement("SCH-09")
def test_missing_unknown_and_mistyped_arguments_are_all_reported_at_once_by_name():
    faults = faults_of(tool_of(fetch), {"times": "3", "x": 1, "deep": 1, "head": []})
    assert set(faults) == {
        "Missing required parameter: url",
        "Unknown parameter: x",
        "Invalid parameter: times must be an integer, not a string",
        "Invalid parameter: deep must be a boolean, not an integer",
        "Invalid parameter: head must be an object, not an array",
    }


@pytest.mark.requirement("SCH-09", "ERR-04")
def test_each_fault_alone_has_the_words_of_the_registry():
    tool = tool_of(fetch)
    assert faults_of(tool, {}) == ("Missing required parameter: url",)
    assert faults_of(tool, {"url": "u", "x": 1}) == ("Unknown parameter: x",)
    assert faults_of(tool, {"url": 1}) == ("Invalid parameter: url must be a string, not an integer",)


@pytest.mark.requirement("SCH-09")
def test_valid_arguments_have_no_fault():
    assert tool_of(fetch).validator({"url": "u"})["url"] == "u"


@pytest.mark.requirement("SCH-10")
@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"times": True}, False), ({"times": "1"}, False), ({"times": 1.5}, False), ({"times": None}, False),
        ({"times": 1}, True), ({"times": 1.0}, True), ({"times": -(2**40)}, True), ({"times": 2**70}, True),
        ({"ratio": 1}, True), ({"ratio": 1.5}, True), ({"ratio": "1.5"}, False), ({"ratio": True}, False),
        ({"deep": True}, True), ({"deep": 1}, False), ({"deep": "true"}, False),
        ({"url": 1}, False), ({"url": None}, False), ({"url": ["u"]}, False), ({"url": b"u"}, False),
        ({"head": {}}, True), ({"head": {"a": 1}}, False), ({"head": [["a", "b"]]}, False), ({"head": None}, True),
    ],
)  # fmt: skip
def test_types_are_those_of_json_and_nothing_is_guessed(arguments: dict[str, Any], fits: bool):
    tool = tool_of(fetch)
    given = {"url": "u", **arguments}
    if fits:
        assert tool.validator(given) == {**tool.validator({"url": "u"}), **arguments}
    else:
        assert len(faults_of(tool, given)) == 1


@pytest.mark.requirement("SCH-10")
def test_defaults_are_applied_before_the_handler_runs():
    assert tool_of(fetch).validator({"url": "u"}) == {
        "url": "u", "times": 1, "ratio": 0.5, "deep": False, "head": None,
    }  # fmt: skip


def test_an_integer_for_a_number_is_a_number_and_a_whole_number_an_integer():
    final = tool_of(fetch).validator({"url": "u", "ratio": 2, "times": 3.0})
    assert [type(final[name]) for name in ("ratio", "times")] == [float, int]


def test_a_default_that_is_a_list_is_never_shared():
    def f(names: list[str] = ["a"]) -> None: ...  # noqa: B006

    tool = tool_of(f)
    tool.validator({})["names"].append("b")
    assert tool.validator({}) == {"names": ["a"]}


def test_defaults_that_json_cannot_say_stay_with_the_function():
    nothing = object()

    auto: Any = "auto"
    secret = SecretStr("hunter2")

    def f(a: str, b: Any = nothing, c: int = auto, d: Any = (1, 2), e: SecretStr = secret) -> Any:
        return [a, b is nothing, c, d == (1, 2), e.get_secret_value()]

    tool = tool_of(f)
    assert tool.validator({"a": "x"}) == {"a": "x"}
    assert "hunter2" not in str(tool.input_schema)
    assert tool.handler is not None
    assert tool.handler(tool.validator({"a": "x"}), None) == ["x", True, "auto", True, "hunter2"]


def test_a_default_of_none_makes_a_hint_optional():
    none: Any = None

    def f(a: int = none) -> None: ...

    tool = tool_of(f)
    assert tool.validator({}) == {"a": None}
    assert tool.validator({"a": None}) == {"a": None}


def test_what_was_validated_is_nobody_elses():
    def f(items: list[dict[str, Any]]) -> None: ...

    given = {"items": [{"a": [1]}]}
    final = tool_of(f).validator(given)
    given["items"][0]["a"].append(2)
    assert final == {"items": [{"a": [1]}]}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("zzz", "mode must be 'fast' or 'slow'"),
        (3, "mode must be 'fast' or 'slow'"),
    ],
)
def test_choices_are_named(value: Any, words: str):
    def f(mode: Literal["fast", "slow"]) -> None: ...

    assert faults_of(tool_of(f), {"mode": value}) == (f"Invalid parameter: {words}",)


class Item(BaseModel):
    name: str
    price: int | str | None = None


def test_places_inside_are_named():
    def f(items: list[Item], at: dict[str, list[int]] = {}) -> None: ...  # noqa: B006

    faults = faults_of(
        tool_of(f), {"items": [{"name": "a"}, {"price": []}, {"name": 1, "x": 2}], "at": {"k": [1, "s"]}}
    )
    assert set(faults) == {
        "Missing required parameter: items[1].name",
        "Invalid parameter: items[1].price must be an integer or a string, not an array",
        "Invalid parameter: items[2].name must be a string, not an integer",
        "Unknown parameter: items[2].x",
        "Invalid parameter: at.k[1] must be an integer, not a string",
    }


@pytest.mark.parametrize(
    ("hint", "value", "rule"),
    [
        (Annotated[int, Field(gt=0)], 0, "must be greater than 0"),
        (Annotated[int, Field(le=5)], 6, "must be less than or equal to 5"),
        (Annotated[str, Field(min_length=3)], "ab", "must have at least 3 characters"),
        (Annotated[str, Field(pattern="^a+$")], "secret", "must match pattern '^a+$'"),
        (Annotated[list[int], Field(max_length=1)], [1, 2], "must have at most 1 item after validation, not 2"),
    ],
)
def test_constraints_are_told_by_their_rule(hint: Any, value: Any, rule: str):
    def f(x: Any) -> None: ...

    f.__annotations__["x"] = hint
    assert faults_of(tool_of(f), {"x": value}) == (f"Invalid parameter: x {rule}",)


def test_values_are_never_echoed():
    def loud(value: str) -> str:
        raise ValueError(f"what is {value!r}, or {value}?")

    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    def f(
        a: int, b: Literal["x"], c: Annotated[str, AfterValidator(loud)],
        d: Annotated[Cat | Dog, Field(discriminator="kind")], e: Item,
    ) -> None: ...  # fmt: skip

    secret = "hunter2-hunter2"
    given = {"a": secret, "b": secret, "c": secret, "d": {"kind": secret}, "e": {"name": 5, "price": {secret: secret}}}
    faults = faults_of(tool_of(f), given)
    assert len(faults) == 6
    assert secret not in " ".join(faults)


def test_a_message_that_could_quote_hundreds_of_values_is_not_repeated():
    def loud(value: dict[str, str]) -> dict[str, str]:
        raise ValueError(str(value))

    def f(a: Annotated[dict[str, str], AfterValidator(loud)]) -> None: ...

    faults = faults_of(tool_of(f), {"a": {f"key{n}": f"secret{n}" for n in range(300)}})
    assert faults == ("Invalid parameter: a is not valid",)
    assert "secret" not in faults_of(tool_of(f), {"a": {"list": "secret"}})[0]


def test_an_unknown_name_is_shown_escaped_and_cut():
    faults = faults_of(tool_of(fetch), {"url": "u", "x\u202e" + "y" * 5000: 1})
    assert faults[0].startswith("Unknown parameter: x<U+202E>yyy")
    assert len(faults[0]) < 400


def test_a_flood_of_faults_is_counted_not_listed():
    tool = tool_of(fetch)
    many = faults_of(tool, {"url": "u", **{f"k{n}": n for n in range(500)}})
    assert len(many) == 51
    assert many[-1] == "and 450 more faults"
    flood = faults_of(tool, {"url": "u", **{f"k{n}": n for n in range(20_000)}})
    assert flood == ("The arguments are not valid", "and 20000 more faults")


def test_an_authors_validator_that_breaks_is_a_no():
    def broken(value: str) -> str:
        raise RuntimeError(value)

    def f(a: Annotated[str, AfterValidator(broken)]) -> None: ...

    assert faults_of(tool_of(f), {"a": "secret"}) == ("The arguments could not be checked (RuntimeError)",)


@pytest.mark.requirement("SCH-11")
@pytest.mark.parametrize(
    "name",
    ["role", "context", "tool", "name", "user_id", "timeout", "arguments", "self_", "this", "call", "handler", "kwargs",
     "tool_context", "_tool_context", "model_config", "schema", "copy", "_private", "values", "text", "json"],
)  # fmt: skip
def test_a_parameter_may_have_any_name(name: str):
    place: dict[str, Any] = {}
    exec(f"def f({name}: str, ctx: 'C', /, more: int = 1): return [{name}, ctx, more]\n"
         f"def g({name}: str): return {name}\n", {"C": str}, place)  # fmt: skip
    g = tool_of(place["g"])
    assert list(g.input_schema["properties"]) == [name]
    assert g.handler is not None
    assert g.handler(g.validator({name: "x"}), None) == "x"
    f = tool_of(place["f"], name="f")
    assert f.handler is not None
    assert f.handler(f.validator({name: "x", "ctx": "y"}), None) == ["x", "y", 1]


def test_a_handler_never_gets_what_was_not_validated():
    def f(when: Level) -> None: ...

    handler = tool_of(f).handler
    assert handler is not None
    with pytest.raises(InvalidArguments):
        handler({"when": "secret"}, None)


@pytest.mark.requirement("SCH-11")
def test_an_annotated_self_of_a_plain_function_is_a_parameter():
    def f(self: str) -> str:
        return self

    tool = tool_of(f)
    assert tool.handler is not None
    assert tool.handler(tool.validator({"self": "x"}), None) == "x"


class Level(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Lying(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Any:
        return iter(["url"])

    def __len__(self) -> int:
        return 1


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def anything(x: Any) -> None: ...


@pytest.mark.parametrize(
    "arguments",
    [
        None, [], "url", 3, [("x", 1)], {1: 2}, {None: 1}, {b"x": 1}, Lying(),
        {"x": float("nan")}, {"x": [float("inf")]}, {"x": {"y": -float("inf")}},
        {"x": "\ud800"}, {"\udfff": 1}, {"x": 10**400}, {"x": -(10**400)}, {"x": 10**5000},
        {"x": nested(100)}, {"x": nested(400)}, {"x": nested(100_000)},
        {"x": object()}, {"x": {1, 2}}, {"x": b"bytes"}, {"x": "y" * (1024 * 1024)},
    ],
)  # fmt: skip
@pytest.mark.parametrize("schema", [None, {"type": "object", "properties": {"x": {}}}])
def test_what_is_not_bounded_json_is_refused(arguments: Any, schema: dict[str, Any] | None):
    tool = tool_of(anything, input_schema=schema)
    assert len(faults_of(tool, arguments)) == 1


def test_an_object_that_contains_itself_is_refused():
    loop: dict[str, Any] = {}
    loop["x"] = loop
    assert len(faults_of(tool_of(anything), loop)) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (nested(99), nested(99)),
        (["[" * 300], ["[" * 300]),
        (10**300, 10**300),
        (-(2**64), -(2**64)),
        ((1, 2), [1, 2]),
        (Level.ONE, 1),
        (Text("a"), "a"),
        (None, None),
        ([None, "null"], [None, "null"]),
        ("y" * 1_000_000, "y" * 1_000_000),
    ],
)
@pytest.mark.parametrize("schema", [None, {"type": "object", "properties": {"x": {}}}])
def test_what_is_bounded_json_comes_out_as_plain_json(value: Any, expected: Any, schema: dict[str, Any] | None):
    final = tool_of(anything, input_schema=schema).validator({"x": value})
    assert final == {"x": expected}
    assert type(final["x"]) is type(expected)


def test_any_mapping_will_do():
    assert tool_of(anything).validator(MappingProxyType({"x": 1})) == {"x": 1}


def test_the_largest_arguments_can_be_declared():
    tool = tool_of(anything, max_argument_bytes=20)
    assert tool.validator({"x": "y" * 12}) == {"x": "y" * 12}
    assert faults_of(tool, {"x": "y" * 13}) == ("The arguments are 21 bytes; 20 at most",)


def test_messages_about_keys_do_not_repeat_them():
    assert faults_of(tool_of(anything), {b"hunter2": 1}) == ("The arguments are not JSON: a key is not text",)
