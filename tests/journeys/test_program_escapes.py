"""Ways out of a program, tried one by one; a file, a socket and an environment outside say that none succeeded."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from callgate.flows.program.sandbox import Session
from callgate.flows.program.steps import Step
from callgate.model.program import ProgramLimits, ProgramState
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import Town

SECRET = "the-word-outside"
LIMITS = ProgramLimits(seconds=0.5, memory_mb=32, recursion=100, calls=50)

READS = [
    "open(path).read()",
    "open(path, 'rb').read()",
    "from pathlib import Path\nPath(path).read_text()",
    "from pathlib import Path\n[str(each) for each in Path(folder).iterdir()]",
    "import os\nos.listdir(folder)",
    "import os\nos.environ['CALLGATE_TEST_WORD']",
    "import os\nos.getenv('CALLGATE_TEST_WORD')",
    "import os\nos.open(path, 0)",
    "import io\nio.open(path).read()",
    "import sys\nsys.modules['os']",
    "import sys\nsys.path",
    "import builtins\nbuiltins.open(path).read()",
    "__import__('os').environ['CALLGATE_TEST_WORD']",
    "import importlib\nimportlib.import_module('os')",
    "eval('open')(path).read()",
    "exec('x = open(path).read()')\nx",
    "compile('1', 'a', 'eval')",
    "().__class__.__base__.__subclasses__()",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "price.__globals__",
    "price.__wrapped__",
    "getattr(price, '__closure__')",
    "globals()['__builtins__']",
    "vars()['__builtins__']",
    "'{0.__class__.__init__.__globals__}'.format(price)",
    "[c for c in (1).__class__.__mro__[1].__subclasses__()]",
    "import ctypes\nctypes.CDLL(None)",
    "import subprocess\nsubprocess.run(['cat', path])",
    "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"true\"\\ntR.')",
    "import inspect\ninspect.currentframe()",
    "import gc\ngc.get_objects()",
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = e.__traceback__.tb_frame.f_back\nx",
    "class A:\n    def __del__(self):\n        open(path)\nA()\nopen(path).read()",
]
ACTS = [
    "open(path, 'w').write('changed')",
    "from pathlib import Path\nPath(path).write_text('changed')",
    "from pathlib import Path\nPath(path).unlink()",
    "import os\nos.remove(path)",
    "import os\nos.system('echo changed > ' + path)",
    "import os\nos.rename(path, path + '2')",
    "import os\nos.kill(1, 0)",
    "import shutil\nshutil.rmtree(folder)",
    "import socket\nsocket.create_connection(('127.0.0.1', port))",
    "import urllib.request\nurllib.request.urlopen(f'http://127.0.0.1:{port}/')",
    "import http.client\nhttp.client.HTTPConnection('127.0.0.1', port).request('GET', '/')",
    "import asyncio\nasyncio.open_connection('127.0.0.1', port)",
    "import threading\nthreading.Thread(target=print).start()",
    "import multiprocessing\nmultiprocessing.Process(target=print).start()",
    "import signal\nsignal.alarm(1)",
]
EXHAUSTS = [
    "while True:\n    pass",
    "x = [0] * 10**10",
    "x = 'a'\nwhile True:\n    x = x + x",
    "x = []\nwhile True:\n    x.append(x[:])",
    "def f(n):\n    return f(n + 1)\nf(0)",
    "f = lambda g: g(g)\nf(f)",
    "2 ** 10**10",
    "9 ** 9 ** 9",
    "'%1000000000d' % 1",
    "'{:1000000000}'.format(1)",
    "list(range(10**12))",
    "import re\nwhile True:\n    re.match('(a+)+$', 'a' * 40 + 'b')",
    "x = []\nwhile True:\n    x = [x]\n    str(x)",
    "try:\n    while True:\n        pass\nfinally:\n    while True:\n        pass",
    "while True:\n    try:\n        [0] * 10**10\n    except BaseException:\n        pass",
    "def f():\n    try:\n        f()\n    except BaseException:\n        f()\nf()",
    "class A:\n    def __eq__(self, o):\n        return self == o\nA() == A()",
    "sorted([2, 1] * 10**8)",
    "while True:\n    print('x' * 1000)",
    "while True:\n    price(1)",
]


@pytest.fixture(params=["checked", "unchecked"], autouse=True)
def unchecked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stubs stop most of them before they begin; without the check of types, the sandbox has to."""
    begin = Session.begin
    if request.param == "unchecked":

        async def anyway(session: Session, *, check: bool) -> Step:
            return await begin(session, check=False)

        monkeypatch.setattr(Session, "begin", anyway)


class Outside:
    """What a program must not reach."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "secret.txt"
        self.path.write_text(SECRET)
        self.visitors = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self._server.accept()
            except OSError:
                return
            self.visitors += 1
            visitor.close()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


async def run_all(sources: list[str], folder: Path) -> tuple[Outside, list[tuple[str, ProgramState, str]]]:
    outside, town = Outside(folder), Town()
    inputs = {"path": str(outside.path), "folder": str(folder), "port": outside.port}
    results: list[tuple[str, ProgramState, str]] = []
    try:
        async with gate_of(*town.tools, store="memory://") as gate:
            for source in sources:
                run = await gate.run_program(source, inputs=inputs, limits=LIMITS)
                results.append((source, run.state, f"{run.value} {run.printed} {run.error}"))
            alive = await gate.run_program("price(1)")
            assert alive.unwrap() == 10
    finally:
        outside.close()
    return outside, results


async def test_no_program_reads_what_is_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_TEST_WORD", SECRET)
    assert os.environ["CALLGATE_TEST_WORD"] == SECRET
    _, results = await run_all(READS, tmp_path)
    assert [source for source, _, said in results if SECRET in said] == []
    assert [source for source, state, _ in results if state is not ProgramState.FAILED] == []


async def test_no_program_changes_or_reaches_what_is_outside(tmp_path: Path) -> None:
    outside, results = await run_all(ACTS, tmp_path)
    assert outside.path.read_text() == SECRET
    left = [each.name for each in sorted(tmp_path.iterdir())]  # noqa: ASYNC240 - a look at an own folder
    assert left == ["secret.txt"]
    assert outside.visitors == 0
    assert [source for source, state, _ in results if state is not ProgramState.FAILED] == []


@pytest.mark.slow
async def test_no_program_takes_more_than_it_may(tmp_path: Path) -> None:
    _, results = await run_all(EXHAUSTS, tmp_path)
    assert [source for source, state, _ in results if state is not ProgramState.FAILED] == []
