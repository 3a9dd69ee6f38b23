"""What crash tests call: tools whose effects are counted outside the store, one fixed line each.

A line is written with one system call and never crosses a page, so that a killed process leaves it whole or not at all.
It is not synced: only processes die here, the machine does not.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections import defaultdict
from pathlib import Path

from callgate import Context, NoEffect, ToolContext, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import ApprovalSettings, Settings

FREE = Settings(autonomy=Autonomy.A4, approvals=ApprovalSettings(pending_per_session=100_000))
"""Nobody is asked, except where a call's own context says so."""
_LINE = 64
_log = -1


def log_effects_to(path: Path) -> None:
    """From now on, effects of this process are counted there."""
    global _log  # noqa: PLW0603 - handlers are plain functions and find it here
    _log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def happen(number: int) -> str:
    """Take effect, and say under which token."""
    token = uuid.uuid4().hex
    os.write(_log, f"{number} {token}".ljust(_LINE - 1).encode() + b"\n")
    return token


def effects_in(path: Path) -> dict[int, list[str]]:
    """The tokens of every effect that happened, by number."""
    found: dict[int, list[str]] = defaultdict(list)
    if path.exists():
        for line in path.read_text().splitlines():
            number, token = line.split()
            found[int(number)].append(token)
    return found


@tool(effects="network_access", risk="medium")
async def pay(n: int) -> dict[str, str]:
    """Pay."""
    await asyncio.sleep(0)
    token = happen(n)
    await asyncio.sleep(0)
    return {"token": token}


@tool(effects="network_access", risk="medium")
async def pay_asked(n: int) -> dict[str, str]:
    """Pay, after a person said yes."""
    await asyncio.sleep(0)
    token = happen(n)
    await asyncio.sleep(0)
    return {"token": token}


@tool(effects="network_access", risk="medium")
async def pay_slowly(n: int) -> dict[str, str]:
    """Pay, and take so long that there is always somebody on the way."""
    await asyncio.sleep(0.002 * (n % 5))
    token = happen(n)
    await asyncio.sleep(0.002 * (n % 3))
    return {"token": token}


@tool(effects="network_access", risk="medium", marks_effect=True)
async def pay_marked(n: int, ctx: ToolContext) -> dict[str, str]:
    """Pay behind a mark."""
    await asyncio.sleep(0.001)
    async with ctx.effect():
        token = happen(n)
        await asyncio.sleep(0.001)
    return {"token": token}


@tool(effects="network_access", risk="medium", marks_effect=True)
def pay_marked_on_a_thread(n: int, ctx: ToolContext) -> dict[str, str]:
    """Pay behind a mark, on a thread."""
    with ctx.effect_sync():
        return {"token": happen(n)}


@tool(effects="network_access", risk="medium")
def pay_on_a_thread(n: int) -> dict[str, str]:
    """Pay on a thread."""
    return {"token": happen(n)}


@tool(effects="network_access", risk="medium", timeout=0.02)
async def pay_and_hang(n: int) -> dict[str, str]:
    """Pay, and never come back."""
    happen(n)
    await asyncio.sleep(3600)
    raise AssertionError


@tool(effects="network_access", risk="medium", timeout=0.01)
def pay_late(n: int) -> dict[str, str]:
    """Pay when nobody waits any more."""
    time.sleep(0.03)  # the point of this tool is to outlive its limit
    return {"token": happen(n)}


@tool(effects="network_access", risk="medium")
async def pay_and_raise(n: int) -> dict[str, str]:
    """Pay, and fail afterwards."""
    happen(n)
    await asyncio.sleep(0)
    raise RuntimeError


@tool(effects="network_access", risk="medium")
async def pay_and_lose_the_line(n: int) -> dict[str, str]:
    """Pay, and lose the connection before the answer."""
    happen(n)
    await asyncio.sleep(0)
    raise ConnectionResetError


@tool(effects="network_access", risk="medium")
async def decline(n: int) -> dict[str, str]:
    """Do nothing, certainly."""
    await asyncio.sleep(0)
    raise NoEffect(str(n))


@tool(effects="network_access", risk="medium", marks_effect=True)
async def fail_before_the_mark(n: int, ctx: ToolContext) -> dict[str, str]:
    """Fail before anything could happen."""
    await asyncio.sleep(0)
    if n >= 0:
        raise RuntimeError
    async with ctx.effect():
        return {}


@tool(effects="network_access", risk="medium", idempotent=True)
async def put(n: int) -> dict[str, str]:
    """Put something where it may lie already."""
    await asyncio.sleep(0.001)
    happen(n)
    return {"put": str(n)}


TOOLS = (
    pay,
    pay_asked,
    pay_slowly,
    pay_marked,
    pay_marked_on_a_thread,
    pay_on_a_thread,
    pay_and_hang,
    pay_late,
    pay_and_raise,
    pay_and_lose_the_line,
    decline,
    fail_before_the_mark,
    put,
)
_TURNS = (
    *("pay", "pay_slowly", "pay", "pay_marked", "pay_asked", "pay_slowly", "pay_on_a_thread", "pay_and_hang"),
    *("pay", "pay_slowly", "put", "pay_marked", "pay_asked", "pay_marked_on_a_thread", "pay_and_raise"),
    *("pay_slowly", "pay_and_lose_the_line", "decline", "fail_before_the_mark", "pay_late"),
)
REPEATABLE = frozenset({"put"})
"""May take effect more than once: declared idempotent."""
HARMLESS = frozenset({"decline", "fail_before_the_mark"})
"""Never take effect."""
RAISING = frozenset({"pay_and_raise"})
"""Fail after their effect."""
SILENT = frozenset({"pay_and_hang", "pay_and_lose_the_line"})
"""Never say how they ended."""


def tool_of(number: int) -> str:
    """Which tool a number is for."""
    return _TURNS[number % len(_TURNS)]


def context_of(number: int, *, key: str = "") -> Context:
    """Who asks for it."""
    autonomy = Autonomy.A2 if tool_of(number) == "pay_asked" else None
    return Context(idempotency_key=key or key_of(number), autonomy=autonomy)


def key_of(number: int) -> str:
    """The key a number is asked under."""
    return f"k{number}"
