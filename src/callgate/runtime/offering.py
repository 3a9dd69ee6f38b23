"""Offering: a pool as each provider wants it told, and a provider's words for its tools taken back.

Puts the formats together: which name and which schema travel is worked out here, how they are written is theirs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Unpack

from callgate.adapters.langchain.choices import Options
from callgate.errors import ConfigurationError
from callgate.formats import anthropic, mcp, openai_chat, openai_responses
from callgate.formats.catalogue import Entry, catalogue, namespaces
from callgate.formats.grammar import grammar
from callgate.formats.names import wire_names
from callgate.formats.nulls import without_nulls
from callgate.formats.strict import ANTHROPIC, OPENAI, strict_schema
from callgate.formats.top_level import plain_object, rename_arguments, rename_properties
from callgate.model.levels import Caller
from callgate.model.tool import Tool
from callgate.registry.pool import Pool

Chosen = bool | Collection[str]
"""All tools, none, or those of these names."""
_DIRECT = "direct"


class ModelPool(Pool):
    """The tools of one asker, ready to be told to a model. The same pool gives the same definitions, byte for byte."""

    __slots__ = ("_lend", "_wires")

    def __init__(self, tools: Collection[Tool] = (), *, lend: Callable[..., list[Any]] | None = None) -> None:
        super().__init__(tools)
        self._lend = lend
        wires = wire_names(self.names)
        self._wires = {name: wires[name] for name in self.names}

    @property
    def wire_names(self) -> dict[str, str]:
        """The name by which each tool travels to providers, in the order of the pool; no two are equal."""
        return dict(self._wires)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """What stands before the dot of the tools' names, each once, in order."""
        return namespaces(self.names)

    def to_catalogue(self) -> str:
        """One line per tool, by name, for a prompt without room for schemas; `*` marks what must be given, `?` not."""
        return catalogue(Entry(tool.name, tool.description, plain_object(tool.input_schema)) for tool in self)

    def to_grammar(self) -> str:
        """A grammar (GBNF) of one call of one of these tools, as `gate.batch` takes it; of no call without tools."""
        return grammar(self.names)

    def to_anthropic(
        self,
        *,
        strict: Chosen = False,
        defer_loading: Chosen = False,
        allowed_callers: Sequence[str] = (),
        input_examples: bool = False,
    ) -> list[dict[str, Any]]:
        """Definitions for Anthropic Messages.

        Args:
            strict: Bind the model to the schema, for all tools or those named; a tool whose schema has no strict form
                is offered without.
            defer_loading: Leave it to the provider's tool search to show these.
            allowed_callers: Who may call, in the provider's words; a tool that chains may not use is left to `direct`.
            input_examples: Tell the examples the tools declare.
        """
        told: list[dict[str, Any]] = []
        for tool in self:
            schema, parameters = offered_schema(tool)
            bound = strict_schema(schema, ANTHROPIC) if _is_chosen(tool, strict) else None
            examples = tool.examples if input_examples else ()
            definition = anthropic.definition(
                name=self._wires[tool.name],
                description=tool.description,
                schema=schema if bound is None else bound,
                strict=bound is not None,
                defer_loading=_is_chosen(tool, defer_loading),
                allowed_callers=_callers(tool, allowed_callers),
                input_examples=[rename_arguments(example, parameters) for example in examples],
            )
            told.append(definition)
        return told

    def to_openai(
        self, *, strict: Chosen | None = None, defer_loading: Chosen = False, allowed_callers: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Definitions for OpenAI Responses.

        Args:
            strict: Bind the model to the schema, for all tools or those named; False says that it must not be, None
                leaves it to the provider. A tool whose schema has no strict form is offered with false.
            defer_loading: Leave it to the provider's tool search to show these.
            allowed_callers: As in `to_anthropic`.
        """
        return [
            openai_responses.definition(
                **self._openai(tool, strict),
                defer_loading=_is_chosen(tool, defer_loading),
                allowed_callers=_callers(tool, allowed_callers),
            )
            for tool in self
        ]

    def to_openai_chat(self, *, strict: Chosen | None = None) -> list[dict[str, Any]]:
        """Definitions for OpenAI Chat Completions, for who speaks it, and for LangChain's `bind_tools`.

        Args:
            strict: As in `to_openai`.
        """
        return [openai_chat.definition(**self._openai(tool, strict)) for tool in self]

    def _openai(self, tool: Tool, strict: Chosen | None) -> dict[str, Any]:
        schema, _ = offered_schema(tool)
        words: dict[str, Any] = {
            "name": self._wires[tool.name],
            "description": tool.description,
            "schema": schema,
            "strict": None if strict is None else False,
        }
        if strict is None or not _is_chosen(tool, strict):
            return words
        bound = strict_schema(schema, OPENAI)
        return words if bound is None else words | {"schema": bound, "strict": True}

    def to_langchain(self, names: Iterable[str] | None = None, **options: Unpack[Options]) -> list[Any]:
        """The tools as LangChain's `BaseTool`s, for agents and graphs; calling one is calling the gate.

        Args:
            names: Which of them; all when left out.
            **options: See `callgate.adapters.langchain.choices.Options`.

        Raises:
            ConfigurationError: LangChain is not installed, or this is not the pool of an open gate.
            ToolNotFoundError: A tool of that name is not in this pool.
        """
        if self._lend is None:
            raise ConfigurationError("this pool has no gate to call; use gate.pool(context)")
        tools = list(self) if names is None else [self.get(name) for name in names]
        return self._lend(tools, wires=self._wires, options=options)

    def to_mcp(self) -> list[dict[str, Any]]:
        """The tools as an MCP server lists them."""
        return [
            copy.deepcopy(mcp.definition(tool, name=self._wires[tool.name], schema=tool.input_schema)) for tool in self
        ]


def offered_schema(tool: Tool) -> tuple[dict[str, Any], dict[str, str]]:
    """The input schema as providers take it, and the name by which each parameter travels that has another there."""
    schema = plain_object(tool.input_schema)
    parameters = wire_names(schema["properties"])
    renamed = rename_properties(schema, parameters)
    return renamed, {} if renamed is schema else parameters


def arguments_meant(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a provider's call in the tool's own words.

    Raises:
        NotCanonical: Two of them would be one.
    """
    schema = plain_object(tool.input_schema)
    own = {wire: name for name, wire in wire_names(schema["properties"]).items()}
    return without_nulls(rename_arguments(arguments, own), schema)


def _is_chosen(tool: Tool, chosen: Chosen) -> bool:
    return chosen if isinstance(chosen, bool) else tool.name in chosen


def _callers(tool: Tool, wanted: Sequence[str]) -> list[str]:
    """Those of the provider's callers that the tool's declaration admits; none asked for is none told."""
    if not wanted:
        return []
    chains = tool.read_only or Caller.CHAIN in tool.allowed_callers
    return [caller for caller in wanted if caller == _DIRECT or chains] or [_DIRECT]
