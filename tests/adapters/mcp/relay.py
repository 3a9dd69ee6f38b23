"""Between a gate and a server over stdio: notes calls on their way, and keeps answers back while a file says so."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

FOLDER = Path(sys.argv[1])
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert server.stdout is not None
called: set[int] = set()


def witness(name: str, text: str) -> None:
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


def forward() -> None:
    assert server.stdin is not None
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            called.add(message["id"])
            witness("calls", message["params"]["name"])
        server.stdin.write(line)
        server.stdin.flush()
    server.stdin.close()


witness("starts", str(server.pid))
threading.Thread(target=forward, daemon=True).start()
for line in server.stdout:
    message = json.loads(line)
    if message.get("id") in called and "method" not in message and (FOLDER / "hold").exists():
        witness("held", str(message["id"]))
    else:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
# The thread may wait for a line for ever.
os._exit(server.wait())
