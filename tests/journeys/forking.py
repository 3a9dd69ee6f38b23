"""A process of its own that forks while its gates are open; what the child is told stands on standard output."""

import asyncio
import os
import sys
from collections.abc import Callable

from callgate import Callgate, tool
from callgate.model.levels import Autonomy
from callgate.runtime.blocking import BlockingCallgate
from callgate.settings.values import Settings

FREE = Settings(autonomy=Autonomy.A4)


@tool(effects="system_state", risk="low")
async def change() -> str:
    """Change something."""
    return "changed"


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def tell(name: str, use: Callable[[], object]) -> None:
    """Say what came of it."""
    try:
        say(f"{name}: {use()}")
    except Exception as error:  # noqa: BLE001 - it is told
        say(f"{name}: {type(error).__name__}: {error}")


def in_child(blocking: BlockingCallgate, gate: Callgate) -> None:
    """Use what was inherited, and let it go."""
    tell("blocking", lambda: blocking.call("change", {}))
    tell("async", lambda: asyncio.run(gate.call("change", {})))
    tell("closed", blocking.close)
    os._exit(0)


async def open_gate(store: str) -> Callgate:
    gate = Callgate.open(store, config=FREE)
    gate.add(change)
    return await gate.__aenter__()


def main(store: str) -> None:
    with Callgate.open_sync(store, config=FREE) as blocking, asyncio.Runner() as runner:
        blocking.add(change)
        gate = runner.run(open_gate(store))
        child = os.fork()
        if not child:
            in_child(blocking, gate)
        os.waitpid(child, 0)
        say(f"parent: {blocking.call('change', {}).status}")
        runner.run(gate.close())


if __name__ == "__main__":
    main(sys.argv[1])
