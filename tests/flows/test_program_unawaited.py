"""Which texts may be run with plain calls instead of awaited ones, and that nothing else of them changes its place."""

from __future__ import annotations

import pytest

from callgate.flows.program.unawaited import unawaited

NAMES = frozenset({"price", "send"})


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("total = await price(1)", "total =       price(1)"),
        ("await price(1)", "0 or  price(1)"),
        ("if x:\n    await send(1); await send(2)", "if x:\n    0 or  send(1);       send(2)"),
        ("[await price(item) for item in items]", "[      price(item) for item in items]"),
        ("(\n  await price(await price(2)),\n)", "(\n        price(      price(2)),\n)"),
        ("x = (await price(1)).y", "x = (      price(1)).y"),
        ("print(f'{x}', await price(1))", "print(f'{x}',       price(1))"),
        (
            "async def f():\n    return await price(1)\nawait f()",
            "async def f():\n    return       price(1)\nawait f()",
        ),
        ("'await price'  # await price\nawait price(1)", "'await price'  # await price\n0 or  price(1)"),
        ("größe = '\uff50rice'; y = await price(1)", "größe = '\uff50rice'; y =       price(1)"),
        ("x = 'ä'; y = await price(1)", "x = 'ä'; y =       price(1)"),
    ],
)
def test_what_awaits_each_call_at_once_can_make_it_plainly(source: str, plain: str) -> None:
    assert unawaited(source, NAMES) == plain
    assert [len(line) for line in plain.split("\n")] == [len(line) for line in source.split("\n")]


@pytest.mark.parametrize(
    "source",
    [
        "1 + 1",
        "price(1)",
        "x = price(1)\nawait x",
        "f = price\nawait f(1)",
        "await price(1).y",
        "await price(1)[0]",
        "await price(1)(2)",
        "await (price(1))",
        "await \\\n  price(1)",
        "import asyncio\nawait asyncio.gather(price(1), price(2))",
        "import asyncio\nawait price(1)",
        "await price(1)\nprint(f'{await price(1)}')",
        "await price(1)\nprint(rf'{price}')",
        "await price(1)\neval('price(1)')",
        "(await price(item) for item in items)",
        "await price(price=1)",
        "async def price(x):\n    pass\nawait price(1)",
        "await price(1)\nx.price(1)",
        "await price(1)\r\nawait price(2)",
        "await price(1",
        "async def f(\uff50rice):\n    return await price(5)\nawait f(x)",
        "import \uff41syncio\nawait price(1)",
        "await price(1)\nprint(f'{\uff50rice}')",
        "await price(1)\nprint(f'{eval(x)}')",
    ],
)
def test_what_could_be_another_program_then_is_left_as_it_is(source: str) -> None:
    assert unawaited(source, NAMES) is None
