"""From a skill to a tool: an ordinary one, whose handler calls only what the skill declares. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from callgate.adapters.assemble import Parts, about, assemble
from callgate.adapters.declare import Declaration, declare
from callgate.adapters.function import make_function_tool
from callgate.adapters.json_schema import compile_schema
from callgate.errors import ToolExecutionError, ToolTimeoutError
from callgate.model.levels import Risk
from callgate.model.tool import Arguments, Handler, Tool
from callgate.model.tool_context import ToolContext
from callgate.skills.adapting import adapt
from callgate.skills.context import Gateway, SkillContext
from callgate.skills.declaring import Sum, add_up, stated
from callgate.skills.skill import Skill

UNBOUND = "no function is bound to this skill"
TAG = "skill"
USES = "uses:"
"""Begins the tags that name a skill's tools: what it can reach is part of what it is."""


def make_skill_tool(skill: Skill, *, find: Callable[[str], Tool | None], gateway: Gateway) -> Tool:
    """The tool that a skill is on one gate.

    Args:
        skill: Which one.
        find: A tool of that gate by name, None if it is not there.
        gateway: The way to call them.

    Raises:
        ConfigurationError: Its function cannot be a skill's, or something it declares is wrong.
    """
    with about(skill.name):
        total = add_up([find(name) for name in skill.tools])
        declaration = _declaration(skill, total)
        if skill.function is None:
            tool = _unbound(declaration)
        else:
            make = _contexts(skill, gateway, read_only=total.read_only)
            tool = make_function_tool(adapt(skill.function, make), declaration)
            tool = replace(tool, handler=_told_apart(tool.handler, is_async=tool.is_async), original=skill.function)
        # As strict as the strictest of its tools by their own rules, so that nothing is counted twice.
        return replace(
            tool,
            base_risk=max(total.risk, declaration.base_risk if declaration.risk_declared else Risk.LOW),
            risk_declared=False,
            destructive=total.flags["destructive"],
        )


def _declaration(skill: Skill, total: Sum) -> Declaration:
    """Its own words, and those of its tools."""
    tags = (TAG, *(f"{USES}{name}" for name in skill.tools), *declare(**skill.fields).tags)
    fields = {**skill.fields, "name": skill.name, "tags": tags}
    # Run again under its key it finds what it did, and marks itself where the first call inside takes effect.
    return declare(**stated(fields, total), idempotent=True, marks_effect=skill.function is not None)


def _unbound(declaration: Declaration) -> Tool:
    compiled = compile_schema(declaration.input_schema or {"type": "object"}, limit=declaration.max_argument_bytes)
    parts = Parts(
        original=None,
        handler=None,
        is_async=False,
        input_schema=compiled.schema,
        validator=compiled.validator,
        code=None,
    )
    return assemble(declaration.with_more({"unavailable": UNBOUND}), parts)


def _contexts(skill: Skill, gateway: Gateway, *, read_only: bool) -> Callable[[ToolContext], SkillContext]:
    tools = frozenset(skill.tools)

    def make(tool_context: ToolContext) -> SkillContext:
        tool_context.confine(tools)
        return SkillContext(tool_context, gateway, skill=skill.name, tools=skill.tools, read_only=read_only)

    return make


def _told_apart(handler: Handler | None, *, is_async: bool) -> Handler:
    """A step's limit is not the skill's: a step that timed out has failed, and the skill with it, in words."""
    assert handler is not None  # noqa: S101 - a bound skill has one
    run = handler
    if is_async:

        async def awaited(arguments: Arguments, tool_context: Any) -> Any:
            try:
                return await run(arguments, tool_context)
            except ToolTimeoutError as error:
                raise ToolExecutionError(error.message, info=error.info) from error

        return awaited

    def plain(arguments: Arguments, tool_context: Any) -> Any:
        try:
            return run(arguments, tool_context)
        except ToolTimeoutError as error:
            raise ToolExecutionError(error.message, info=error.info) from error

    return plain
