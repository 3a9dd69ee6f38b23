"""Making the tools of a plugin: from an entry of its manifest and the function behind it to a `Tool`, or a reason."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from callgate.adapters.assemble import about
from callgate.adapters.declare import declare
from callgate.adapters.function import make_function_tool, marked_declaration
from callgate.adapters.parameters import Parameter, read_parameters
from callgate.adapters.plugins.agreement import disagreements, is_required
from callgate.adapters.plugins.claims import counting
from callgate.adapters.plugins.code import Code
from callgate.adapters.plugins.manifest import ToolEntry
from callgate.adapters.plugins.switch import Switch, guarded
from callgate.adapters.target import find_target
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.model.plugin_settings import PluginSettings
from callgate.model.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the tools of one loading of a plugin have in common."""

    plugin: str
    source_name: str
    code: Code
    settings: PluginSettings
    switch: Switch
    accepted: bool
    """Whether the operator accepted what the plugin declares."""
    ids: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ids that tools had before: a newer version is the same tool."""


def make_tool(entry: ToolEntry, bench: Bench) -> Tool:
    """Make one tool.

    Raises:
        ConfigurationError: Its code is missing or broken, is not what the manifest says, or is declared wrongly.
    """
    function = _function(entry, bench.code)
    handler = _with_settings(function, bench.settings)
    fields = _fields(entry, handler, bench=bench)
    if fields.get("isolation") == "process":
        raise ConfigurationError("a plugin's tool cannot run in a process of its own: its modules have no public name")
    tool = make_function_tool(handler, declare(**counting(fields, accepted=bench.accepted)))
    check = guarded(bench.switch, entry.name, check=tool.hooks.check)
    # Whatever the function calls is part of what it does, so all of the plugin's code is in its digest.
    code_digest = f"{bench.code.snapshot.code_digest}:{entry.module}:{entry.function}"
    known = bench.ids.get(entry.name, tool.id)
    hooks = replace(tool.hooks, check=check)
    return replace(tool, id=known, hooks=hooks, code_digest=code_digest, claims=dict(entry.claims))


def _function(entry: ToolEntry, code: Code) -> Any:
    module = code.module(entry.module)
    found = vars(module).get(entry.function)
    if found is None:
        raise ConfigurationError(f"{entry.module.replace('.', '/')}.py has no function {entry.function}")
    with about(entry.function):
        written = find_target(found).written
    home = str(getattr(written, "__module__", ""))
    if home.partition(".")[0] != code.package:
        raise ConfigurationError(f"{entry.function} is {home}'s and not the plugin's own; write a function around it")
    return found


def _with_settings(function: Any, settings: PluginSettings) -> Any:
    """The function with its settings filled in, if it asks for them."""
    names = [parameter.name for parameter in _parameters(function) if _asks_for_settings(parameter)]
    if not names:
        return function
    if inspect.signature(function).parameters[names[0]].kind is inspect.Parameter.POSITIONAL_ONLY:
        raise ConfigurationError(f"{names[0]} takes the settings, and must not be positional only")
    return functools.partial(function, **dict.fromkeys(names, settings))


def _asks_for_settings(parameter: Parameter) -> bool:
    return parameter.hint is PluginSettings


def _parameters(function: Any) -> tuple[Parameter, ...]:
    return read_parameters(find_target(function)).fillable


def _fields(entry: ToolEntry, handler: Any, *, bench: Bench) -> dict[str, Any]:
    marked = marked_declaration(handler)
    fields: dict[str, Any] = {} if marked is None else dict(marked.stated)
    fields |= {**entry.claims, "name": entry.name, "description": entry.description, "category": entry.category}
    fields |= {"source": Origin.PLUGIN, "source_name": bench.source_name, "connector": bench.plugin}
    if entry.parameters is not None:
        _refuse_disagreement(entry, handler)
        fields["input_schema"] = input_schema(entry.parameters)
    return fields


def _refuse_disagreement(entry: ToolEntry, handler: Any) -> None:
    kinds = {parameter.kind for parameter in inspect.signature(handler).parameters.values()}
    takes_more = inspect.Parameter.VAR_KEYWORD in kinds
    found = disagreements(entry.parameters or {}, _parameters(handler), takes_more=takes_more)
    if found:
        raise ConfigurationError(f"the manifest's parameters are not those of {entry.function}: {'; '.join(found)}")


def input_schema(parameters: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON Schema of parameters as manifests write them."""
    return object_schema(parameters, required=[name for name, schema in parameters.items() if is_required(schema)])


def object_schema(schemas: Mapping[str, Mapping[str, Any]], *, required: list[str]) -> dict[str, Any]:
    """The JSON Schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": {name: _property(schema) for name, schema in schemas.items()},
        "required": required,
        "additionalProperties": False,
    }


def _property(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter's own schema: a truth value under `required` is the manifest's, and no JSON Schema."""
    return {key: value for key, value in schema.items() if key != "required" or not isinstance(value, bool)}
