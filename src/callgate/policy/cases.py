"""Cases: decisions that a configuration is expected to give, and whether it gives them. What `policy test` runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from callgate.errors import InvalidArguments, ToolNotFoundError
from callgate.model.context import Context
from callgate.model.decision import Decision
from callgate.model.levels import Verdict
from callgate.model.tool import Arguments, Tool
from callgate.model.words import texts
from callgate.policy.answers import Facts
from callgate.policy.policy import Policy
from callgate.settings.wording import instead

_CONTEXT = frozenset(
    {"principal", "user", "session", "role", "scopes", "autonomy", "caller", "read_only", "no_web", "working_directory"}
)
_EXPECTED = frozenset({"expect", "code", "risk"})
_KNOWN = _CONTEXT | _EXPECTED | {"name", "tool", "arguments", "now", "repeated", "persons"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """How one case ended."""

    name: str
    """The case's own name, or the tool and its place in the list."""
    ok: bool
    faults: tuple[str, ...] = ()
    """What was expected and not found, or why the case could not be run."""
    decision: Decision | None = None
    usable: bool = True
    """False where the case itself is wrong, and says nothing about the configuration."""


class _Unusable(Exception):
    """The case itself is wrong."""


def run_cases(  # noqa: PLR0917 - said as it is read: these cases of these tools under this policy
    policy: Policy, tools: Iterable[Tool], cases: Sequence[Mapping[str, Any]]
) -> list[CaseResult]:
    """Decide each case and compare. A case that cannot be read fails, and says why.

    So does one that names a tool, a role or an argument that is not there: its no would be no answer of the policy.
    With `code: tool_not_found` or `code: invalid_arguments` it says that it means just that.
    """
    named = {tool.name: tool for tool in tools}
    return [_run(policy, named, case=case, place=place) for place, case in enumerate(cases, start=1)]


def _run(policy: Policy, named: Mapping[str, Tool], *, case: Any, place: int) -> CaseResult:
    name = f"case {place}"
    try:
        _refuse_unknown(case)
        name = str(case.get("name") or f"{name}: {case.get('tool')}")
        verdict, code, decision = _decide(policy, named, case=case)
    except _Unusable as error:
        return CaseResult(name=name, ok=False, faults=(str(error),), usable=False)
    faults = tuple(_differences(case, verdict=verdict, code=code, risk=decision.risk.label if decision else ""))
    return CaseResult(name=name, ok=not faults, faults=faults, decision=decision)


def _refuse_unknown(case: Any) -> None:
    if not isinstance(case, Mapping):
        raise _Unusable(f"a case is a mapping, not {type(case).__name__}")
    mapping = cast("Mapping[Any, Any]", case)
    unknown = sorted(str(key) for key in mapping if key not in _KNOWN)
    if unknown:
        raise _Unusable(f"unknown key {unknown[0]}; a case has {', '.join(sorted(_KNOWN))}")
    if mapping.get("expect") not in [verdict.label for verdict in Verdict]:
        raise _Unusable("expect must be allow, confirm, preview or deny")


def _decide(policy: Policy, named: Mapping[str, Tool], *, case: Mapping[str, Any]) -> tuple[str, str, Decision | None]:
    name = str(case.get("tool"))
    tool = named.get(name)
    if tool is None:
        return _refused(case, ToolNotFoundError.code, why=f"there is no tool {name}; {instead(name, sorted(named))}")
    given: Any = case.get("arguments", {})
    if not isinstance(given, Mapping):
        raise _Unusable("arguments must be a mapping")
    try:
        arguments: Arguments = tool.validator(cast("Mapping[str, Any]", given))
    except InvalidArguments as error:
        return _refused(case, error.code, why="; ".join(error.faults))
    _refuse_no_role(policy, case)
    decision = policy.explain(tool, arguments, _context(case), _facts(case))
    return decision.verdict.label, decision.code, decision


def _refused(case: Mapping[str, Any], code: str, *, why: str) -> tuple[str, str, None]:
    """The refusal of a call that no policy is asked about, where the case says that it means this one."""
    if case.get("code") != code:
        raise _Unusable(f"{why} (if that is what you expect, add `code: {code}`)")
    return Verdict.DENY.label, code, None


def _refuse_no_role(policy: Policy, case: Mapping[str, Any]) -> None:
    role = str(case.get("role"))
    if "role" in case and role not in policy.roles:
        raise _Unusable(f"there is no role {role}; {instead(role, policy.roles)}")


def _context(case: Mapping[str, Any]) -> Context:
    try:
        return Context(**{key: value for key, value in case.items() if key in _CONTEXT})
    except (ValueError, TypeError) as error:
        raise _Unusable(str(error)) from error


def _facts(case: Mapping[str, Any]) -> Facts:
    try:
        return Facts(
            now=float(case.get("now", 0)),
            repeated=bool(case.get("repeated", False)),
            persons=texts(case.get("persons", ()), name="persons"),
        )
    except (ValueError, TypeError) as error:
        raise _Unusable(str(error)) from error


def _differences(case: Mapping[str, Any], *, verdict: str, code: str, risk: str) -> Iterator[str]:
    found = {"expect": verdict, "code": code, "risk": risk}
    for key in ("expect", "code", "risk"):
        if key in case and case[key] != found[key]:
            yield f"expected {case[key]}, and it is {found[key] or 'nothing'}"
