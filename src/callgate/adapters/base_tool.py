"""BaseTool: one class for one outside system, with several actions; each action becomes a tool, `gmail.send`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from callgate.adapters.call_secrets import CallSecrets
from callgate.model.health import HEALTHY, Health
from callgate.model.levels import Risk
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.ports import SecretsStore

PreviewResult = Preview
"""What `preview` gives back."""
Words = str | Iterable[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallContext:
    """Everything around one call, so that an implementation reads no state of the system."""

    trace_id: str
    task_id: str | None = None
    step_id: str | None = None
    idempotency_key: str | None = None
    """Pass it downstream where the other side takes one."""
    autonomy_level: str | None = None
    granted_scopes: frozenset[str] = frozenset()
    """At least those the tool requires."""
    tool_context: ToolContext = None  # pyright: ignore[reportAssignmentType] - every handler has it; who asks has none
    """The running call: progress, working directory, deadline, `effect()`."""


class BaseTool(ABC):
    """Implement `tool_name` and `execute`, and declare the actions.

    Args:
        secrets: Where secrets come from; by default the gate's own. Open only while a call runs.
    """

    actions: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Input schema per action. Without any, each capability is an action that takes any object."""
    descriptions: ClassVar[Mapping[str, str]] = {}
    """What each action does, for the model; the docstring of the class where it says nothing."""
    risk_default: ClassVar[Risk | str | None] = None
    risk_map: ClassVar[Mapping[str, Risk | str]] = {}
    """Risk of single actions; the others have `risk_default`."""
    effects: ClassVar[Mapping[str, Words] | Words] = {}
    """Effects per action, or one answer for all."""
    declarations: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Any further fields of a declaration, per action."""

    def __init__(self, secrets: SecretsStore | None = None) -> None:
        self.secrets: SecretsStore = CallSecrets(secrets)

    @property
    @abstractmethod
    def tool_name(self) -> str:
        """The first half of every action's name."""

    @property
    def connector_id(self) -> str:
        """The outside system; secrets and health belong to it."""
        return self.tool_name

    @property
    def capabilities(self) -> list[str]:
        """What it can do, for finding it."""
        return []

    @property
    def scopes_required(self) -> list[str]:
        """Scopes that every action needs."""
        return []

    @property
    def config_ref(self) -> str | None:
        """Where its configuration is kept; never a credential."""
        return None

    @abstractmethod
    def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:  # noqa: PLR0917 - theirs
        """Do it. May be a coroutine function; a result with an `error` is a failure."""

    def preview(  # noqa: PLR0917 - as execute
        self,
        action: str,  # noqa: ARG002
        request: dict[str, Any],  # noqa: ARG002
        context: ToolCallContext,  # noqa: ARG002
    ) -> PreviewResult | None:
        """What `execute` would do; None: this tool cannot say."""
        return None

    def health(self) -> Health:
        """How the outside system is, where it can be asked."""
        return HEALTHY

    def get_secret(self, key: str) -> str:
        """A secret of its own connector, inside a running call.

        Raises:
            SecretsClosed: No call runs.
            SecretNotFound: There is none.
        """
        return self.secrets.get_secret(self.connector_id, key)
