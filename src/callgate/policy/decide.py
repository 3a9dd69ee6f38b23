"""Decide: risk with its adjusters, the matrix, and the overrides, which only strengthen. The gate's step 5.

Knows the call, the policy's terms for it and the facts it is told; asks nobody, looks nothing up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from callgate.model.context import Context
from callgate.model.decision import Decision, Reason
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.model.person import person_key
from callgate.model.tool import Arguments, Tool
from callgate.policy.answers import Facts, Terms
from callgate.policy.conditions import Held, Subject
from callgate.policy.layers import CompiledRule
from callgate.policy.quiet_hours import Quiet
from callgate.policy.risk import Gauge, adjust, base_risk, depends_on_arguments, is_known
from callgate.policy.scopes import ANY, family_of, touches_secrets
from callgate.policy.tally import Tally
from callgate.settings.matrix import resolve_matrix
from callgate.settings.values import Settings

_NO_FACTS = Facts(now=0.0)

Applied = tuple[CompiledRule, Held]


@dataclass(frozen=True, slots=True)
class Question:
    """One call to decide about."""

    tool: Tool
    arguments: Arguments
    context: Context
    terms: Terms
    facts: Facts = _NO_FACTS


class Decider:
    """The matrix, the overrides and the thresholds of one configuration.

    Raises:
        ConfigurationError: The matrix is not monotone, or a time zone does not exist.
    """

    def __init__(self, settings: Settings) -> None:
        self._matrix = resolve_matrix(settings.matrix)
        self._asking = frozenset(name for name, family in settings.families.items() if family.requires_approval)
        self._thresholds = settings.risk
        self._confirm = settings.approvals.confirm
        self._quiet = Quiet(settings.quiet_hours)

    def decide(self, question: Question) -> Decision:
        """The decision, with every reason that led there."""
        tool, terms = question.tool, question.terms
        applied = list(_applied(question))
        gauge = self._risk(question, applied)
        tally = Tally(self._confirm)
        self._consult_matrix(tally, question, risk=gauge.risk)
        self._override(tally, question, risk=gauge.risk)
        _heed_rules(tally, applied)
        _heed_labels(tally, question.facts.label_reasons)
        _settle_plus(tally, question)
        decision = Decision(
            verdict=tally.verdict,
            risk=gauge.risk,
            autonomy=terms.autonomy,
            reasons=(*terms.notes, *gauge.reasons, *tally.reasons),
            code="gate_denied" if tally.verdict is Verdict.DENY else "",
            by=tally.by,
            assurance=tally.assurance,
            plus=tally.plus,
            grantable=tally.grantable,
            on_expiry="proceed" if _may_proceed(tool, tally, applied=applied) else "reject",
        )
        return _observe(decision, question)

    def fixed(self, tool: Tool, context: Context, *, terms: Terms) -> Decision | None:
        """The decision about every call of this tool, when nothing but the tool and the authority can change it."""
        if tool.egress or tool.destructive or not lasts(tool, terms):
            return None
        decision = self.decide(Question(tool, {}, context, terms))
        # From medium up, a repetition and the hour count.
        return decision if decision.risk is Risk.LOW and not decision.plus else None

    def is_quiet(self, now: float) -> bool:
        """Whether that moment is in quiet hours."""
        return self._quiet.covers(now)

    def _risk(self, question: Question, applied: Iterable[Applied]) -> Gauge:
        gauge = base_risk(question.tool)
        adjust(gauge, question.tool, arguments=question.arguments, thresholds=self._thresholds)
        for rule, held in applied:
            if rule.rule.risk is not None:
                gauge.raise_to(rule.rule.risk, rule.told(held))
        raising = [reason.text for reason in question.facts.label_reasons if reason.verdict is None]
        if raising:
            gauge.raise_one("; ".join(raising))
        self._heed_past(gauge, question.facts)
        return gauge

    def _heed_past(self, gauge: Gauge, facts: Facts) -> None:
        """What happened already, or may have, would happen twice."""
        if facts.unknown:
            text = f"an equal call under key {facts.unknown} has an unknown outcome, so that this may happen twice"
            if gauge.risk >= Risk.MEDIUM:
                gauge.raise_one(text)
            else:
                gauge.reasons.append(Reason("risk", text, raises=True))
        elif facts.repeated and gauge.risk >= Risk.MEDIUM:
            minutes = self._thresholds.repeat_window / 60
            gauge.raise_one(f"an identical call of this session succeeded within the last {minutes:g} minutes")

    def _consult_matrix(self, tally: Tally, question: Question, *, risk: Risk) -> None:
        tool, terms = question.tool, question.terms
        if not terms.autonomy_known or not is_known(tool):
            tally.at_least(Verdict.DENY, step="matrix", text="an unknown level of autonomy or risk is denied")
        elif tool.read_only and risk is Risk.LOW:
            tally.at_least(Verdict.ALLOW, step="matrix", text="reading at low risk is allowed at every autonomy")
        else:
            verdict, tally.plus = self._matrix[terms.autonomy][risk]
            word = f"{verdict} +" if tally.plus else str(verdict)
            tally.at_least(verdict, step="matrix", text=f"{risk} risk at autonomy {terms.autonomy} is {word}")
        if terms.max_risk is not None and risk > terms.max_risk:
            text = f"the layer {terms.max_risk_layer!r} allows {terms.max_risk} risk at most, and this is {risk}"
            tally.at_least(Verdict.DENY, step=f"layer:{terms.max_risk_layer}", text=text)

    def _override(self, tally: Tally, question: Question, *, risk: Risk) -> None:
        tool, terms = question.tool, question.terms
        if touches_secrets(tool.scopes):
            tally.ask_a_person(step="override", text=f"{tool.name} touches secrets: at least confirm")
            tally.ask_anew()
        for family in self._asking_families(tool):
            tally.ask_a_person(step="override", text=f"the scope family {family} requires approval: at least confirm")
        if risk >= Risk.MEDIUM and self._quiet.covers(question.facts.now):
            tally.ask_a_person(step="override", text=f"these are quiet hours: {risk} risk is at least confirm")
        if tool.destructive and terms.autonomy < Autonomy.A4:
            text = f"{tool.name} is destructive: at least confirm below A4"
            tally.at_least(Verdict.CONFIRM, step="override", text=text)
        if tool.effectful and terms.autonomy is Autonomy.A0:
            tally.at_least(Verdict.PREVIEW, step="override", text="A0 never executes an effect: at least preview")

    def _asking_families(self, tool: Tool) -> list[str]:
        wanted = {family_of(scope) for scope in tool.scopes}
        return sorted(self._asking if ANY in wanted else self._asking & wanted)


def lasts(tool: Tool, terms: Terms) -> bool:
    """Whether neither the arguments nor an observe mode that ends can change the decision about a call of this tool."""
    conditional = any(rule.condition is not None for rule in terms.rules)
    return not (terms.observed or conditional or depends_on_arguments(tool))


def _applied(question: Question) -> Iterator[Applied]:
    subject = Subject(question.tool, question.arguments, question.context)
    for rule in question.terms.rules:
        held = rule.holds(subject)
        if held.applies:
            yield rule, held


def _heed_rules(tally: Tally, applied: Iterable[Applied]) -> None:
    for rule, held in applied:
        if rule.verdict is not None:
            tally.at_least(rule.verdict, step=rule.step, text=f"{rule.told(held)}: at least {rule.verdict}")
        tally.needs(by=rule.rule.by, assurance=rule.rule.assurance)


def _heed_labels(tally: Tally, reasons: Iterable[Reason]) -> None:
    for reason in reasons:
        tally.ask_anew()
        if reason.verdict is not None:
            tally.at_least(reason.verdict, step=reason.step, text=reason.text)


def _settle_plus(tally: Tally, question: Question) -> None:
    """What *confirm +* asks for: a signed-in person where there are any, and another than the user if there is one."""
    if not tally.plus:
        return
    persons, user = question.facts.persons, question.context.user
    tally.needs(assurance=Assurance.SIGNED_IN if persons else Assurance.LOCAL)
    others = {person_key(person) for person in persons} - {None if user is None else person_key(user)}
    if len(others) > (1 if user is None else 0):
        tally.needs(by=ConfirmBy.OTHER)


def _may_proceed(tool: Tool, tally: Tally, *, applied: Iterable[Applied]) -> bool:
    """Whether silence lets the call run: the operator says so, nothing that asks says otherwise, it can be undone."""
    speaking = [(rule, held) for rule, held in applied if rule.rule.on_expiry or rule.verdict is Verdict.CONFIRM]
    willing = all(rule.rule.on_expiry == "proceed" and held.certain for rule, held in speaking)
    by_operator = any(rule.configured and rule.rule.on_expiry for rule, _ in speaking)
    return willing and by_operator and tool.hooks.undo is not None and tally.grantable and tally.silence_answers


def _observe(decision: Decision, question: Question) -> Decision:
    running = [mode for mode in question.terms.observed if mode.since <= question.facts.now < mode.until]
    executes_at_a0 = question.tool.effectful and question.terms.autonomy is Autonomy.A0
    if not running or decision.verdict is Verdict.DENY or executes_at_a0:
        return decision
    told = f"observe mode by {running[0].by} for {running[0].source}: it runs, and {decision.verdict} is only recorded"
    reason = Reason("observe", told, Verdict.ALLOW)
    return replace(decision, verdict=Verdict.ALLOW, observed=decision.verdict, reasons=(*decision.reasons, reason))
