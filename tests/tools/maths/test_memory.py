"""What an expression needs of memory at one moment is bounded, wherever it waits for more. TOOL-08."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.tools.maths.asking import ask, refusal

LONG = "[9**1291 + k for k in range(10**5)]"
MANY = "where(-x, -x, -x < -x + -x * " * 24 + "1" + ")" * 24
HOST = """
import asyncio, json, resource, sys
from tests.tools.maths.asking import ask

async def main():
    await ask("calculate", expression="1")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = await ask(sys.argv[1], **json.loads(sys.argv[2]))
    print(json.dumps([(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, str(outcome)]))

asyncio.run(main())
"""
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "samples": ("monte_carlo", {"samples": 500_000, "expression": MANY}),
    "numbers": ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": f"max({','.join([LONG] * 30)})"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", CALLS)
def test_a_call_takes_a_bounded_part_of_its_host(way: str) -> None:
    """As the system counts it, in a process of its own; unbounded, these take half a gigabyte and more."""
    tool, arguments = CALLS[way]
    command = [sys.executable, "-c", HOST, tool, json.dumps(arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    mib, told = json.loads(ran.stdout)
    assert "too many lists at once" in told
    assert mib < 300


@pytest.mark.parametrize(
    "expression",
    [
        "maximum({a}, {b})",
        "std({a}, ddof=sum({b}))",
        "array({a}) + sum({b})",
        "array({a}) < sum({b}) < len({a})",
        "array({a}) * 0 and sum({b})",
        "array({a}) * 0 or sum({b})",
        "array({a}) if array({b}) > 0 else sum({a})",
        "({a})[sum({b})]",
        "({a})[len({b}):]",
        "[len({b}) for i in {a}]",
        "[i for i in range(9) for j in {a} for k in {b}]",
        "[9**1291 + i for i in {a} if len({b})]",
    ],
)
async def test_what_waits_is_counted_wherever_it_waits(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from callgate.tools.maths.expressions import compiling  # noqa: PLC0415 - NumPy is an extra

    monkeypatch.setattr(compiling, "MOST_HELD", 10_000)
    lists = {"a": "[k for k in range(200)]", "b": "[k + 1 for k in range(150)]"}
    assert "too many lists at once" in await refusal("calculate", expression=expression.format(**lists))


async def test_what_is_done_is_not_counted_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    from callgate.tools.maths.expressions import compiling  # noqa: PLC0415 - NumPy is an extra

    monkeypatch.setattr(compiling, "MOST_HELD", 30_000)
    one = "sum([k for k in range(200)])"
    for expression in ("+".join([one] * 40), f"max({','.join([one] * 40)})", f"sum([{one} for i in range(100)])"):
        assert (await ask("calculate", expression=expression)).ok, expression
    for expression in ("len([j for i in range(300) for j in range(20) if j < 1])", "len(array([1, 2]) < 3 < 4) and 1"):
        assert (await ask("calculate", expression=expression)).ok, expression
    deep = "maximum(x, " * 30 + "x" + ")" * 30
    assert (await ask("monte_carlo", expression=deep, samples=2_000)).ok
