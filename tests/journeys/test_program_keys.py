"""Values that would take a host years to hash: none is built, whichever way a program hands it over."""

from __future__ import annotations

import subprocess
import sys

import pytest

HOST = """
import asyncio, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
from callgate import tool
from callgate.model.levels import Assurance
from callgate.testing import memory_gate

@tool(effects="read_only")
async def eat(x: object, y: object = None) -> int:
    '''Eat.'''
    if (x, y) != (1, None):
        print("eaten", x, y, flush=True)
    return 1

@tool(effects="network_access", risk="high", allowed_callers={"direct", "chain"})
async def pay(amount: int) -> int:
    '''Pay.'''
    return amount

async def main():
    async with memory_gate(eat, pay) as gate:
        for source in sys.stdin.read().split("---\\n"):
            run = await gate.run_program(source)
            if run.waiting:
                await gate.approve(run.waiting[0].approval_id, by="ann", assurance=Assurance.LOCAL)
                run = await gate.resume_program(run.id)
            alive = await gate.call("pay", {"amount": "no"})
            told = run.error.message.strip().splitlines()[-1] if run.error else run.value
            print(alive.status, run.state.value, run.error.kind if run.error else "", told, sep="|", flush=True)

asyncio.run(main())
"""
"""A host of its own whose work is bounded: what goes on for longer ends it, and not the tests."""
DOUBLED = "t = ()\nfor i in range(60):\n    t = (t, t)\n"
NAMED = (
    "import collections\nP = collections.namedtuple('P', 'a b')\nt = P(1, 2)\nfor i in range(60):\n    t = P(t, t)\n"
)
HOSTILE = {
    "key": (DOUBLED + "v = {t: 1}\n", "a key is tuple, not text"),
    "set": (DOUBLED + "v = {t}\n", "set is not JSON"),
    "frozen set": (DOUBLED + "v = frozenset([t])\n", "frozenset is not JSON"),
    "key of a key": (DOUBLED + "v = {(1, frozenset([t])): 1}\n", "a key is tuple, not text"),
    "named tuple": (NAMED + "v = {t: 1}\n", "a key is P, not text"),
    "below": (DOUBLED + "v = {'a': [1, {'b': {t: 1}}]}\n", "a key is tuple, not text"),
    "instance": (
        DOUBLED + "class P:\n    def __init__(self, x: object):\n        self.x = x\nv = P({t: 1})\n",
        "P is not JSON",
    ),
    # All of these have one hash in Python, so that each is compared to all before it.
    "one hash": ("v = {i * (2**61 - 1): 0 for i in range(60_000)}\n", "a key is int, not text"),
}
VALUES = ["v", "[v]", "await pay(1)\nv", "for i in range(80):\n    await eat(1)\nv"]
CALLS = [
    "await eat(v)",
    "await eat(x=v)",
    "await eat(1, y=[v])",
    "eat(v)",
    "f = eat(v)\nawait f",
    "import asyncio\nawait asyncio.gather(eat(v), pay(1))",
    "f = eat\nawait f(v)",
    "await eat(*[v])",
    "await eat(**{'x': v})",
    "await pay(1)\nawait eat(v)",
    # Names of the sandbox with another meaning: what is ours keeps the one it has.
    "json = None\ntype = str = len = isinstance = lambda *x: 1\nawait eat(v)",
    "for i in range(80):\n    await eat(1)\nawait eat(v)",
]
PAST = [
    "eval('ea' + 't(v)')",
    "await eval('ea' + 't')(v)",
    "eval('_callgate_' + 'hand_over')(v)",
]
AGAIN = (
    "border, functions = eval('_callgate_' + 'border'), eval('_callgate_' + 'functions')\n"
    "at_once, later, handing = border({dumps}, {type}, isinstance, len, range, str, int, float, bool, list, tuple,"
    " dict, TypeError)\n"
)
LYING = {
    "a call with a value": AGAIN.format(dumps="str", type="lambda x: int") + "await later(functions['eat'])({t: 1})\n",
    "a call with a text": AGAIN.format(dumps="lambda x, **y: {t: 1}", type="type")
    + "await later(functions['eat'])([1])\n",
    **{
        what: AGAIN.format(dumps=f"lambda x, **y: {said}", type="type")
        + "_callgate_hand_over = handing(functions['_callgate_hand_over'], 9)\n1\n"
        for what, said in {
            "a key": "{t: 1}",
            "a number": "'5'",
            "much": "'{\"value\": \"' + 'x' * 30000000 + '\"}'",
        }.items()
    },
}


def _told(sources: list[str]) -> list[str]:
    host = subprocess.run(
        [sys.executable, "-c", HOST],
        input="---\n".join(sources),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    lines = host.stdout.splitlines()
    assert len(lines) == len(sources), (host.returncode, lines, host.stderr)
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("what", sorted(HOSTILE))
def test_no_value_that_cannot_be_hashed_in_time_comes_out_of_a_program(what: str) -> None:
    begin, fault = HOSTILE[what]
    told = _told([begin + way for way in [*VALUES, *CALLS, *PAST]])
    values, calls, past = told[: len(VALUES)], told[len(VALUES) : -len(PAST)], told[-len(PAST) :]
    assert values == [f"refused|failed|value|its value is no JSON: {fault}"] * len(VALUES)
    assert calls == [f"refused|failed|raised|ValueError: eat cannot be called with this: {fault}"] * len(CALLS)
    by_name = "cannot be called with this: a function is called by its name, as it is written in the program"
    assert past[:2] == [f"refused|failed|raised|ValueError: eat {by_name}"] * 2
    assert past[2] == "refused|failed|raised|NameError: there is no function _callgate_hand_over for this program"


@pytest.mark.slow
def test_what_a_program_asks_of_the_machine_is_not_looked_at() -> None:
    asks = ["import os\nos.getenv('HOME', {t: 1})", "import os\nos.getenv('HOME', {t})", "eval('input')", "input({t})"]
    *told, unknown, typed = _told([DOUBLED + ask for ask in asks])
    assert (
        told
        == ["refused|failed|raised|PermissionError: a program has no os.getenv: no files, no network, no environment"]
        * 2
    )
    assert "NameError: name 'input' is not defined" in unknown
    assert "input" in typed
    slept = "import asyncio\nawait asyncio.sleep(0, {t: 1})\nimport asyncio\nawait asyncio.sleep(0, result={t})\n1"
    assert _told([DOUBLED + slept]) == ["refused|finished||1"]


@pytest.mark.slow
def test_what_a_program_prints_or_raises_is_written_within_its_own_bounds() -> None:
    ways = ["print({t: 1})", "raise ValueError(str({t: 1}))", "assert False, {t: 1}", "{}[t]", "raise KeyError(t)"]
    for line in _told([DOUBLED + way for way in ways]):
        assert line.startswith("refused|failed|")


@pytest.mark.slow
def test_a_program_cannot_make_what_is_ours_anew_with_functions_of_its_own() -> None:
    """It would make our calls with its values: a host that hashes for years, or reads what nobody measured."""
    told = _told([DOUBLED + LYING[what] for what in sorted(LYING)])
    assert told == ["refused|failed|raised|TypeError: 'NoneType' object is not callable"] * len(LYING)
    [named] = _told(["_callgate_later(1)\n_callgate_at_once(1)\nawait eat([1])\n"])
    assert named.startswith("refused|failed|types|")


@pytest.mark.slow
def test_nothing_that_is_ours_has_a_name_in_a_program() -> None:
    names = "await eat(1)\n[name for name, value in locals().items() if '_call' in name and value is not None]"
    assert _told([names]) == ["refused|finished||['_callgate_hand_over']"]


@pytest.mark.slow
def test_a_program_that_takes_what_is_ours_harms_its_own_value_only() -> None:
    told = _told(
        [
            "_callgate_hand_over = lambda x: {x: 1}\n5",
            "def _callgate_hand_over(x):\n    return eat(x)\n{(1,): 2}",
            "_callgate_functions = _callgate_at_once = _callgate_later = _callgate_json = None\nawait pay([1][0])",
        ]
    )
    lost = "the program gave another meaning to a name that its value is read by"
    assert told[:2] == [f"refused|failed|value|its value is no JSON: {lost}"] * 2
    assert told[2] == "refused|finished||1"
