"""Ways out of an interpreter of Python, each an expression or several lines.

They find `MARK`, a file that must not come to be, `SECRET`, one that must not be read, `FOLDER`, whose one file is
called as the secret says, and `given`, a mapping. PORT and PARENT stand for a port of this machine, and for a process
that has the secret in its environment.
"""

from __future__ import annotations

_CLASSES = "().__class__.__bases__[0].__subclasses__()"


def _named(name: str) -> str:
    return f"[c for c in {_CLASSES} if c.__name__ == '{name}'][0]"


WAYS: dict[str, str] = {
    # what classes know of each other
    "subclasses": f"{_named('_wrap_close')}.__init__.__globals__['system']('touch ' + MARK)",
    "subclass-popen": f"{_named('Popen')}(['touch', MARK])",
    "loader": f"b = {_named('BuiltinImporter')}\nm = b.create_module(b.find_spec('posix'))\n"
    "b.exec_module(m)\nm.system('touch ' + MARK)",
    "variable-methods": "[c for c in given.__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    ".__init__.__globals__['system']('touch ' + MARK)",
    "method-resolution": "[c for c in type(given).mro()[-1].__subclasses__() if c.__name__ == '_wrap_close'][0]"
    ".__init__.__globals__['system']('touch ' + MARK)",
    "format": f"'{{0.__init__.__globals__[environ]}}'.format({_named('_wrap_close')})",
    # modules
    "import-system": "import os\nos.system('touch ' + MARK)",
    "import-subprocess": "import subprocess\nsubprocess.run(['touch', MARK])",
    "import-by-name": "__import__('os').system('touch ' + MARK)",
    "importlib": "import importlib\nimportlib.import_module('os').system('touch ' + MARK)",
    "modules": "import sys\nsys.modules['os'].system('touch ' + MARK)",
    "ctypes": "import ctypes\nctypes.CDLL(None).system(b'touch ' + MARK.encode())",
    "pickle": "import pickle\npickle.loads(('cos\\nsystem\\n(S\"touch ' + MARK + '\"\\ntR.').encode())",
    "spawn": "import os\nos.posix_spawn('/bin/sh', ['sh', '-c', 'touch ' + MARK], os.environ)",
    "replaced-process": "import os\nos.execv('/bin/sh', ['sh', '-c', 'touch ' + MARK])",
    "database": "import sqlite3\nsqlite3.connect(MARK).execute('create table t (a)')",
    "copy": "import shutil\nshutil.copy(SECRET, MARK)",
    # built-ins
    "builtins": "__builtins__['open'](MARK, 'w')",
    "builtins-module": "import builtins\nbuiltins.open(MARK, 'w')",
    "eval": "eval(\"__import__('os').system('touch ' + MARK)\")",
    "exec": "exec(\"import os; os.system('touch ' + MARK)\")",
    "compile": "exec(compile(\"import os; os.system('touch ' + MARK)\", 'x', 'exec'))",
    "globals": "(lambda: 0).__globals__['__builtins__']['open'](MARK, 'w')",
    "code": "f = lambda: 0\nf.__code__ = compile(\"open(MARK, 'w')\", 'x', 'eval')\nf()",
    # frames
    "frames": "import sys\nsys._getframe().f_builtins['open'](MARK, 'w')",
    "traceback": "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_builtins['open'](MARK, 'w')",
    "generator": "g = (x for x in [1])\ng.gi_frame.f_builtins['open'](MARK, 'w')",
    # files
    "open-write": "open(MARK, 'w').write('x')",
    "open-read": "open(SECRET).read()",
    "path-write": "from pathlib import Path\nPath(MARK).write_text('x')",
    "path-read": "from pathlib import Path\nPath(SECRET).read_text()",
    "climbing": "open('../../../../../../../../../../../..' + SECRET).read()",
    "list": "import os\nstr(os.listdir(FOLDER))",
    "path-list": "from pathlib import Path\nstr(list(Path(FOLDER).iterdir()))",
    # what a parent has
    "environment": "import os\nos.environ['CALLGATE_TEST_SECRET']",
    "environment-by-call": "import os\nos.getenv('CALLGATE_TEST_SECRET')",
    "environment-by-file": "open('/proc/self/environ').read()",
    "parents-environment": "open('/proc/PARENT/environ').read()",
    "kill": "import os\nos.kill(PARENT, 9)",
    "fork": "import os\nos.fork() or open(MARK, 'w')",
    # sockets
    "socket": "import socket\nsocket.create_connection(('127.0.0.1', PORT))",
    "urllib": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:PORT/', timeout=1)",
    "asyncio": "import asyncio\nawait asyncio.open_connection('127.0.0.1', PORT)",
}
"""Each of them works in a Python that nobody confines."""

WAYS_OF_MONTY: dict[str, str] = {
    "host-function": "canary()",
    "host-function-by-name": "globals()['canary']()",
    "host-function-of-ours": "_callgate_function(open)",
}
"""They ask the one who runs the interpreter, and only mean something where there is such a one."""
