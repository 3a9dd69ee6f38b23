"""Groups: which tools belong to which, computed from what tools declare and never from lists of names.

A group has two edges. To *let in*, a tool must surely belong to it; to be *kept out*, it is enough that it could:
what a tool does not declare is assumed worst. What a foreign tool says of its own category lets it in nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from callgate.model.levels import FOREIGN, Effect
from callgate.model.tool import Tool
from callgate.policy.scopes import family_of

Predicate = Callable[[Tool], bool]

_ONE_WORD: Mapping[str, str] = MappingProxyType({"archive": "archives", "file": "files", "math": "maths"})
"""The words of registry files for what the built-in tools say in the plural: a policy that means one means both."""


def effects_unknown(tool: Tool) -> bool:
    """Whether nothing is known about what it does, so that it may do anything."""
    return not tool.effects


def reaches_network(tool: Tool) -> bool:
    """Whether it declares, in any way there is, that it uses the network."""
    return Effect.NETWORK_ACCESS in tool.effects or tool.egress or _has_family(tool, "net")


def runs_programs(tool: Tool) -> bool:
    """Whether it declares that it runs programs, by its effects or a scope."""
    return Effect.LOCAL_EXEC in tool.effects or _has_family(tool, "shell")


def in_category(tool: Tool, category: str) -> bool:
    """Whether it may be let in as one of this category: by a word of ours, not its own."""
    return says_category(tool, category) and tool.source not in FOREIGN


def says_category(tool: Tool, category: str) -> bool:
    """Whether it says of itself that it is of this category, in either spelling of the word."""
    return tool.category == category or _plural(tool.category) == _plural(category)


def _plural(category: str) -> str:
    return _ONE_WORD.get(category, category)


def _has_family(tool: Tool, *families: str) -> bool:
    return any(family_of(scope) in families for scope in tool.scopes)


def _reads(tool: Tool) -> bool:
    return tool.read_only


def _touches_files(tool: Tool) -> bool:
    return Effect.MODIFIES_FILES in tool.effects or _has_family(tool, "fs")


def _sends_out(tool: Tool) -> bool:
    return tool.egress or (tool.effectful and reaches_network(tool))


LETS_IN: Mapping[str, Predicate] = MappingProxyType(
    {
        "all": lambda _tool: True,
        "read": _reads,
        "write": lambda tool: not tool.read_only,
        "destructive": lambda tool: tool.destructive,
        "network": reaches_network,
        "web": lambda tool: in_category(tool, "web"),
        "code": lambda tool: in_category(tool, "code") or _has_family(tool, "fs", "shell"),
        "data": lambda tool: in_category(tool, "data") or (tool.read_only and _has_family(tool, "fs")),
        "math": lambda tool: in_category(tool, "math"),
        "files": _touches_files,
        "shell": runs_programs,
        "llm": lambda tool: Effect.CALLS_LLM in tool.effects,
        "egress": lambda tool: tool.egress,
        "untrusted": lambda tool: tool.untrusted_output,
        "sensitive": lambda tool: tool.sensitive_output,
        "idempotent": lambda tool: tool.idempotent,
        "undeclared": lambda tool: not tool.declared,
    }
)
"""Whether a tool surely belongs to the group; what an `allow` asks."""

KEEPS_OUT: Mapping[str, Predicate] = MappingProxyType(
    {
        **LETS_IN,
        "network": lambda tool: reaches_network(tool) or effects_unknown(tool),
        "web": lambda tool: says_category(tool, "web") or reaches_network(tool) or effects_unknown(tool),
        "code": lambda tool: (
            says_category(tool, "code") or _touches_files(tool) or runs_programs(tool) or effects_unknown(tool)
        ),
        "data": lambda tool: says_category(tool, "data") or (tool.read_only and _has_family(tool, "fs")),
        "math": lambda tool: says_category(tool, "math"),
        "files": lambda tool: _touches_files(tool) or effects_unknown(tool),
        "shell": lambda tool: runs_programs(tool) or effects_unknown(tool),
        "llm": lambda tool: Effect.CALLS_LLM in tool.effects or effects_unknown(tool),
        "egress": lambda tool: _sends_out(tool) or effects_unknown(tool),
        "untrusted": lambda tool: tool.untrusted_output or tool.source in FOREIGN,
    }
)
"""Whether a tool could belong to the group; what a `deny` or a rule asks."""
