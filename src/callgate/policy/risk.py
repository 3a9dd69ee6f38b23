"""Risk: the tool's base risk, and the adjusters that add a level or set a floor. None of them lowers.

A function of the tool that fails, or answers nonsense, counts as raising by a level: it has not said that it is safe.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from callgate.model.decision import Reason
from callgate.model.levels import Risk
from callgate.model.tool import Arguments, Tool
from callgate.policy.hooks import HookFailed, ask
from callgate.settings.values import RiskSettings


@dataclass(slots=True)
class Gauge:
    """A risk while it is being worked out: it goes up, with a reason each time, and never down."""

    risk: Risk
    reasons: list[Reason] = field(default_factory=list[Reason])

    def raise_one(self, because: str) -> None:
        """One level more, critical at most."""
        before, self.risk = self.risk, Risk(min(self.risk + 1, Risk.CRITICAL))
        change = f"stays {before}" if before is self.risk else f"goes from {before} to {self.risk}"
        self.reasons.append(Reason("risk", f"{because}: the risk {change}", raises=True))

    def raise_to(self, floor: Risk, because: str) -> None:
        """At least this level."""
        if floor > self.risk:
            before, self.risk = self.risk, floor
            self.reasons.append(Reason("risk", f"{because}: the risk goes from {before} to {floor}", raises=True))


def is_known(tool: Tool) -> bool:
    """Whether its base risk is one of the levels there are."""
    return isinstance(tool.base_risk, Risk)  # pyright: ignore[reportUnnecessaryIsInstance] - anyone can make a Tool


def base_risk(tool: Tool) -> Gauge:
    """What the declaration alone says: the least risk any call of it has."""
    if not is_known(tool):
        text = f"the base risk of {tool.name} is none there is, so it is critical"
        return Gauge(Risk.CRITICAL, [Reason("risk", text, raises=True)])
    gauge = Gauge(tool.base_risk, [_base_reason(tool)])
    if tool.egress and tool.effectful:
        gauge.raise_to(Risk.MEDIUM, f"{tool.name} sends data out and has effects")
    if tool.destructive and tool.risk_declared:
        gauge.raise_one(f"{tool.name} is destructive")
    return gauge


def _base_reason(tool: Tool) -> Reason:
    if tool.risk_declared or tool.read_only:
        how = "declared" if tool.risk_declared else "by its effects"
        return Reason("risk", f"the base risk of {tool.name} is {tool.base_risk} ({how})")
    missing = "no risk is declared" if tool.effects else "nothing is declared"
    return Reason("risk", f"{missing} for {tool.name}: its base risk is taken to be {tool.base_risk}", raises=True)


def depends_on_arguments(tool: Tool) -> bool:
    """Whether the tool brings a function that can raise the risk of a call."""
    hooks = tool.hooks
    return not (hooks.broadcast is None and hooks.targets is None and hooks.blast_radius is None)


def adjust(gauge: Gauge, tool: Tool, *, arguments: Arguments, thresholds: RiskSettings) -> None:
    """What the arguments add."""
    for because in _adjusters(tool, arguments, thresholds=thresholds):
        gauge.raise_one(because)


def _adjusters(tool: Tool, arguments: Arguments, *, thresholds: RiskSettings) -> Iterator[str]:
    hooks = tool.hooks
    yield from _asked("broadcast", hooks.broadcast, arguments=arguments, judge=_broadcasts)
    yield from _asked(
        "targets", hooks.targets, arguments=arguments, judge=lambda answer: _many(answer, thresholds.many_targets)
    )
    yield from _asked(
        "blast_radius",
        hooks.blast_radius,
        arguments=arguments,
        judge=lambda answer: _wide(answer, thresholds.blast_radius),
    )


def _asked(
    name: str, hook: Callable[[Arguments], Any] | None, *, arguments: Arguments, judge: Callable[[Any], str | None]
) -> Iterator[str]:
    if hook is None:
        return
    try:
        because = judge(ask(hook, arguments))
    except HookFailed as error:
        because = f"{name}() did not answer ({error}), which counts as a yes"
    except Exception as error:  # noqa: BLE001 - an answer that cannot even be looked at is no answer
        because = f"the answer of {name}() cannot be judged ({type(error).__name__}), which counts as a yes"
    if because is not None:
        yield because


def _broadcasts(answer: Any) -> str | None:
    return "it reaches an open-ended audience" if answer else None


def _many(answer: Any, most: int) -> str | None:
    count = _count(answer, most)
    return None if count <= most else f"it reaches more than {most} targets"


def _count(answer: Any, most: int) -> int:
    if answer is None:
        return 0
    if isinstance(answer, str):
        return 1
    if isinstance(answer, int):
        return int(answer)
    return sum(1 for _ in itertools.islice(cast("Iterable[Any]", answer), most + 1))


def _wide(answer: Any, most: int) -> str | None:
    if answer <= most:
        return None
    # What compares as nothing is no number: the tool says that nobody can tell.
    return f"it touches more than {most} things" if answer > most else "how many things it touches is not known before"
