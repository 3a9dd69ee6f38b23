"""Validators for schemas that others wrote, kept as they are: JSON Schema 2020-12, draft-07 and their kin.

Compiled once by jsonschema-rs, which is loaded with the first such schema. Nothing is ever fetched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from callgate.adapters.argument_text import write_arguments
from callgate.adapters.recursion import depth_limit, depth_of
from callgate.adapters.schema_defaults import Fits, admit_defaults, plan_defaults, show_defaults
from callgate.adapters.schema_faults import explain, tell
from callgate.adapters.schema_rules import copy_schema, refuse_other_types
from callgate.adapters.schema_walk import Schema
from callgate.errors import ConfigurationError, InvalidArguments
from callgate.model.canonical import dumps
from callgate.model.tool import Arguments, OutputCheck, Validator
from callgate.model.visible import cut

if TYPE_CHECKING:
    import jsonschema_rs

_BACKTRACKS = 50_000
"""Steps one match of a pattern with look-around or back-references may take; all others match in linear time."""
_PATTERN_BYTES = 1024 * 1024
_REASON_LENGTH = 300
_MOST_TRIED = 64
"""Ways in which the same arguments may have been sent: all of six that equal their defaults, and enough of more."""
_TOLD = 1000
"""Faults of choices within choices: their number, not that of the checks, grows with every level."""
_UNTOLD = "The arguments do not fit the schema, and are too deep to say where"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledSchema:
    """A foreign schema, ready for calls."""

    schema: Schema
    validator: Validator


def compile_schema(
    schema: Mapping[str, Any], *, limit: int, fill: bool = True, functions: Mapping[str, Any] | None = None
) -> CompiledSchema:
    """Compile an input schema.

    Args:
        schema: As it came.
        limit: The largest arguments, in bytes.
        fill: Whether to write its defaults into arguments; not where somebody else does that who knows them better.
        functions: What the function takes for arguments that are not given. The schema is held against what is sent,
            and these are added to it.

    Raises:
        ConfigurationError: It is no valid schema for an object, too large, or refers to other places.
    """
    from pydantic_core import from_json  # noqa: PLC0415 - loaded with the first tool, not with callgate

    copy = copy_schema(schema)
    refuse_other_types(copy)
    compiled = _compile(copy)
    fits = _fitting(copy)
    plan = plan_defaults(copy, fits) if fill else None
    more = admit_defaults(copy, functions or {}, fits=fits, matches=_matches)
    show_defaults(copy, more)
    told = depth_limit(copy, budget=_TOLD)

    def validate(arguments: Mapping[str, Any], /) -> Arguments:
        final = from_json(write_arguments(arguments, limit))
        if plan is not None:
            plan.fill(final)
        if compiled.is_valid(final) or any(map(compiled.is_valid, _as_sent(more, final))):
            return {**final, **{name: from_json(text) for name, text in more.items() if name not in final}}
        raise explain(compiled.iter_errors(final)) if depth_of(final) <= told else InvalidArguments(_UNTOLD)

    return CompiledSchema(schema=copy, validator=_guarded(validate))


def _as_sent(defaults: Mapping[str, bytes], arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What may have been sent to have these arguments, the fewest first: final ones, given once more, are no others.

    Which of the values that equal a default were sent is not known any more.
    """
    taken = [name for name, value in arguments.items() if name in defaults and dumps(value) == defaults[name]]
    left_out = (names for count in range(len(taken), 0, -1) for names in combinations(taken, count))
    for names in islice(left_out, _MOST_TRIED):
        yield {name: value for name, value in arguments.items() if name not in names}


def compile_output(schema: Mapping[str, Any]) -> tuple[Schema, OutputCheck]:
    """Compile an output schema; gives the copy that was compiled, and its check.

    Raises:
        ConfigurationError: As `compile_schema`; any type will do.
    """
    copy = copy_schema(schema)
    compiled = _compile(copy)
    told = depth_limit(copy, budget=_TOLD)

    def check(output: Any, /) -> str | None:
        try:
            if compiled.is_valid(output):
                return None
            if depth_of(output) > told:
                return "does not fit its schema"
            return "; ".join(map(_of_output, tell(compiled.iter_errors(output))))
        except Exception:  # noqa: BLE001 - whatever it is, it cannot be read as JSON
            return f"returned {type(output).__name__}, which is not JSON"

    return copy, check


def _of_output(words: str) -> str:
    """What is said of arguments, said of an output."""
    return words.replace("arguments" if words.startswith("Invalid arguments:") else "parameter", "output", 1)


def _compile(schema: Schema) -> jsonschema_rs.Validator:
    import jsonschema_rs  # noqa: PLC0415 - loaded with the first foreign schema

    try:
        return jsonschema_rs.validator_for(schema, **_options())
    except Exception as error:
        raise ConfigurationError(f"the schema is not valid: {_first_line(error)}") from error


def _fitting(schema: Schema) -> Fits:
    """Whether a value fits the part of the schema at a pointer; unknown is no. Compiled when the first one asks."""

    @functools.cache
    def parts() -> jsonschema_rs.ValidatorMap:
        import jsonschema_rs  # noqa: PLC0415 - as above

        return jsonschema_rs.validator_map_for(schema, **_options())

    def fits(pointer: str, value: Any) -> bool:
        part = parts().get(f"#{pointer}")
        return part is not None and part.is_valid(value)

    return fits


def _matches(pattern: str, name: str) -> bool:
    """As the schema itself is read: patterns are not those of Python."""
    return _compile({"pattern": pattern}).is_valid(name)


def _options() -> dict[str, Any]:
    import jsonschema_rs  # noqa: PLC0415 - as above

    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS, size_limit=_PATTERN_BYTES)
    return {"retriever": _fetch_nothing, "pattern_options": patterns}


def _guarded(validate: Callable[[Mapping[str, Any]], Arguments]) -> Validator:
    def guarded(arguments: Mapping[str, Any], /) -> Arguments:
        try:
            return validate(arguments)
        except InvalidArguments:
            raise
        except Exception as error:
            raise InvalidArguments(f"The arguments could not be checked ({type(error).__name__})") from error

    return guarded


def _fetch_nothing(uri: str) -> Any:
    raise LookupError(uri)


def _first_line(error: Exception) -> str:
    return cut((str(error).strip() or type(error).__name__).splitlines()[0], _REASON_LENGTH)
