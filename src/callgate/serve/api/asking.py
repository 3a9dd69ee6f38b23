"""What an agent asks for, as JSON: a call, and what its request gives up of its credential."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from callgate.errors import EntryRefused
from callgate.model.call import Call
from callgate.model.context import Context
from callgate.model.credential import Credential
from callgate.runtime.gate import Callgate

_NAME = Field(default=None, min_length=1, max_length=512)


class StrictBody(BaseModel):
    """What a request says: what it should say, in the types it should, and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AskedContext(StrictBody):
    """A context as a request may give it. It can only be the credential's, or less."""

    principal: str | None = _NAME
    user: str | None = _NAME
    session: str | None = _NAME
    role: str | None = _NAME
    scopes: list[str] | None = Field(default=None, max_length=200)
    autonomy: str | None = Field(default=None, pattern="^A[0-4]$")
    trace_id: str | None = _NAME
    task_id: str | None = _NAME
    step_id: str | None = _NAME
    idempotency_key: str | None = _NAME
    working_directory: str | None = Field(default=None, max_length=4096)
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    intent: str | None = Field(default=None, max_length=20_000)
    read_only: bool | None = None
    no_web: bool | None = None


class AskedTool(StrictBody):
    """A tool, and what it is called with."""

    tool: str = Field(min_length=1, max_length=512)
    arguments: dict[str, Any] = Field(default_factory=dict)
    context: AskedContext = Field(default_factory=AskedContext)


class AskedCall(AskedTool):
    """One call."""

    wait: float | None = Field(default=None, ge=0, le=60, description="Seconds to wait for a person.")
    timeout: float | None = Field(default=None, gt=0, le=86_400, description="Seconds the tool may take.")
    distinct: bool = False


class AskedJudgement(AskedTool):
    """A call that its host makes itself."""

    wait: float | None = Field(default=None, ge=0, le=60, description="Seconds to wait for a person.")


class AskedReport(StrictBody):
    """What became of a call that its host made."""

    ok: bool
    output: Any = None
    error: str | None = Field(default=None, max_length=100_000)


class AskedBatchCall(StrictBody):
    """One call of a batch."""

    tool: str = Field(min_length=1, max_length=512)
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str | None = _NAME
    key: str | None = _NAME
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    distinct: bool = False

    def call(self) -> Call:
        """The call it asks for."""
        return Call(self.tool, self.arguments, id=self.id, key=self.key, distinct=self.distinct, timeout=self.timeout)


class AskedBatch(StrictBody):
    """Several calls; each has its own key, and the context of all has none."""

    calls: list[AskedBatchCall] = Field(min_length=1, max_length=100)
    context: AskedContext = Field(default_factory=AskedContext)


def context_of(gate: Callgate, credential: Credential, *, asked: AskedContext, key: str | None = None) -> Context:
    """The context that a request is made under.

    Raises:
        EntryRefused: It would be more than the credential, or names two keys.
    """
    wished = asked.model_dump(exclude_none=True)
    if key is not None and wished.setdefault("idempotency_key", key) != key:
        raise EntryRefused("the request names two idempotency keys; leave one out")
    try:
        return gate.narrowed(credential, **wished)
    except ValueError as error:
        raise EntryRefused(str(error)) from None
