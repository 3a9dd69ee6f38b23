"""The ordered scales every part of Callgate shares: risk, autonomy, verdict, assurance, effect."""

from __future__ import annotations

import enum


class Scale(enum.IntEnum):
    """An ordered enum whose members read and print as lower-case words."""

    @property
    def label(self) -> str:
        """The word people and files use for this level."""
        return self.name.lower()

    def __str__(self) -> str:
        return self.label

    @classmethod
    def parse(cls, word: str) -> Scale:
        """The member called `word`.

        Raises:
            ValueError: No member has that name; the message lists those that exist.
        """
        member = cls.__members__.get(word.upper())
        if member is None:
            known = ", ".join(item.label for item in cls)
            message = f"unknown {cls.__name__.lower()} {word!r}; use one of {known}"
            raise ValueError(message)
        return member


class Risk(Scale):
    """How much harm a call could do."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2
    CRITICAL = 3


class Autonomy(Scale):
    """How much an agent may do without asking, from A0 (suggest only) to A4 (full)."""

    A0 = 0
    A1 = 1
    A2 = 2
    A3 = 3
    A4 = 4

    @property
    def label(self) -> str:
        """Autonomy levels are written in capitals everywhere."""
        return self.name


class Verdict(Scale):
    """What the gate answers, in order of strictness."""

    ALLOW = 0
    CONFIRM = 1
    PREVIEW = 2
    DENY = 3


class Assurance(Scale):
    """How certain it is who decided."""

    ASSERTED = 0
    """A name given in process."""
    CLIENT = 1
    """Through the asker's own client."""
    LOCAL = 2
    """At the terminal or through the CLI."""
    SIGNED_IN = 3
    PASSKEY = 4


class Effect(enum.StrEnum):
    """What a tool does to the world."""

    READ_ONLY = "read_only"
    LOCAL_EXEC = "local_exec"
    CALLS_LLM = "calls_llm"
    MODIFIES_FILES = "modifies_files"
    NETWORK_ACCESS = "network_access"
    SYSTEM_STATE = "system_state"


class Happened(enum.StrEnum):
    """What a failed call may have left behind."""

    NONE = "none"
    POSSIBLE = "possible"
    DONE = "done"


class Caller(enum.StrEnum):
    """Who put the call together: the model itself, or a flow."""

    DIRECT = "direct"
    CHAIN = "chain"


class Severity(enum.StrEnum):
    """How loud an event is."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class HealthStatus(enum.StrEnum):
    """Whether a connector can be called."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNAVAILABLE = "unavailable"


class Origin(enum.StrEnum):
    """Where a tool came from (its *source*)."""

    BUILTIN = "builtin"
    FUNCTION = "function"
    TOOLKIT = "toolkit"
    LANGCHAIN = "langchain"
    MCP = "mcp"
    YAML = "yaml"
    PLUGIN = "plugin"
    HOST = "host"


FOREIGN = frozenset({Origin.MCP, Origin.LANGCHAIN, Origin.YAML, Origin.PLUGIN})
"""Origins whose own claims may tighten a declaration and never loosen it."""


class Category(enum.StrEnum):
    """Kinds of trouble, decided by the class of an exception and never by its words."""

    CONFIGURATION = "configuration_error"
    TIMEOUT = "timeout_error"
    NETWORK = "network_error"
    RESOURCE = "resource_error"
    PERMISSION = "permission_error"
    USER_INPUT = "user_input_error"
    API = "api_error"
    RUNTIME = "runtime_error"
