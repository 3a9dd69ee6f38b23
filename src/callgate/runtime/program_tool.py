"""The tool with which a model runs a program of its own. Every call in it is governed as if the model had made it."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Protocol

from callgate.adapters.convert import convert
from callgate.adapters.function import tool
from callgate.errors import Conflict, NoEffect, NotFound
from callgate.model.canonical import dumps
from callgate.model.levels import Origin
from callgate.model.tool_context import ToolContext

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.program import ProgramRun
    from callgate.model.tool import Tool

RUN = "run_program"
_SECONDS = 300.0


class Programmable(Protocol):
    """What runs programs."""

    def run_program(
        self,
        source: str,
        context: Context | None = None,
        *,
        inputs: Any = None,
        program_id: str | None = None,
        dry_run: bool = False,
    ) -> Awaitable[ProgramRun]:
        """Run one."""
        ...

    def resume_program(self, program_id: str, context: Context | None = None) -> Awaitable[ProgramRun]:
        """Let one go on."""
        ...


def make_program_tool(gate: Programmable, *, name: str = RUN) -> Tool:
    """The tool itself.

    It changes nothing by itself but what is kept of the program; whatever else happens are calls of their own, each
    with its own risk. It is idempotent: its key names the program, so that a second try goes on with the first.

    Raises:
        ConfigurationError: The name is none.
    """

    @tool(
        name=name,
        effects="system_state",
        risk="low",
        idempotent=True,
        concurrency_safe=True,
        category="meta",
        source=Origin.BUILTIN,
        check_output=False,
        timeout=_SECONDS,
    )
    async def run_program(  # noqa: D417 - what the gate gives is not for the model
        source: str | None = None,
        inputs: dict[str, Any] | None = None,
        program_id: str | None = None,
        *,
        dry_run: bool = False,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Run a Python program whose functions are your tools, to make many calls in one go and pass results on.

        Await every call (`x = await search(query="a")`), and use `asyncio.gather` for calls that do not depend on one
        another. The value of the last expression is the result. There are no files, no network and no imports beyond
        a small standard library. A refused call raises PermissionError. When a call needs a person, the program sleeps
        (`state` is `sleeping`) and keeps its place: once the person decided, call this again with its `program_id`.

        Args:
            source: The program; leave it out when you go on with one.
            inputs: Names the program begins with, and their values.
            program_id: The program to go on with.
            dry_run: Only list what it would change, in order, to be approved at once; then go on with it.
        """
        if (source is None) == (program_id is None):
            raise NoEffect("give either source, to run a program, or program_id, to go on with one")
        try:
            if source is None:
                run = await gate.resume_program(str(program_id), ctx.context)
            else:
                run = await gate.run_program(
                    source, ctx.context, inputs=inputs, program_id=_program_id(ctx), dry_run=dry_run
                )
        except (ValueError, Conflict, NotFound) as error:
            raise NoEffect(str(error)) from error
        return run.to_json()

    [made] = convert(run_program)
    return made


def _program_id(ctx: ToolContext) -> str | None:
    """One key, one program."""
    if ctx.key is None:  # pragma: no cover - an effect always has one
        return None
    named = dumps([ctx.context.principal, ctx.context.session, ctx.key])
    return f"p-{hashlib.sha256(named).hexdigest()[:40]}"
