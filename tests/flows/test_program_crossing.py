"""What comes out of a program is what was in it: as an argument and as its value, whatever it is made of."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate import tool
from callgate.model.canonical import dumps, loads
from callgate.testing import memory_gate
from tests.needed import needs

needs("pydantic_monty")

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=4), below, max_size=4),
    max_leaves=12,
)
EATING = {
    "awaited at once": "for each in values:\n    await eat(each, more=each)\nvalues",
    "awaited later": "for each in values:\n    later = eat(each, more=each)\n    await later\nvalues",
    "plain": "for each in values:\n    eat(each, more=each)\nvalues",
}


@pytest.mark.parametrize("how", sorted(EATING))
@given(values=st.lists(PLAIN, max_size=12))
@settings(max_examples=12, deadline=None)
def test_plain_values_come_out_of_a_program_as_they_went_in(how: str, values: list[Any]) -> None:
    eaten: list[str] = []

    @tool(effects="read_only")
    async def eat(what: Any, *, more: Any = None) -> int:
        """Eat something."""
        eaten.append(_exact([what, more]))
        return 1

    async def run() -> Any:
        async with memory_gate(eat) as gate:
            return (await gate.run_program(EATING[how], inputs={"values": values})).unwrap()

    kept = loads(dumps(values))
    assert _exact(asyncio.run(run())) == _exact(kept)
    assert eaten == [_exact([each, each]) for each in kept]


def _exact(value: Any) -> str:
    """Tells a whole number from another, and one nothing from the other; the order of an object's names is nobody's."""
    return json.dumps(value, sort_keys=True)
