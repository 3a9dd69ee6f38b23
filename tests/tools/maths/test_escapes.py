"""Ways out of the language of expressions: none leads anywhere. TOOL-08.

Witnesses outside: a file that would be made, a variable of the environment that would be read or set, what the
interpreter itself tells of code run, files opened, modules imported and programs started, and how much memory it took.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.maths.expressions.reading import read
from callgate.tools.maths.expressions.symbols import symbolic

CANARY = "CALLGATE_TEST_CANARY"
VALUE = "canary-5b1f"
_TOLD = (
    "builtins.breakpoint",
    "builtins.input",
    "code.",
    "ctypes.",
    "exec",
    "import",
    "marshal.",
    "open",
    "os.",
    "pickle.",
    "shutil.",
    "socket.",
    "subprocess.",
)
"""Whatever leads out of a process or runs code begins with one of these."""
_events: list[tuple[str, str]] = []
_listening = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _listening and event.startswith(_TOLD):
        _events.append((event, repr(arguments)[:200]))


sys.addaudithook(_hook)


@pytest.fixture
def witness(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """Everything the interpreter did that it tells of, from now on."""
    global _listening  # noqa: PLW0603 - a hook cannot be taken away again
    monkeypatch.setenv(CANARY, VALUE)
    yield _events
    _listening = False


def listen() -> None:
    global _listening  # noqa: PLW0603 - as above
    _events.clear()
    _listening = True


def hear() -> list[tuple[str, str]]:
    """What happened since."""
    global _listening  # noqa: PLW0603 - as above
    _listening = False
    return list(_events)


ESCAPES: dict[str, str] = {
    "subclasses": "().__class__.__base__.__subclasses__()",
    "class-of-number": "(1).__class__",
    "class-of-float": "1.0.__class__.__mro__",
    "function-globals": "sin.__globals__",
    "function-call-globals": "np.sin.__self__",
    "numpy-loader": "np.__loader__.load_module(np)",
    "numpy-builtins": "np.__builtins__",
    "numpy-os": "np.os.system(1)",
    "numpy-fromfile": "np.fromfile(1)",
    "numpy-load": "np.load(1)",
    "numpy-ctypes": "np.ctypeslib.load_library(1)",
    "numpy-nested-module": "np.linalg.linalg.sys.modules",
    "numpy-alone": "np",
    "math-module-walk": "math.__spec__.loader",
    "import-call": "__import__('os').system('touch {file}')",
    "import-without-quotes": "__import__(os)",
    "import-statement": "import os",
    "builtins-name": "__builtins__",
    "open": "open('{file}', 'w')",
    "open-a-number": "open(1)",
    "eval": "eval('1')",
    "exec": "exec('import os')",
    "compile": "compile(1, 2, 3)",
    "getattr": "getattr(np, 'os')",
    "getattr-names": "getattr(np, os)",
    "globals": "globals()",
    "environment": "os.environ['CALLGATE_TEST_CANARY']",
    "environment-by-numpy": "np.os.environ",
    "breakpoint": "breakpoint()",
    "input": "input()",
    "string": "'a'",
    "bytes": "b'a'",
    "format-string": "'{{0.__class__}}'.format(1)",
    "percent-format": "'%s' % 1",
    "f-string": "f'{{1}}'",
    "f-string-call": "f'{{__import__(\"os\").environ}}'",
    "lambda": "(lambda: 1)()",
    "lambda-recursion": "(lambda f: f(f))(lambda f: f(f))",
    "walrus": "(y := 1) + y",
    "walrus-over-a-function": "[sin := abs, sin(1)][1]",
    "loop-over-a-function": "[abs(1) for abs in [sin]]",
    "loop-over-a-prefix": "[np.sin(1) for np in [1]]",
    "dunder-loop": "[__class__ for __class__ in [1]]",
    "attribute-target": "[1 for np.x in [1]]",
    "subscript-target": "[1 for a[0] in [1]]",
    "async-loop": "[k async for k in [1]]",
    "await": "(await 1)",
    "yield": "(yield 1)",
    "star-call": "sum(*[[1]])",
    "double-star-call": "sum(**[1])",
    "dict": "{{1: 2}}",
    "set": "{{1, 2}}",
    "dict-comprehension": "{{k: k for k in [1]}}",
    "assignment": "a = 1",
    "two-statements": "1; 2",
    "new-line-statement": "1\nimport os",
    "comment": "1 # 2",
    "backslash": "1 + \\\n 2",
    "decorator": "@sin",
    "matrix-operator": "sin @ cos",
    "calling-a-call": "sin(1)(2)",
    "calling-a-list": "[sin][0](1)",
    "method-of-a-list": "[1].append(2)",
    "method-of-an-array": "np.array([1]).tofile(2)",
    "method-of-a-number": "(1).to_bytes(1)",
    "look-alike-letters": "\u0455\u0456n(1)",
    "full-width-letters": "\uff4f\uff50\uff45\uff4e(1)",
    "look-alike-dunder": "().\uff3f\uff3fclass\uff3f\uff3f",
    "mathematical-letters": "\U0001d4c8\U0001d4be\U0001d4c3(1)",
    "hidden-character": "si\u200bn(1)",
    "right-to-left": "1 + \u202e2",
    "null": "1\x002",
    "surrogate-like-escape": "\\u006f\\u0070en(1)",
    "ellipsis": "...",
    "none": "None",
    "complex": "1j",
}

BOMBS: dict[str, str] = {
    "tower": "9**9**9**9",
    "large-power": "9**(10**9)",
    "power-by-function": "pow(9, 10**9)",
    "power-in-a-loop": "sum(7**(k*1000) for k in range(100000))",
    "squaring": "[10**300 * 10**300 * 10**300 * 10**300 * 10**300]",
    "large-factorial": "factorial(10**9)",
    "large-binomial": "comb(10**9, 5*10**8)",
    "large-permutation": "perm(10**9, 10**8)",
    "long-range": "range(10**10)",
    "endless-range": "range(10**40)",
    "long-array": "np.zeros(10**10)",
    "long-linspace": "np.linspace(0, 1, 10**12)",
    "long-arange": "np.arange(-1e300, 1e300, 1e-300)",
    "long-repetition": "[0] * 10**9",
    "loops-in-loops": "[i for i in range(100000) for j in range(100000) for k in range(100000)]",
    "four-loops": "[1 for a in [1] for b in [1] for c in [1] for d in [1]]",
    "lists-in-a-loop": "sum(sum(range(100000)) for k in range(100000))",
    "arrays-in-a-loop": "sum(sum(zeros(100000)) for k in range(100000))",
    "nested-comprehensions": "sum([sum([sum([1 for a in range(9999)]) for b in range(9999)]) for c in range(9999)])",
    "many-brackets": "(" * 1000 + "1" + ")" * 1000,
    "many-lists": "[" * 200 + "]" * 200,
    "many-signs": "-" * 3999 + "1",
    "many-nots": "not " * 990 + "1",
    "many-powers": "1**" * 1300 + "1",
    "many-calls": "abs(" * 300 + "1" + ")" * 300,
    "many-terms": "+".join("1" * 1500),
    "long-text": "1" + "+1" * 5000,
    "long-number": "9" * 3900,
    "round-digits": "round(1.5, 10**15)",
}
IN_PROCESS: dict[str, dict[str, Any]] = {
    "calculate": {"expression": ""},
    "monte_carlo": {"expression": ""},
    "mcmc": {"log_density": "", "x0": [1], "n_samples": 2, "burnin": 0},
    "bayesopt": {"bounds": [[0, 1]], "objective": "", "n_iter": 1},
    "solve_ode": {"y0": [1], "t_span": [0, 1], "system": ""},
    "optimize": {"x0": [1], "objective": {"expression": ""}, "max_iter": 2},
}


_cold = list(IN_PROCESS)


def filled(body: Any, text: str) -> Any:
    if isinstance(body, dict):
        return {key: filled(value, text) for key, value in cast("dict[str, Any]", body).items()}
    return text if body == "" else body


async def warm_up(gate: Callgate) -> None:
    """Have the libraries imported, once: what is heard afterwards is the text's doing."""
    while _cold:
        assert (await attempt(gate, _cold[-1], "1")).ok
        _cold.pop()


async def attempt(gate: Callgate, name: str, text: str) -> Any:
    return await gate.call(name, filled(IN_PROCESS[name], text))


@pytest.mark.parametrize("way", ESCAPES)
async def test_no_way_out_leads_anywhere(way: str, tmp_path: Path, witness: list[tuple[str, str]]) -> None:
    """TOOL-08: attribute walks to object subclasses and imports are refused, in every tool that takes a formula."""
    file = tmp_path / "made"
    text = ESCAPES[way].format(file=file)
    environment = dict(os.environ)
    async with Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        await warm_up(gate)
        listen()
        outcomes = [await attempt(gate, name, text) for name in IN_PROCESS]
        heard = hear()
    assert heard == []
    assert not file.exists()
    assert dict(os.environ) == environment
    for outcome in outcomes:
        assert not outcome.ok
        assert outcome.error.category is Category.USER_INPUT, outcome
        assert VALUE not in str(outcome)


@pytest.mark.parametrize("way", ESCAPES)
def test_no_way_out_leads_anywhere_in_symbols(way: str, tmp_path: Path, witness: list[tuple[str, str]]) -> None:
    file = tmp_path / "made"
    symbolic(read("x + 1", None), argument="equation")  # SymPy is imported by now
    listen()
    with pytest.raises(ValueError, match="equation"):
        symbolic(read(ESCAPES[way].format(file=file), None, argument="equation"), argument="equation")
    assert hear() == []
    assert not file.exists()


@pytest.mark.parametrize("bomb", BOMBS)
async def test_what_would_grow_without_end_is_refused_small(bomb: str) -> None:
    """TOOL-08: unbounded powers, lists, loops and nesting are refused before they take memory."""
    async with Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        await attempt(gate, "calculate", "1")
        tracemalloc.start()
        try:
            outcome = await attempt(gate, "calculate", BOMBS[bomb])
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert not outcome.ok
    assert outcome.error.category is Category.USER_INPUT, outcome
    assert most < 64 * 1024**2


def test_the_witness_hears_what_happens(tmp_path: Path, witness: list[tuple[str, str]]) -> None:
    """The hook above is no deaf one."""
    listen()
    (tmp_path / "made").write_text("x")
    exec(compile("1", "somewhere", "eval"))  # this is what is listened for
    assert {"open", "exec"} <= {event for event, _ in hear()}
