"""What can be done without opening a gate: finding a store, judging a configuration, verifying evidence."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.model.tool import Tool
from callgate.policy.cases import CaseResult, run_cases
from callgate.policy.lint import WARNING, Finding, check
from callgate.policy.policy import Policy
from callgate.runtime.assemble import DEFAULT_STORE
from callgate.runtime.gate import Callgate
from callgate.settings.schema import json_schema
from callgate.stores.open import file_of

if TYPE_CHECKING:
    from callgate.events.report import Report
    from callgate.settings.values import Settings

__all__ = [
    "DEFAULT_STORE",
    "CaseResult",
    "Finding",
    "check_evidence",
    "check_policy",
    "policy_schema",
    "store_exists",
    "store_file",
    "try_policy",
]


def store_file(url: str) -> Path | None:
    """The database of a store; None for a store in memory.

    Raises:
        ConfigurationError: The URL names no store.
    """
    file = file_of(url)
    return None if file is None else file.absolute()


def store_exists(url: str) -> bool:
    """Whether there is anything to open; a store in memory always is.

    Raises:
        ConfigurationError: The URL names no store.
    """
    file = store_file(url)
    return file is None or file.exists()


def check_policy(settings: Settings, things: Iterable[Any]) -> list[Finding]:
    """Everything there is to say about a configuration beside the tools it governs; errors first.

    Args:
        settings: The configuration.
        things: Whatever `gate.add` takes; without any, only the configuration itself is checked, and that is said.

    Raises:
        ConfigurationError: A thing is no tool, or the configuration cannot be put in force at all.
    """
    tools = _tools(things)
    if tools:
        return check(settings, tools)
    Policy(settings)
    text = "no tools are known here, so only the file itself was checked"
    return [Finding(WARNING, "modules", text)]


def try_policy(
    settings: Settings, things: Iterable[Any], *, cases: Sequence[Mapping[str, Any]], folder: Path
) -> list[CaseResult]:
    """Decide each case and compare with what it expects.

    Raises:
        ConfigurationError: A thing is no tool, or the configuration cannot be put in force.
    """
    return run_cases(Policy(settings, working_directory=folder), _tools(things), cases)


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of the configuration, for editors."""
    return json_schema()


def check_evidence(
    file: Path,
    *,
    public_keys: Mapping[str, bytes] | None = None,
    signed: bool = False,
    known: Collection[str] = (),
) -> Report:
    """Whether a package of evidence is what was recorded; without `public_keys`, by the keys it brings itself.

    If `signed`, one that is not signed itself is refused; `known` are fingerprints of keys that need no note.
    """
    from callgate.events.evidence import verify_evidence  # noqa: PLC0415 - zip, tar and signatures, rarely needed

    return verify_evidence(file, public_keys=public_keys, signed=signed, known=known)


def _tools(things: Iterable[Any]) -> list[Tool]:
    gate = Callgate.open("memory://")
    known: list[Any] = []
    beside: list[Tool] = []
    for thing in things:  # What servers have beside tools is in no registry: a slash is in no tool's name.
        (beside if isinstance(thing, Tool) and "/" in thing.name else known).append(thing)
    gate.add(*known, update=True)
    return [*gate.tools(), *beside]
