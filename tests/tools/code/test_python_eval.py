"""python_eval: known answers, limits, bad input, and every way out that we know, with a witness outside. TOOL-08."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from tests.tools.examples import run_examples

pytest.importorskip("pydantic_monty")


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


@pytest.mark.slow
async def test_what_takes_too_long_is_stopped_and_its_interpreter_gone() -> None:
    before = _interpreters()
    outcome = await ask("while True:\n    pass")
    assert "more time" in str(outcome)
    assert _interpreters() == before


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


SUBCLASSES = "().__class__.__bases__[0].__subclasses__()"
WAYS = {
    "subclasses": f"str({SUBCLASSES}) and canary()",
    "subclass-popen": f"[c for c in {SUBCLASSES} if c.__name__ == 'Popen'][0](['touch', MARK])",
    "loader": f"[c for c in {SUBCLASSES} if 'Loader' in c.__name__][0]().load_module('os').system('touch ' + MARK)",
    "import-system": "import os\nos.system('touch ' + MARK)",
    "import-subprocess": "import subprocess\nsubprocess.run(['touch', MARK])",
    "import-by-name": "__import__('os').system('touch ' + MARK)",
    "importlib": "import importlib\nimportlib.import_module('os').system('touch ' + MARK)",
    "builtins": "__builtins__['open'](MARK, 'w')",
    "builtins-module": "import builtins\nbuiltins.open(MARK, 'w')",
    "open-write": "open(MARK, 'w').write('x')",
    "open-read": "open(SECRET).read()",
    "path-write": "from pathlib import Path\nPath(MARK).write_text('x')",
    "path-read": "from pathlib import Path\nPath(SECRET).read_text()",
    "climbing": "open('../../../../../../../../..' + SECRET).read()",
    "list": "import os\nstr(os.listdir('/'))",
    "environment": "import os\nos.environ['CALLGATE_TEST_SECRET']",
    "environment-by-call": "import os\nos.getenv('CALLGATE_TEST_SECRET')",
    "environment-by-file": "open('/proc/self/environ').read()",
    "parents-environment": "open('/proc/PARENT/environ').read()",
    "socket": "import socket\nsocket.create_connection(('127.0.0.1', PORT))",
    "urllib": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:PORT/')",
    "asyncio": "import asyncio\nawait asyncio.open_connection('127.0.0.1', PORT)",
    "eval": "eval(\"__import__('os').system('touch ' + MARK)\")",
    "exec": "exec(\"import os; os.system('touch ' + MARK)\")",
    "compile": "exec(compile(\"import os; os.system('touch ' + MARK)\", 'x', 'exec'))",
    "globals": "(lambda: 0).__globals__['__builtins__']['open'](MARK, 'w')",
    "code": "(lambda: 0).__code__.replace(co_code=b'') and open(MARK, 'w')",
    "frames": "import sys\nsys._getframe(1).f_globals['os'].system('touch ' + MARK)",
    "modules": "import sys\nsys.modules['os'].system('touch ' + MARK)",
    "traceback": "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_globals['open'](MARK, 'w')",
    "generator": "g = (x for x in [1])\ng.gi_frame.f_back.f_builtins['open'](MARK, 'w')",
    "format": "'{0.__class__.__init__.__globals__}'.format(lambda: 0) and open(MARK, 'w')",
    "ctypes": "import ctypes\nctypes.CDLL(None).system(b'touch ' + MARK.encode())",
    "pickle": "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'touch MARK'\\ntR.\")",
    "kill": "import os\nos.kill(PARENT, 9)",
    "fork": "import os\nos.fork() or open(MARK, 'w')",
    "host-function": "canary()",
    "variable-methods": "given.__class__.__init__.__globals__['os'].system('touch ' + MARK)",
}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.mark.parametrize("way", WAYS)
async def test_no_way_leads_out(
    way: str, tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TOOL-08: no attribute walk, import or built-in leads to a file, a process, a socket or the environment."""
    canary, mark, secret = secrets.token_hex(12), tmp_path / "mark", tmp_path / "secret"
    secret.write_text(canary)
    monkeypatch.setenv("CALLGATE_TEST_SECRET", canary)
    names = {"MARK": str(mark), "SECRET": str(secret), "given": {"a": [1]}}
    code = WAYS[way].replace("PORT", str(listener.getsockname()[1])).replace("PARENT", str(os.getpid()))
    outcome = await ask(code, **names)
    assert canary not in f"{outcome} {outcome.unwrap() if outcome.ok else ''}"
    assert not mark.exists()
    with pytest.raises(BlockingIOError):
        listener.accept()


async def test_one_call_leaves_nothing_for_the_next() -> None:
    await ask("kept = 1\nimport math\nmath.pi")
    assert "NameError" in str(await ask("kept"))


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["python_eval"]) as gate:
        await run_examples(gate, "python_eval")
