"""Whether a handler marks its point of no return: certain, or not at all."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from callgate.adapters.marking import enters_effect
from callgate.model.tool_context import ToolContext


async def marks(to: str, ctx: ToolContext) -> str:
    if not to:
        raise ValueError(to)
    async with ctx.effect():
        return to


def marks_sync(to: str, ctx: ToolContext) -> str:
    for letter in to:
        if letter == " ":
            return ""
    with ctx.effect_sync():
        return to


async def marks_after_awaiting(to: str, ctx: ToolContext) -> str:
    found = await marks(to, ctx)
    try:
        async with ctx.effect():
            return found
    finally:
        ctx.progress(1.0)


def marks_and_hands_on(to: str, ctx: ToolContext) -> Any:
    with ctx.effect_sync():
        return lambda: (to, ctx)


def no_mark(to: str, ctx: ToolContext) -> str:
    return to + ctx.tool


def without_with(to: str, ctx: ToolContext) -> str:
    ctx.effect_sync()
    return to


def in_one_branch(to: str, ctx: ToolContext) -> str:
    if to:
        with ctx.effect_sync():
            return to
    return "unmarked effect"


def in_a_loop(to: list[str], ctx: ToolContext) -> str:
    for _ in to:
        with ctx.effect_sync():
            pass
    return "unmarked effect"


async def in_an_async_loop(to: AsyncIterator[str], ctx: ToolContext) -> str:
    async for _ in to:
        async with ctx.effect():
            pass
    return "unmarked effect"


def through_another_name(to: str, ctx: ToolContext) -> str:
    other = ctx
    with other.effect_sync():
        return to


def after_a_change(to: str, ctx: Any) -> str:
    ctx = to
    with ctx.effect_sync():
        return to


def of_something_else(to: Any, ctx: ToolContext) -> str:
    with to.effect_sync():
        return ctx.tool


def in_a_function_inside(to: str, ctx: ToolContext) -> Any:
    def later() -> str:
        with ctx.effect_sync():
            return to

    return later


def with_arguments(to: str, ctx: Any) -> str:
    with ctx.effect_sync(to):
        return to


def as_an_attribute(to: str, ctx: Any) -> str:
    with ctx.effect_sync:
        return to


@pytest.mark.parametrize("function", [marks, marks_sync, marks_after_awaiting, marks_and_hands_on])
def test_a_mark_that_every_way_enters_is_seen(function: Any):
    assert enters_effect(function, "ctx")


@pytest.mark.parametrize(
    "function",
    [
        no_mark, without_with, in_one_branch, in_a_loop, in_an_async_loop, through_another_name, after_a_change,
        of_something_else, in_a_function_inside, with_arguments, as_an_attribute, len,
    ],
)  # fmt: skip
def test_in_doubt_there_is_no_mark(function: Any):
    assert not enters_effect(function, "ctx")
