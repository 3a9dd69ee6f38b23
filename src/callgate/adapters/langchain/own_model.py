"""What a LangChain tool's own model makes of the arguments, before they are judged. Loaded with the first such tool.

LangChain reads the arguments by that model when the tool runs: defaults that are made, tidied texts and what other
validators change would come after the approval. So the model reads them here as well, and what it makes of them is
written down: that is judged and shown, and read once more by LangChain it has to be the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeGuard, cast

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from callgate.adapters.pydantic_faults import explain
from callgate.adapters.written_values import make_writer
from callgate.errors import InvalidArguments
from callgate.model.canonical import dumps
from callgate.model.tool import Arguments, Validator

_NOT_PASSED = frozenset({"args", "kwargs"})
"""Fields that LangChain makes of `*args` and `**kwargs`, and hands on only where they were given."""


def is_model(model: Any) -> TypeGuard[type[BaseModel]]:
    """Whether it is a model of pydantic 2."""
    return isinstance(model, type) and issubclass(model, BaseModel)


def read_by(model: Any, validate: Validator, *, shown: Collection[str] | None, injected: frozenset[str]) -> Validator:
    """The validator, and behind it what the tool's own model makes of the arguments.

    Args:
        model: The tool's `args_schema`. Nothing is done where it is no model of pydantic 2.
        validate: Holds the arguments to the schema.
        shown: The names of the parameters in the schema; None where it does not say them by itself.
        injected: Arguments that are not here yet.

    Raises:
        ConfigurationError: A field takes its value from a place inside of another, so that it has no name.
    """
    if not is_model(model):
        return validate
    return _settled(_reading(model, validate, shown=shown, injected=injected))


def _reading(
    model: type[BaseModel], validate: Validator, *, shown: Collection[str] | None, injected: frozenset[str]
) -> Validator:
    """What the arguments are once the model has read them, by the names of the schema."""
    absent: dict[str, Any] = dict.fromkeys(injected & model.model_fields.keys(), (Any, None))
    reader = create_model(model.__name__, __base__=model, **absent) if absent else model
    write = make_writer(TypeAdapter(reader))
    names, hidden = _names(reader, shown or ()), injected | _NOT_PASSED

    def is_passed(name: str) -> bool:
        return name not in hidden and (shown is None or name in shown)

    def read(arguments: Mapping[str, Any], /) -> Arguments:
        checked = validate(arguments)
        try:
            written = write(lambda: cast("Any", reader.model_validate(checked)))
        except ValidationError as error:
            raise explain(error, checked) from None
        named = ((names.get(name, name), value) for name, value in written.items())
        return {name: value for name, value in named if name in checked or is_passed(name)}

    return read


def _settled(read: Validator) -> Validator:
    def by_model(arguments: Mapping[str, Any], /) -> Arguments:
        try:
            final = read(arguments)
            again = read(final)
        except InvalidArguments:
            raise
        except Exception as error:
            # An author's own validator broke; an unchecked value does not pass.
            raise InvalidArguments(f"The arguments could not be checked ({type(error).__name__})") from error
        if dumps(again) != dumps(final):
            message = "The arguments are read otherwise each time, so what is judged would not be what runs"
            raise InvalidArguments(message)
        return final

    return by_model


def _names(model: type[BaseModel], shown: Collection[str]) -> dict[str, str]:
    """From what a field is written as to what the schema calls it: LangChain's view for models loses aliases."""
    fields = model.model_fields.items()
    aliases = {field.validation_alias: name for name, field in fields if isinstance(field.validation_alias, str)}
    return {alias: name for alias, name in aliases.items() if alias not in shown and name in shown}
