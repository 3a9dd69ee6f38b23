"""python_eval and values that would take its host years to hash: none is built there. TOOL-08."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.needed import needs

needs("pydantic_monty")

HOST = """
import asyncio, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
from callgate import Callgate

async def main():
    async with Callgate.open("memory://", builtin_tools=["python_eval"]) as gate:
        for expression in sys.stdin.read().split("---\\n"):
            outcome = await gate.call("python_eval", {"expression": expression})
            print(outcome.status, outcome.error.category.value if outcome.error else outcome.value, flush=True)

asyncio.run(main())
"""
"""A host of its own whose work is bounded: what goes on for longer ends it, and not the tests."""
DOUBLED = "t = ()\nfor i in range(60):\n    t = (t, t)\n"
AGAIN = (
    "_callgate_hand_over = _callgate_border(_callgate_function, lambda x: {said}, type, isinstance, len, str, int,"
    " float, bool, list, tuple, dict, (set, frozenset), ValueError)\n1"
)
"""Makes what is ours anew, with a function that writes lies."""
WAYS = [
    AGAIN.format(said="{t: 1}"),
    AGAIN.format(said="'5'"),
    AGAIN.format(said="'{\"value\": \"' + 'x' * 5000000 + '\"}'"),
    "{t: 1}",
    "{t}",
    "[{'a': frozenset([t])}]",
    "t",
    "nobody({t: 1})",
    "nobody(x={t})",
    "input({t})",
    "eval('nobody')({t: 1})",
    "_callgate_function({t: 1})",
    "_callgate_hand_over = lambda x: _callgate_function({t: 1})\n1",
    "import os\nos.getenv('HOME', {t: 1})",
    "class P:\n    pass\np = P()\np.x = {t: 1}\np",
    "v = {i * (2**61 - 1): 0 for i in range(90_000)}\n{'a': v, 'b': v}",
]


@pytest.mark.slow
def test_no_value_that_cannot_be_hashed_in_time_is_built_by_the_host() -> None:
    host = subprocess.run(
        [sys.executable, "-c", HOST],
        input="---\n".join([*(DOUBLED + way for way in WAYS), DOUBLED + "2"]),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    *told, alive = host.stdout.splitlines() or ["", host.stderr]
    assert told == ["failed user_input_error"] * len(WAYS), (host.returncode, host.stderr)
    assert alive == "succeeded 2"
