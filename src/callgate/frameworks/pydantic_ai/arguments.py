"""Arguments as a model wrote them: read with care here, held to the schema by the gate."""

from __future__ import annotations

from typing import Any, Literal

from pydantic_ai import ModelRetry

from callgate.model.requested import requested

_Partial = bool | Literal["off", "on", "trailing-strings"]


class CarefulReader:
    """Pydantic AI's validator of arguments: a JSON object, whatever is in it. Nothing is checked twice."""

    def validate_json(
        self,
        input: str | bytes | bytearray,  # noqa: A002 - Pydantic's word
        *,
        allow_partial: _Partial = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The arguments from text.

        Raises:
            ModelRetry: They cannot be read, or could be read in two ways.
        """
        text = input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")
        return self.validate_python(text, allow_partial=allow_partial, **kwargs)

    def validate_python(
        self,
        input: Any,  # noqa: A002 - as above
        *,
        allow_partial: _Partial = False,
        **_kwargs: Any,
    ) -> dict[str, Any]:
        """The arguments from text or values.

        Raises:
            ModelRetry: They cannot be read.
        """
        del allow_partial
        call = requested("call", name="tool", arguments=input)
        if call.fault is not None:
            raise ModelRetry(f"Not run (invalid_arguments): {call.fault}.")
        return dict(call.arguments)
