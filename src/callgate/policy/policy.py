"""Policy: one configuration that answers who may do what. Compiled once per change; only what it protects may grow.

Everything that does not depend on a call's arguments is worked out once per tool and authority, and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from callgate.errors import ConfigurationError
from callgate.model.context import Context
from callgate.model.decision import Decision, Reason
from callgate.model.grounds import Grounds
from callgate.model.levels import Verdict
from callgate.model.tool import Arguments, Tool
from callgate.policy.admission import Admission
from callgate.policy.answers import Authorization, Facts, Standing, name_asker
from callgate.policy.conditions import Subject
from callgate.policy.decide import Decider, Question, lasts
from callgate.policy.explain import explained, refused
from callgate.policy.layers import CompiledRule
from callgate.policy.resources import NOTHING_SOUGHT, Resources, Sought
from callgate.policy.risk import base_risk
from callgate.policy.terms import work_out
from callgate.settings.values import Settings

__all__ = ["Authorization", "Facts", "Policy", "Standing"]

MOST_STANDINGS = 16_384
"""So many answers are remembered; beyond it, remembering starts anew."""


class Policy:
    """Who may do what, and which risk asks for which answer.

    Args:
        settings: The configuration.
        working_directory: Where relative paths resolve when a context says nothing; None is the process's own.
        own_paths: Callgate's own files and folders, out of reach of every tool.

    Raises:
        ConfigurationError: A selector, a condition, the matrix or a time zone in the settings is wrong.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        working_directory: str | Path | None = None,
        own_paths: Iterable[Path | str] = (),
    ) -> None:
        try:
            self._admission = Admission(settings)
            self._decider = Decider(settings)
        except ConfigurationError as error:
            line = settings.lines.get(error.key or "")
            raise ConfigurationError(error.message, file=settings.file, line=line, key=error.key) from error
        self.resources = Resources(settings.families, working_directory=working_directory, own_paths=own_paths)
        """Where calls may reach; it may be told of more that no tool may."""
        self._settings = settings
        self._standings: dict[object, Standing] = {}

    def standing(self, tool: Tool, context: Context) -> Standing:
        """Whether this context may use the tool at all. Costs one look-up once it is known."""
        standing = self._standings.get((tool.id, context.authority))
        # An id may be given by hand, and given again to another definition.
        if standing is None or standing.tool is not tool:
            standing = self._learn(tool, context)
        return standing if standing.refusal is None else standing.told_to(context.principal)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles there are."""
        return tuple(self._admission.roles)

    def grounds(self, tool: Tool, context: Context) -> Grounds:
        """Where a tool may go in this context, for what a running handler meets on its way."""
        return self.resources.grounds(tool, context)

    def admitter(self, context: Context) -> Callable[[Tool], bool]:
        """Whether a tool belongs into this context's pool, by the rules that judge the call, without words.

        Nothing is worked out or kept for a tool that only stands in a pool: of its thousands, few are called.
        """
        return self._admission.admitter(context)

    def sought(self, arguments: Arguments, *, context: Context, standing: Standing) -> Sought:
        """What the arguments name, to be judged where it lies: `authorize` is told what came of it."""
        reach = standing.terms.reach
        return NOTHING_SOUGHT if reach is None else self.resources.seek(reach, arguments, context=context)

    def authorize(  # noqa: PLR0917 - the words of the way of a call, in their order
        self,
        tool: Tool,
        arguments: Arguments,
        context: Context,
        standing: Standing,
        touched: Authorization | None = None,
    ) -> Authorization:
        """The part of authorize that depends on the arguments: what they touch, and denials with a condition.

        Args:
            tool: What is called.
            arguments: Validated.
            context: Who asks.
            standing: Of the tool in this context.
            touched: What came of what was `sought`; None: it is judged here.
        """
        if touched is None:
            touched = self.sought(arguments, context=context, standing=standing).judge()
        denied = tuple(_denials(standing.terms.refusing, Subject(tool, arguments, context)))
        if not denied:
            return touched
        reasons = (*touched.reasons, *denied)
        return Authorization(refusal=reasons[0], reasons=reasons, resources=touched.resources)

    def decide(  # noqa: PLR0917 - the words of the way of a call, in their order
        self,
        tool: Tool,
        arguments: Arguments,
        context: Context,
        *,
        standing: Standing,
        authorization: Authorization,
        facts: Facts,
    ) -> Decision:
        """The gate's decision about a call. One that was not authorized is denied, with the code that refused it."""
        refusal = standing.refusal or authorization.refusal
        known = None
        if refusal is None and not facts.label_reasons and not facts.unknown:
            known = self.remembered(standing, repeated=facts.repeated, now=facts.now)
        if known is not None:
            return known
        decision = self._decider.decide(Question(tool, arguments, context, standing.terms, facts))
        if refusal is None:
            self._remember(standing, facts, decision)
            return decision
        return refused(decision, refusal=refusal, reasons=(*standing.reasons, *authorization.reasons))

    def explain(  # noqa: PLR0917 - the words of the way of a call, in their order
        self, tool: Tool, arguments: Arguments, context: Context, facts: Facts, touched: Authorization | None = None
    ) -> Decision:
        """The decision with every reason, layer by layer, also those after the first refusal; `touched` as above."""
        standing = self.standing(tool, context)
        authorization = self.authorize(tool, arguments, context, standing, touched)
        decision = self._decider.decide(Question(tool, arguments, context, standing.terms, facts))
        trace = (name_asker(reason, context.principal) for reason in self._admission.trace(tool, context))
        return explained(decision, trace=trace, standing=standing, authorization=authorization)

    def remembered(self, standing: Standing, *, repeated: bool, now: float) -> Decision | None:
        """The decision that a call has in common with every other at such an hour, where no labels tighten it."""
        if standing.fixed is not None and not repeated:
            return standing.fixed
        return standing.decided.get((repeated, self._decider.is_quiet(now))) if standing.lasting else None

    def _remember(self, standing: Standing, facts: Facts, decision: Decision) -> None:  # noqa: PLR0917
        # Who may answer a *confirm +* depends on who asks.
        if standing.lasting and not facts.label_reasons and not facts.unknown and not decision.plus:
            standing.decided[facts.repeated, self._decider.is_quiet(facts.now)] = decision

    def _learn(self, tool: Tool, context: Context) -> Standing:
        if len(self._standings) >= MOST_STANDINGS:
            self._standings.clear()
        standing = self._standings[tool.id, context.authority] = self._judge(tool, context)
        return standing

    def _judge(self, tool: Tool, context: Context) -> Standing:
        reasons = tuple(reason for reason in self._admission.trace(tool, context) if reason.code)
        terms = work_out(tool, context, admission=self._admission, settings=self._settings)
        return Standing(
            tool=tool,
            refusal=reasons[0] if reasons else None,
            reasons=reasons,
            terms=terms,
            risk=base_risk(tool).risk,
            fixed=None if reasons else self._decider.fixed(tool, context, terms=terms),
            lasting=lasts(tool, terms),
        )


def _denials(rules: Iterable[CompiledRule], subject: Subject) -> Iterator[Reason]:
    for rule in rules:
        held = rule.holds(subject)
        if held.applies:
            yield Reason(rule.step, rule.told(held), Verdict.DENY, "policy_denied")
