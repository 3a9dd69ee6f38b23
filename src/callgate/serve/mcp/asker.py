"""Who asks over MCP, and under which context. A request may give up some of it, and never gain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from mcp import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import ValidationError

from callgate.errors import EntryRefused
from callgate.model.ids import uuid7
from callgate.serve.api.asking import AskedContext, context_of

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.credential import Credential
    from callgate.runtime.gate import Callgate

WISHES = "callgate/context"
"""The key of `_meta` under which a request says what it gives up: the `context` of the HTTP API."""
CREDENTIAL = "callgate.credential"
SOURCE = "callgate.source"
"""Where the door's own parts leave what they found, in the scope of a request."""


class SdkContext(Protocol):
    """What is read of the SDK's context of a request."""

    @property
    def request(self) -> Any: ...
    @property
    def meta(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, as far as the door knows it."""

    context: Context
    attended: bool = False
    """Whether a person sits at the client and may be asked through it."""
    source: str | None = None
    """The one source whose tools are asked for; None is all of them."""
    credential: Credential | None = None
    """What was shown; nothing over stdio, where whoever started us decides."""


class Who(Protocol):
    """Finds out who asks."""

    def __call__(self, asked: SdkContext, /) -> Asker:
        """The asker of this request."""
        ...


def by_credential(gate: Callgate) -> Who:
    """Over HTTP: the context of the credential that came with this very request."""

    def asker(asked: SdkContext, /) -> Asker:
        scope: Mapping[str, Any] = asked.request.scope
        credential: Credential = scope[CREDENTIAL]
        wishes = _wishes(asked.meta)
        try:
            context = context_of(gate, credential, asked=wishes) if wishes else gate.narrowed(credential)
        except EntryRefused as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        return Asker(context, credential.attended, scope.get(SOURCE), credential)

    return asker


def always(context: Context, *, attended: bool, source: str | None = None) -> Who:
    """Over stdio: whoever started us said who asks."""

    def asker(asked: SdkContext, /) -> Asker:
        wishes = _wishes(asked.meta)
        changes: dict[str, Any] = {} if wishes is None else wishes.model_dump(exclude_none=True)
        try:
            # Every request is a trace of its own unless it says otherwise.
            found = context.narrow(**({"trace_id": uuid7()} | changes))
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        return Asker(found, attended, source)

    return asker


def _wishes(meta: Any) -> AskedContext | None:
    body = cast("Mapping[str, Any]", meta or {}).get(WISHES)
    if body is None:
        return None
    try:
        return AskedContext.model_validate(body)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise MCPError(INVALID_PARAMS, f"_meta {WISHES}: {faults}") from None
