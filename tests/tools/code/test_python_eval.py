"""python_eval: known answers, limits and bad input. TOOL-08."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.adapters import passing as passing_of
from callgate.model.levels import Category
from callgate.tools.code.evaluate import MODULES
from tests.needed import needs
from tests.tools.examples import run_examples

needs("pydantic_monty")
PAGE = (Path(__file__).parents[3] / "docs" / "builtin.md").read_text()


async def ask(expression: str, **variables: Any) -> Any:
    async with Callgate.open("memory://", builtin_tools=["python_eval"]) as gate:
        return await gate.call("python_eval", {"expression": expression, "variables": variables})


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sum(range(100))", 4950),
        ("[n * n for n in (1, 2, 3)]", [1, 4, 9]),
        ("{'a': (1, None), 2: True}", {"a": [1, None], "2": True}),
        ("def double(n):\n    return n * 2\ndouble(21)", 42),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("10**4000", "1" + "0" * 4000),
        ("[{3}, frozenset([4]), (5, -(2**63), 2**63)]", [[3], [4], [5, -(2**63), str(2**63)]]),
        ("{None: 1, True: 2, 2.5: 3}", {"None": 1, "True": 2, "2.5": 3}),
        ("import collections\ncollections.namedtuple('P', 'a b')(1, (2,))", [1, [2]]),
        ("type = str = len = None\n[1, 'a']", [1, "a"]),
        ("x = 1; x + 1  # one more", 2),
        ("x = [1]\nx.append(2)", None),
        ("if True:\n    5", None),
        ("print('said')", "said\n"),
        ("import math\nround(math.pi, 2)", 3.14),
        ("float('inf')", "inf"),
        ("None", None),
    ],
    ids=[
        "sum",
        "list",
        "mapping",
        "function",
        "large",
        "very-large",
        "sets",
        "odd-keys",
        "named-tuple",
        "renamed",
        "comment",
        "no-value",
        "no-last-value",
        "printed",
        "module",
        "infinite",
        "nothing",
    ],
)
async def test_python_gives_the_value_of_its_last_line(expression: str, value: Any) -> None:
    """TOOL-08: `sum(range(100))` is 4950."""
    assert (await ask(expression)).unwrap() == value


async def test_round_is_that_of_python() -> None:
    halves = [(number / 1000, 2) for number in range(5, 5000, 10)] + [(number / 20, 1) for number in range(-99, 99)]
    others = [(5e-324, 323), (1e308, 3), (1e22, 2), (-0.04, 1), (123.456, -1), (2.5, 0), (1234, -2), (2.5, None)]
    numbers = [*halves, *others]
    told = (await ask("[round(a, b) for a, b in numbers]", numbers=numbers)).unwrap()
    assert told == [round(a, b) for a, b in numbers]
    told = (await ask("[round(number=2.675, ndigits=2), *map(round, [0.5, 1.5]), str(round(-0.04, 1))]")).unwrap()
    assert told == [2.67, 0, 2, "-0.0"]
    assert (await ask("from decimal import Decimal\nstr(round(Decimal('2.675'), 2))")).unwrap() == "2.68"


ONCE = (
    "next(x for x in [1, 2, 3] if x > 1), next((x for x in []), None)",
    "g = (x * x for x in range(4))\nnext(g), sum(g), sum(g)",
    "m, z = map(str, [1, 2]), zip('ab', (1, 2), strict=True)\nlist(m), list(m), dict(z), dict(z)",
    "f, e, r = filter(None, [0, 1, 2]), enumerate('ab', start=1), reversed([1, 2])\nnext(f), next(e), next(r), list(e)",
    "it = (c for c in 'abcd')\nlist(zip(it, it))",
    "words = ['b', 'ä', \"(x for x in y)\"]; sorted(w for w in words), any( (w == 'ä') for w in words )",
    "def first(them):\n    return next(iter(them)), list(them)\nfirst(x for x in (y + 1 for y in (1, 2)))",
    "list(map(lambda a, b: a + b, [1, 2], [3, 4])), max(map(len, ['a', 'bc'])), [*enumerate('a')]",
    "f'{sum(n for n in [1, 2])}' + ''.join(c for c in 'ab'), f'{next(iter([n for n in [1]]))}'",
    "found = [1]\nfound += (n for n in (m for m in [2, 3]))\nfound",
    "found = ['ä']\nfound += zip('ö', (n for n in [1])); found += map(\n str, [1]); found += reversed([2])\nfound",
    "found = {0: []}\nfound[next(n for n in [0])] += enumerate('a')\nfound[0]",
    "def zip(a):\n    return a\nn = [1]\nn[0] += zip(2)\nn",
    "'äö', (lambda: (n for n in 'ä'))(), sum(n\n  for n in [1,\n 2])",
)


@pytest.mark.parametrize("code", ONCE)
async def test_what_python_gives_once_is_given_once(code: str) -> None:
    """What the interpreter gives is what Python itself gives for the same lines."""
    # Iterators are given as lists of what is left in them.
    assert (await ask(code)).unwrap() == json.loads(json.dumps(list(pythons_own(code)), default=list))


def pythons_own(code: str) -> Any:
    *lines, last = ast.parse(code).body
    assert isinstance(last, ast.Expr)
    names: dict[str, Any] = {}
    exec(compile(ast.Module(lines, []), "lines", "exec"), names)
    return eval(compile(ast.Expression(last.value), "last", "eval"), names)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("from collections import Counter\nCounter('aab')", {"a": 2, "b": 1}),
        ("from collections import defaultdict\nd = defaultdict(list)\nd['a'].append(1)\nd", {"a": [1]}),
        (
            "from collections import deque\n[deque([1]), range(2), (x for x in 'a'), zip('a', 'b')]",
            [[1], [0, 1], ["a"], [["a", "b"]]],
        ),
        ("d = {'a': 1}\n[d.keys(), d.values(), d.items()]", [["a"], [1], [["a", 1]]]),
    ],
    ids=["counter", "default", "others", "views"],
)
async def test_what_is_like_a_list_or_a_mapping_is_told_as_one(expression: str, value: Any) -> None:
    assert (await ask(expression)).unwrap() == value


@pytest.mark.parametrize(
    ("told_of", "code", "value", "pythons"),
    [
        ("`re.sub('a*', '-', 'baac')` is `-b-c-`", "import re\nre.sub('a*', '-', 'baac')", "-b-c-", "-b--c-"),
        ("`list({1: 'a', True: 'b'})` is `[True]`", "list({1: 'a', True: 'b'})", [True], [1]),
        ("`list({1: 0, 1.0: 0})` is `[1.0]`", "str(list({1: 0, 1.0: 0}))", "[1.0]", "[1]"),
        ("`hasattr('abc', 'upper')` is `False`", "hasattr('abc', 'upper')", False, True),
        ("its `__bool__` gives `False`", "class A:\n    def __bool__(self): return False\nbool(A())", True, False),
        ("its `__len__` 0", "class A:\n    def __len__(self): return 0\nbool(A())", True, False),
    ],
    ids=["empty-match", "true-as-a-key", "float-as-a-key", "hasattr", "bool", "len"],
)
async def test_a_known_difference_to_python_is_one_and_documented(
    told_of: str, code: str, value: Any, pythons: Any
) -> None:
    assert pythons_own(code) == pythons
    told = (await ask(code)).unwrap()
    assert (told, type(told)) == (value, type(value))
    assert told_of in PAGE


async def test_what_can_be_taken_once_only_is_told_so() -> None:
    assert "write list(…) around it" in str(await ask("len(zip('a', 'b'))"))


async def test_where_a_list_will_not_do_it_is_told_what_will() -> None:
    for each in ("(n for n in [1, 2])", "[1, 2]", "range(3)"):
        told = str(await ask(f"bytes({each})"))
        assert "list(…)" not in told
        assert "bytes.fromhex(''.join(f'{n:02x}' for n in …))" in told
    assert (await ask("bytes.fromhex(''.join(f'{n:02x}' for n in [1, 255]))[1]")).unwrap() == 255
    assert "write next(iter(…))" in str(await ask("f'{next(n for n in [1])}'"))
    assert (await ask("f'{next(iter(n for n in [1]))}'")).unwrap() == "1"


def _unread(_: str) -> None:
    """As `tree_of` where this Python cannot read the code."""


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("total = 0\nfor n in (1, 2):\n    total += n\ntotal", 3),
        ("found = [f(n) for n in {n for n in (1, 2)} for f in (str,)]\nfound", ["1", "2"]),
        ("x = {'k': '('}\ny = f\"{x['k']}\" # (n for\nfound = [n for n in y]\nfound", ["("]),
    ],
)
async def test_code_that_the_host_cannot_read_runs_where_it_has_no_generators(
    code: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing_of, "tree_of", _unread)
    assert (await ask(code)).unwrap() == value


@pytest.mark.parametrize(
    "code", ["g = (n for n in [1])\ng", "n = sum(\n n for n in [1])\nn", "n = [any(a for a in [1])]\nn"]
)
async def test_generators_that_the_host_cannot_read_are_refused_and_no_lists(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing_of, "tree_of", _unread)
    outcome = await ask(code)
    assert outcome.error.category is Category.USER_INPUT
    assert "the Python of this host cannot read all of it" in str(outcome)


async def test_variables_can_be_used_and_stay_what_they_were() -> None:
    """TOOL-08: injected variables are visible."""
    outcome = await ask("rows.append(len(name)); rows + [number]", rows=[1], name="Ann", number=2.5)
    assert outcome.unwrap() == [1, 3, 2.5]


@pytest.mark.parametrize(
    ("expression", "variables", "said"),
    [
        ("1 +", {}, "SyntaxError"),
        ("1 / 0", {}, "ZeroDivisionError"),
        ("nobody", {}, "NameError"),
        ("1", {"a b": 1}, "no name"),
        ("1", {"__builtins__": {}}, "no name"),
        ("1", {"_callgate_hand_over": 1}, "no name"),
        ("_callgate_border()", {}, "'NoneType' object is not callable"),
        ("[10**4000] * 1000", {}, "too large"),
        ("object()", {}, "expression"),
        ("{(1, 2): 3}", {}, "tuple as a key"),
        ("{1: 'a', '1': 'b'}", {}, "two keys that are '1'"),
        ("[{None: 1, 'None': 2}]", {}, "two keys that are 'None'"),
        ("10**5000", {}, "more than 4200 digits"),
        ("{10**5000: [-10**5000]}", {}, "more than 4200 digits"),
        ("_callgate_hand_over = lambda x: x\n1", {}, "another meaning"),
        ("'x' * 2_000_000", {}, "too large"),
        ("list(range(200_000))", {}, "too large"),
        ("x = []\nfor _ in range(60):\n    x = [x]\nx", {}, "too large"),
    ],
    ids=[
        "syntax",
        "raised",
        "unknown",
        "name",
        "dunder",
        "reserved",
        "gone",
        "digits-together",
        "object",
        "key",
        "same-key",
        "same-key-below",
        "digits",
        "digits-below",
        "ours",
        "text",
        "items",
        "depth",
    ],
)
async def test_what_cannot_be_answered_is_an_input_error(expression: str, variables: dict[str, Any], said: str) -> None:
    outcome = await ask(expression, **variables)
    assert not outcome.ok
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "2 ** (10 ** 10)",
        "'x' * 10 ** 10",
        "x = [0] * 1000\nwhile True:\n    x = x + x",
        "def f(n):\n    return f(n + 1)\nf(0)",
        pytest.param("while True:\n    print('x' * 10000)", marks=pytest.mark.slow),
        "1 << 10 ** 9",
    ],
    ids=["power", "large-power", "text", "doubling", "recursion", "printing", "shift"],
)
async def test_what_is_too_much_is_stopped(expression: str) -> None:
    """TOOL-08: unbounded powers are refused, and so are memory, depth and output without end."""
    outcome = await ask(expression)
    assert not outcome.ok
    assert outcome.error.category is Category.USER_INPUT


DEEP = "def deep(n):\n    return n and 1 + deep(n - 1)\n"


@pytest.mark.parametrize(
    ("within", "beyond", "said"),
    [
        (f"{DEEP}deep(195)", f"{DEEP}deep(205)", "RecursionError"),
        ("print('x' * 99_999)", "print('x' * 100_000)", "100001 bytes > 100000 bytes"),
        ("[0] * 99_999", "[0] * 100_000", "a value that is too large"),
    ],
    ids=["calls", "printed", "items"],
)
async def test_what_is_promised_is_had_and_no_more(within: str, beyond: str, said: str) -> None:
    assert (await ask(within)).ok
    outcome = await ask(beyond)
    assert outcome.error.category is Category.USER_INPUT
    assert said in outcome.error.message


@pytest.mark.slow
async def test_what_takes_too_long_is_stopped_and_its_interpreter_gone() -> None:
    before = _interpreters()
    outcome = await ask("while True:\n    pass")
    assert "more time" in str(outcome)
    assert _interpreters() == before


async def test_an_interpreter_ends_with_its_call() -> None:
    before = _interpreters()
    async with Callgate.open("memory://", builtin_tools=["python_eval"]) as gate:
        call = asyncio.ensure_future(gate.call("python_eval", {"expression": "while True: pass"}))
        async with asyncio.timeout(8):
            while _interpreters() == before:  # noqa: ASYNC110 - a thread starts it
                await asyncio.sleep(0.01)  # nobody tells of a process of another's
            call.cancel()
            await asyncio.wait({call})
            while _interpreters() != before:  # noqa: ASYNC110 - the thread lets it go
                await asyncio.sleep(0.01)  # nor of its end


def _interpreters() -> set[int]:
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == "monty":
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                found |= {int(entry.name)} if int(parent) == os.getpid() else set()
        except OSError:
            continue
    return found


async def test_one_call_leaves_nothing_for_the_next() -> None:
    await ask("kept = 1\nimport math\nmath.pi")
    assert "NameError" in str(await ask("kept"))


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["python_eval"]) as gate:
        await run_examples(gate, "python_eval")


async def test_the_modules_that_are_told_are_those_there_are() -> None:
    tried = ["found = []"]
    for name in sorted(name for name in sys.stdlib_module_names if not name.startswith("_")):
        tried += ["try:", f"    import {name}", f"    found.append('{name}')", "except ImportError:", "    pass"]
    assert (await ask("\n".join([*tried, "found"]))).unwrap() == list(MODULES)


@pytest.mark.parametrize(
    ("expression", "advice"),
    [("import statistics", "there are asyncio, base64"), ("open('/etc/passwd').read()", "there are no files here")],
)
async def test_what_there_is_not_is_told_with_what_to_do(expression: str, advice: str) -> None:
    outcome = await ask(expression)
    assert advice in outcome.error.message
