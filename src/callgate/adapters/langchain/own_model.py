"""What a LangChain tool's own model makes of the arguments, before they are judged. Loaded with the first such tool.

LangChain reads the arguments by that model when the tool runs: defaults that are made, tidied texts and what other
validators change would come after the approval. So the model reads them here as well, and what it makes of them is
written down: that is judged and shown, and read once more by LangChain it has to be the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeGuard, cast

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model, model_validator

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
    absent = injected & model.model_fields.keys()
    readers = [_Reader(each, absent) for each in _without(model, absent)]
    names, hidden = _names(model, shown or ()), injected | _NOT_PASSED

    def is_passed(name: str) -> bool:
        return name not in hidden and (shown is None or name in shown)

    def read(arguments: Mapping[str, Any], /) -> Arguments:
        checked = validate(arguments)
        written = _first(readers, checked)
        named = ((names.get(name, name), value) for name, value in written.items())
        return {name: value for name, value in named if name in checked or is_passed(name)}

    return read


class _Reader:
    """A model that reads arguments, and how they are written again."""

    def __init__(self, model: type[BaseModel], absent: frozenset[str]) -> None:
        self._model = model
        self._write = make_writer(TypeAdapter(model))
        self._places = {(), *((name,) for name in absent)}

    def read(self, checked: Arguments) -> Arguments:
        return self._write(lambda: cast("Any", self._model.model_validate(checked)))

    def blames_none(self, error: ValidationError) -> bool:
        """Whether it says nothing of an argument that is here: what it misses may be what is not here yet."""
        return all(fault["loc"] in self._places for fault in error.errors(include_url=False))


def _first(readers: list[_Reader], checked: Arguments) -> Arguments:
    """What the first reader makes of the arguments that does not need what is injected; LangChain asks all again."""
    *others, last = readers
    for reader in others:
        try:
            return reader.read(checked)
        except ValidationError as error:
            if not reader.blames_none(error):
                raise explain(error, checked) from None
        except InvalidArguments:
            raise
        except Exception:  # noqa: BLE001, S112 - a validator that met None where it needs what is injected
            continue
    try:
        return last.read(checked)
    except ValidationError as error:
        raise explain(error, checked) from None


def _without(model: type[BaseModel], absent: frozenset[str]) -> list[type[BaseModel]]:
    """The model without what is injected: whole, without validators of the whole, and by its fields alone."""
    if not absent:
        return [model]
    nothing: dict[str, Any] = dict.fromkeys(absent, (Any, None))
    passing: dict[str, Any] = {
        name: model_validator(mode="after")(_unchanged) for name in model.__pydantic_decorators__.model_validators
    }
    fields: dict[str, Any] = {name: (field.annotation, field) for name, field in model.model_fields.items()}
    return [
        create_model(model.__name__, __base__=model, **nothing),
        create_model(model.__name__, __base__=model, __validators__=passing, **nothing),
        create_model(model.__name__, __config__=model.model_config, **{**fields, **nothing}),
    ]


def _unchanged(values: Any) -> Any:
    return values


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
