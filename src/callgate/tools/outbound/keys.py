"""Keys: the credential that a server wants, asked for right before its use and kept by nobody."""

from __future__ import annotations

import asyncio

from callgate.errors import ConfigurationError, SecretNotFound
from callgate.model.tool_context import ToolContext
from callgate.tools.outbound.troubles import NotSetUp


async def read_key(ctx: ToolContext, kept: str, *, what: str) -> str:
    """The key that is kept under `connector/key`.

    Args:
        ctx: Of the call that needs it.
        kept: Where it is.
        what: What it is, for people: `a GitHub token`.

    Raises:
        NotSetUp: There is none; the message says how to keep one.
    """
    connector, _, key = kept.partition("/")
    try:
        # A store may have to ask others: the loop does not wait for it.
        value = (await asyncio.to_thread(ctx.get_secret, connector, key)).strip()
    except SecretNotFound as error:
        raise NotSetUp(f"{ctx.tool} needs {what}, kept with the secrets as {kept}: {error}") from None
    except ConfigurationError as error:
        raise NotSetUp(f"{ctx.tool} cannot use the secret {kept}: {error}") from None
    if not value.isascii() or not value.isprintable() or not value or " " in value:
        raise NotSetUp(f"{ctx.tool}: the secret {kept} is no key that can be sent; it has spaces or other characters")
    return value
