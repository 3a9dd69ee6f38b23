"""The other processes of the demo: one pays and does not live to hear the answer, two have a program between them."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from callgate.cli.demo.shop import PAYMENT, PROGRAM, PROGRAM_ID, Shop, free_agent, make_tools
from callgate.runtime.gate import Callgate


async def play(part: str, folder: Path, store: str) -> None:  # noqa: PLR0917 - the words on its command line
    """Play one part through a gate of this process's own, and print what came of it."""
    async with Callgate.open(store, working_directory=folder) as gate:
        gate.add(*make_tools(Shop(folder)))
        if part == "pay":
            await gate.call("pay", PAYMENT, free_agent())
        elif part == "run":
            _say((await gate.run_program(PROGRAM, program_id=PROGRAM_ID)).to_json())
        else:
            _say((await gate.resume_program(PROGRAM_ID)).to_json())


def _say(said: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
