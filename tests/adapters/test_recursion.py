"""How fast the work grows with depth, for schemas that contain themselves."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from callgate.adapters.convert import convert
from callgate.adapters.recursion import NO_LIMIT, depth_limit, depth_of
from callgate.errors import InvalidArguments

AGAIN: Any = {"$ref": "#"}
ANY: Any = {}


class Add(BaseModel):
    left: "Add | Mul | int"


class Mul(BaseModel):
    left: "Add | Mul | int"


class Tree(BaseModel):
    left: "Tree | None" = None
    children: "list[Tree]" = []


class Cat(BaseModel):
    kind: Literal["cat"]
    left: "Annotated[Cat | Dog, Field(discriminator='kind')] | None" = None


class Dog(BaseModel):
    kind: Literal["dog"]
    left: "Annotated[Cat | Dog, Field(discriminator='kind')] | None" = None


@pytest.mark.parametrize(
    ("schema", "limit"),
    [
        (ANY, NO_LIMIT),
        (AGAIN, NO_LIMIT),
        ({"properties": {"x": AGAIN, "y": AGAIN}, "items": AGAIN}, NO_LIMIT),
        ({"anyOf": [{"properties": {"x": AGAIN}}, {"type": "null"}]}, NO_LIMIT),
        ({"anyOf": [{"properties": {"x": ANY}}, {"properties": {"x": ANY}}]}, NO_LIMIT),
        ({"anyOf": [{"properties": {"x": AGAIN}}, {"properties": {"x": AGAIN}}]}, 10),
        ({"allOf": [{"items": AGAIN}, {"items": AGAIN}, {"items": AGAIN}]}, 6),
        ({"properties": {"x": AGAIN}, "patternProperties": {"^x": AGAIN}}, 10),
        ({"items": AGAIN, "contains": AGAIN}, 10),
        ({"if": {"properties": {"x": AGAIN}}, "then": {"properties": {"x": AGAIN}}}, 10),
        ({"anyOf": [AGAIN] * 2000}, 1),
    ],
)
def test_the_limit_is_where_the_branches_use_up_the_budget(schema: dict[str, Any], limit: int):
    assert depth_limit(schema, budget=1024) == limit


def test_a_discriminator_makes_a_choice_one_branch():
    schema = TypeAdapter(Cat).json_schema()
    assert depth_limit(schema, budget=1024, trust_discriminators=True) == NO_LIMIT
    assert depth_limit(schema, budget=1024) == 10


@pytest.mark.parametrize(("value", "depth"), [(1, 0), ("[[", 0), ({}, 1), ([[], [[1]]], 3), ({"a": {"b": [1]}}, 3)])
def test_depth_counts_levels(value: Any, depth: int):
    assert depth_of(value) == depth


def nest(levels: int, leaf: Any, **more: Any) -> Any:
    for _ in range(levels):
        leaf = {"left": leaf, **more}
    return leaf


def test_a_value_too_deep_for_choices_that_contain_themselves_is_refused_at_once():
    def f(term: Add | Mul | int) -> None: ...

    (tool,) = convert(f, effects="read_only")
    assert tool.validator({"term": nest(13, 1)}) == {"term": nest(13, 1)}
    for leaf in (1, "bad"):
        with pytest.raises(InvalidArguments, match="deeper than 13 levels"):
            tool.validator({"term": nest(90, leaf)})


@pytest.mark.parametrize(("hint", "leaf", "more"), [(Tree, {}, {}), (Cat, {"kind": "dog"}, {"kind": "cat"})])
def test_other_shapes_that_contain_themselves_may_be_as_deep_as_any(hint: Any, leaf: Any, more: dict[str, Any]):
    def f(it: Any) -> None: ...

    f.__annotations__["it"] = hint
    (tool,) = convert(f, effects="read_only")
    deep = nest(90, leaf, **more)
    final = tool.validator({"it": deep})
    assert depth_of(final) >= depth_of({"it": deep})
    assert tool.validator(final) == final
