"""What a skill declares: its tools' effects together. A tool that is absent, or says nothing, counts as the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from callgate.model.levels import Caller, Effect, Risk
from callgate.model.tool import Tool
from callgate.policy.risk import base_risk

_EVERYTHING = frozenset(Effect) - {Effect.READ_ONLY}
_FLAGS = ("destructive", "egress", "untrusted_output", "sensitive_output")
"""Set for a skill when one of its tools has them."""


class Sum(NamedTuple):
    """The tools of a skill taken together."""

    effects: frozenset[Effect]
    risk: Risk
    flags: Mapping[str, bool]
    """`destructive`, `egress`, `untrusted_output`, `sensitive_output`."""
    concurrency_safe: bool

    @property
    def read_only(self) -> bool:
        """Whether none of them changes anything."""
        return Effect.READ_ONLY in self.effects


def add_up(tools: Sequence[Tool | None]) -> Sum:
    """What these tools do together; None stands for one that is not there."""
    known = [tool for tool in tools if tool is not None and tool.declared and tool.effects]
    if len(known) < len(tools):
        risk = max([Risk.HIGH, *(_risk(tool) for tool in known)])
        return Sum(_EVERYTHING, risk, dict.fromkeys(_FLAGS, True), concurrency_safe=False)
    together = frozenset[Effect]().union(*(tool.effects for tool in known))
    if any(tool.effectful for tool in known):
        together -= {Effect.READ_ONLY}
    return Sum(
        effects=together,
        risk=max(_risk(tool) for tool in known),
        flags={flag: any(getattr(tool, flag) for tool in known) for flag in _FLAGS},
        concurrency_safe=all(tool.concurrency_safe for tool in known),
    )


def findings(skill: str, tools: Mapping[str, Tool | None], *, uses: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What will keep a skill from doing its work, each in a sentence.

    Args:
        skill: Its name.
        tools: Its tools by name; None for one that is not there.
        uses: For those of them that are skills themselves, the tools they use.
    """
    missing = [name for name, tool in tools.items() if tool is None]
    found = [f"{skill} names tools that are not there: {', '.join(missing)}"] if missing else []
    for name, tool in tools.items():
        if tool is not None and tool.effectful and Caller.CHAIN not in tool.allowed_callers:
            found.append(
                f"{skill} cannot call {name}, which may be called directly only; add chain to its allowed_callers"
            )
    for name, others in uses.items():
        beyond = [other for other in others if other not in tools]
        if beyond:
            found.append(f"{skill} uses the skill {name}, and not the tools that needs: {', '.join(beyond)}")
    return tuple(found)


def _risk(tool: Tool) -> Risk:
    return base_risk(tool).risk


def stated(fields: Mapping[str, Any], total: Sum) -> dict[str, Any]:
    """The fields of a declaration that follow from the tools, for `declare`."""
    flags = {flag: value for flag, value in total.flags.items() if flag != "destructive" or not total.read_only}
    flags["sensitive_output"] = flags["sensitive_output"] or fields.get("sensitive_output") is True
    return {**fields, **flags, "effects": sorted(total.effects), "concurrency_safe": total.concurrency_safe}
