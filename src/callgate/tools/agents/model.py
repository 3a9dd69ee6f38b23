"""The model: what the configuration names, made ready for one run. The only place that knows providers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from callgate.model.tool_context import ToolContext
from callgate.settings.values import ModelSettings
from callgate.tools.outbound.keys import read_key
from callgate.tools.outbound.troubles import NotSetUp

if TYPE_CHECKING:
    from pydantic_ai.models import Model

MISSING = "no model is configured; name one in callgate.yaml, such as model: {provider: anthropic:claude-sonnet-4-5}"


async def open_model(settings: ModelSettings, ctx: ToolContext) -> Model:
    """The model, to be entered for one run, which closes its connections.

    Args:
        settings: Which, where, and the name of its key.
        ctx: Of the call that needs it.

    Raises:
        NotSetUp: It cannot be had; with what to do. Nobody was asked over the network.
    """
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - an extra
    from pydantic_ai.models import infer_model  # noqa: PLC0415 - an extra

    given: dict[str, Any] = {}
    if settings.secret is not None:
        given["api_key"] = await read_key(ctx, settings.secret, what="the key of the model")
    if settings.url is not None:
        given["base_url"] = settings.url
    try:
        if not given:
            return infer_model(settings.provider)
        return infer_model(settings.provider, lambda name: _provider(name, given))
    except (UserError, ValueError, ImportError) as error:
        raise NotSetUp(f"the model {settings.provider} cannot be used: {error}") from error


def _provider(name: str, given: dict[str, Any]) -> Any:
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415 - an extra

    maker: Callable[..., Any] = infer_provider_class(name)
    try:
        return maker(**given)
    except TypeError as error:
        keys = " and ".join({"api_key": "secret", "base_url": "url"}[key] for key in given)
        raise ValueError(f"the provider {name} cannot be given {keys}; leave that out of model:") from error
