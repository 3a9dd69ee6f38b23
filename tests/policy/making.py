"""Tools, settings and short ways to ask, for the policy's tests."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from callgate.errors import InvalidArguments
from callgate.model.context import Context
from callgate.model.decision import Decision
from callgate.model.layer import Layer, LayerKind
from callgate.model.levels import Effect, Risk
from callgate.model.tool import Arguments, Hooks, Tool
from callgate.policy.policy import Authorization, Facts, Policy
from callgate.settings.values import Role, Settings

NOON = 12 * 3600.0


def as_given(arguments: Mapping[str, Any], /) -> Arguments:
    if "wrong" in arguments:
        raise InvalidArguments("wrong is no argument")
    return dict(arguments)


def schema(*names: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**{name: {"type": "string"} for name in names}, **properties},
        "additionalProperties": False,
    }


def make(name: str, effects: str | Iterable[str] = "system_state", **facts: Any) -> Tool:
    """A tool with these effects; medium risk, declared, unless the facts say otherwise."""
    words = [effects] if isinstance(effects, str) else list(effects)
    body: dict[str, Any] = {
        "description": "Does something.",
        "input_schema": schema("text"),
        "handler": None,
        "validator": as_given,
        "effects": frozenset(map(Effect, words)),
        "base_risk": Risk.MEDIUM,
        "risk_declared": True,
    }
    hooks = {key: facts.pop(key) for key in list(facts) if key in Hooks.__slots__}
    if "scopes" in facts:
        facts["scopes"] = frozenset(facts["scopes"])
    return Tool(name=name, hooks=Hooks(**hooks), **{**body, **facts})


def reading(name: str, *more: str, **facts: Any) -> Tool:
    return make(name, ["read_only", *more], **{"base_risk": Risk.LOW, "risk_declared": False, **facts})


def saying(answer: Any) -> Callable[[Arguments], Any]:
    """A function of the arguments that always says this; an exception is raised instead."""

    def say(_arguments: Arguments) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return say


def code_tools() -> tuple[Tool, ...]:
    """The tools that the seed's groups speak of, each declared honestly."""
    return (
        reading("list_dir", category="files", scopes={"fs:read"}),
        reading("read_file", category="files", scopes={"fs:read"}),
        reading("search_files", category="files", scopes={"fs:read"}),
        make("write_file", "modifies_files", category="files", scopes={"fs:write"}),
        make("edit_file", "modifies_files", category="files", scopes={"fs:write"}),
        make("run_shell", "local_exec", category="code", scopes={"shell:execute"}, destructive=True),
        make("raw_exec", "local_exec", category="code", scopes={"shell:execute"}, destructive=True),
        reading("web_fetch", "network_access", category="web", scopes={"net:outbound"}),
        reading("calculate", category="math"),
    )


def names(tools: Iterable[Tool]) -> set[str]:
    return {tool.name for tool in tools}


def role(name: str = "default", *, scopes: Iterable[str] = ("*",), **layer: Any) -> Role:
    return Role(name=name, scopes=frozenset(scopes), layer=Layer(name=name, kind=LayerKind.ROLE, **layer))


def with_roles(*roles: Role, **more: Any) -> Settings:
    return Settings(roles={each.name: each for each in roles}, **more)


def with_global(**layer: Any) -> Settings:
    return Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, **layer))


def authorize(
    policy: Policy, tool: Tool, arguments: Arguments | None = None, context: Context | None = None
) -> Authorization:
    context = context or Context()
    return policy.authorize(tool, arguments or {}, context, policy.standing(tool, context))


def decide(
    policy: Policy,
    tool: Tool,
    arguments: Arguments | None = None,
    *,
    context: Context | None = None,
    facts: Facts | None = None,
) -> Decision:
    context = context or Context()
    arguments = arguments or {}
    standing = policy.standing(tool, context)
    authorization = policy.authorize(tool, arguments, context, standing)
    facts = facts or Facts(now=NOON)
    return policy.decide(tool, arguments, context, standing=standing, authorization=authorization, facts=facts)


def in_folder(folder: Path, settings: Settings | None = None, *, own: Iterable[Path] = ()) -> Policy:
    return Policy(settings or Settings(), working_directory=folder, own_paths=own)
