"""What a program hands over is no larger than its host can hold, however it is put together."""

from __future__ import annotations

import subprocess
import sys

import pytest

HOST = """
import asyncio, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from callgate import tool
from callgate.testing import memory_gate

@tool(effects="read_only")
async def eat(x: object) -> int:
    '''Eat.'''
    return 1

async def main():
    async with memory_gate(eat) as gate:
        for source in sys.stdin.read().split("---\\n"):
            run = await gate.run_program(source)
            assert (await gate.call("eat", {"x": 1})).unwrap() == 1
            print(run.state.value, run.error.kind if run.error else run.value, flush=True)

asyncio.run(main())
"""
"""A host of its own, with little memory: what is not bounded ends it, and not the tests."""
DOUBLED = {
    "list": "a = []\nfor i in range(40):\n    a = [a, a]\n",
    "tuple": "a = ()\nfor i in range(40):\n    a = (a, a)\n",
    "object": "a = {}\nfor i in range(40):\n    a = {'x': a, 'y': a}\n",
    "instance": (
        "class P:\n    def __init__(self, x: object):\n        self.x = x\n"
        "a = P(1)\nfor i in range(40):\n    a = P([a, a])\n"
    ),
    "text": "a = ['x' * 1_000_000] * 100_000\n",
    "names": "a = [{'x' * 1_000_000: 1}] * 100_000\n",
    "depth": "a = []\nfor i in range(100_000):\n    a = [a]\n",
}
WAYS_OUT = [
    "a",
    "{'x': [a]}",
    "await eat(a)",
    "await eat(x=[a])",
    "import asyncio\nawait asyncio.gather(eat(a), eat(a))",
]
CAUGHT = "try:\n    await eat(a)\nexcept ValueError as error:\n    r = str(error)\nr"


@pytest.mark.slow
@pytest.mark.parametrize("what", sorted(DOUBLED))
def test_a_short_text_makes_no_value_that_its_host_could_not_hold(what: str) -> None:
    sources = [DOUBLED[what] + way for way in WAYS_OUT]
    host = subprocess.run(
        [sys.executable, "-c", HOST],
        input="---\n".join([*sources, DOUBLED[what] + CAUGHT, "await eat([1])"]),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    *told, caught, alive = host.stdout.splitlines() or ["", host.stderr]
    assert told == ["failed value"] * 2 + ["failed raised"] * 3, host.stderr
    assert caught.startswith("finished eat cannot be called with this: ")
    assert alive == "finished 1"
