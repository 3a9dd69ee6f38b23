"""What a LangChain tool's own model makes of the arguments, before they are judged. Loaded with the first such tool.

LangChain reads the arguments by that model when the tool runs: defaults that are made, tidied texts and what other
validators change would come after the approval. So the model reads them here as well, and what it makes of them is
written down: that is judged and shown, and read once more by LangChain, with what is injected, it has to be the same.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeGuard, cast

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model, field_validator, model_validator
from pydantic_core import PydanticOmit, PydanticUseDefault

from callgate.adapters.pydantic_faults import explain
from callgate.adapters.written_values import make_writer
from callgate.errors import InvalidArguments, NoEffect
from callgate.model.canonical import dumps
from callgate.model.tool import Arguments, Validator

_NOT_PASSED = frozenset({"args", "kwargs"})
"""Fields that LangChain makes of `*args` and `**kwargs`, and hands on only where they were given."""


def is_model(model: Any) -> TypeGuard[type[BaseModel]]:
    """Whether it is a model of pydantic 2."""
    return isinstance(model, type) and issubclass(model, BaseModel)


class ReadOtherwise(NoEffect, ValueError):
    """With what is injected the model makes other arguments than those that were judged; the tool was not run."""


class OwnModel:
    """A tool's own model: what it makes of the arguments before they are judged, and that it stays so.

    Args:
        model: The tool's `args_schema`.
        shown: The names of the parameters in the schema; None where it does not say them by itself.
        injected: Arguments that are not here before the tool runs.

    Raises:
        ConfigurationError: A field takes its value from a place inside of another, so that it has no name.
    """

    def __init__(self, model: type[BaseModel], *, shown: Collection[str] | None, injected: frozenset[str]) -> None:
        self._model = model
        self._shown = shown
        self._injected = injected
        absent = injected & model.model_fields.keys()
        self._readers = [_Reader(each, absent, injected=injected) for each in _without(model, absent)]
        self._names = _names(model, shown or ())

    def behind(self, validate: Validator) -> Validator:
        """The validator, and behind it what the model makes of the arguments, by the names of the schema."""

        def read(arguments: Mapping[str, Any], /) -> Arguments:
            checked = validate(arguments)
            return self._passed(_first(self._readers, checked), checked)

        return _settled(read)

    def hold(self, judged: Arguments, given: Mapping[str, Any]) -> None:
        """See that the whole model makes of the judged arguments what they are, now that what is injected is here.

        Before, validators that could not do without it were left out, and others of the same model with them.

        Raises:
            ReadOtherwise: It makes others.
            ValidationError: It refuses them.
        """
        if not self._injected:
            return

        def read() -> Any:
            # A validator may change what it reads, and LangChain has to read what was judged.
            return self._model.model_validate({**copy.deepcopy(judged), **given})

        written = self._readers[0].write(read)
        if dumps(self._passed(written, judged)) != dumps(judged):
            message = "The arguments are read otherwise with what is injected, so what was judged is not what would run"
            raise ReadOtherwise(message)

    def _passed(self, written: Arguments, checked: Arguments) -> Arguments:
        named = ((self._names.get(name, name), value) for name, value in written.items())
        return {name: value for name, value in named if name in checked or self._is_passed(name)}

    def _is_passed(self, name: str) -> bool:
        return name not in self._injected | _NOT_PASSED and (self._shown is None or name in self._shown)


class _Reader:
    """A model that reads arguments, and how they are written again."""

    def __init__(self, model: type[BaseModel], absent: frozenset[str], *, injected: frozenset[str]) -> None:
        self._model = model
        self.write = make_writer(TypeAdapter(model), without=injected)
        self._places = {(), *((name,) for name in absent)}

    def read(self, checked: Arguments) -> Arguments:
        return self.write(lambda: cast("Any", self._model.model_validate(checked)))

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
    """The model without what is injected: whole, by the validators of fields that can do without, by fields alone."""
    if not absent:
        return [model]
    nothing: dict[str, Any] = dict.fromkeys(absent, (Any, None))
    written = model.__pydantic_decorators__
    validating: Any = field_validator
    able: dict[str, Any] = {
        name: validating(*each.info.fields, mode=each.info.mode, check_fields=False)(_spared(each.func))
        for name, each in written.field_validators.items()
    }
    passing: dict[str, Any] = {name: model_validator(mode="after")(_unchanged) for name in written.model_validators}
    fields: dict[str, Any] = {name: (field.annotation, field) for name, field in model.model_fields.items()}
    return [
        create_model(model.__name__, __base__=model, **nothing),
        create_model(model.__name__, __base__=model, __validators__={**able, **passing}, **nothing),
        create_model(model.__name__, __config__=model.model_config, **{**fields, **nothing}),
    ]


def _spared(validator: Callable[..., Any]) -> Any:
    """The validator of a field, which says nothing where it trips over what is not here yet."""

    @functools.wraps(validator)
    def spared(value: Any, *others: Any) -> Any:
        try:
            return validator(value, *others)
        except (ValueError, AssertionError, PydanticUseDefault, PydanticOmit):  # what it says of the value
            raise
        except Exception:  # noqa: BLE001 - as in `_first`
            read = others[0] if others and callable(others[0]) else _unchanged
            return read(value)

    return staticmethod(spared)


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
