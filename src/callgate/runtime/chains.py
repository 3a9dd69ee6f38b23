"""Chains: the face of a gate that makes calls written down as a short text. The text is read, never evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError
from callgate.events.vocabulary import CHAIN_REFUSED
from callgate.flows.chain.analysis import Analysis, analyse, in_sequence, link
from callgate.flows.chain.chain import DEP, SEQ, Chain
from callgate.flows.chain.faults import ChainRefused, Diagnostic
from callgate.flows.chain.script import Script, read_script
from callgate.formats.names import wire_names
from callgate.model.ids import uuid7
from callgate.model.levels import Caller
from callgate.runtime.chain_run import ChainRun, note_chain
from callgate.runtime.chain_text import bind_text
from callgate.runtime.entering import without_secrets
from callgate.runtime.opened import Face, Opened, at_once

if TYPE_CHECKING:
    from callgate.flows.chain.analysis import Link
    from callgate.model.context import Context
    from callgate.model.tool import Tool


class Chains(Face):
    """Making chains."""

    async def chain(
        self,
        source: str,
        context: Context | None = None,
        mode: str = DEP,
        *,
        parallel_mutations: bool = False,
        wait: float | None = None,
        concurrency: int | None = None,
    ) -> Chain:
        """Make the calls of a text such as `a = search(q="x"); b = read(a["first"])`.

        It has assignments and calls of tools, with literals, earlier results and what is in them; nothing else.
        The whole is refused before anything runs where it cannot be read, or calls a tool that a chain may not.

        Args:
            source: The text.
            context: Who asks; the gate's own when left out. Its `idempotency_key` is the key of the chain: the same
                text under it goes on where it stopped, and runs nothing twice; another text is refused.
            mode: "dep" makes calls in waves, by the results they take and by the order of effects; "seq" in sequence.
            parallel_mutations: Let calls that change something share a wave where their tools are concurrency-safe.
            wait: Seconds that each call waits for a person where one has to decide; at once Pending when left out.
            concurrency: How many calls run at once; the configuration's `batch_concurrency` when left out.

        Returns:
            What became of it. A wave in which a call does not succeed is the last.

        Raises:
            ConfigurationError: The mode is unknown, or `concurrency` is no number of calls.
        """
        opened, most = self._open(), at_once(self._open(), concurrency)
        if mode not in {DEP, SEQ}:
            raise ConfigurationError(f'mode must be "{DEP}" or "{SEQ}", not {mode!r}')
        ground = _in_chain(without_secrets(opened.parts, context or opened.default_context))
        chain = Chain(
            chain_id=ground.chain_id or "",
            key=ground.idempotency_key or "",
            mode_requested=mode,
            mode_used=mode,
            parallel_mutations_enabled=parallel_mutations,
        )
        try:
            script = read_script(source)
            analysis = _analysed(opened, script, ground, mode=mode, parallel_mutations=parallel_mutations)
            await bind_text(opened.parts, source, ground)
        except ChainRefused as refused:
            return _refused(opened, chain, ground, refused)
        run = ChainRun(opened, chain, ground, analysis)
        return await run.make(script, wait=wait, at_once=most)


def _in_chain(context: Context) -> Context:
    """The context its calls are made under. A chain inside of another's call is a chain of its own."""
    key = context.idempotency_key or uuid7()
    named = context.chain_id if context.caller is Caller.DIRECT else None
    return replace(context, caller=Caller.CHAIN, chain_id=named or key, idempotency_key=key)


def _analysed(opened: Opened, script: Script, context: Context, *, mode: str, parallel_mutations: bool) -> Analysis:
    links = link(script, _finder(opened))
    _refuse_blocked(opened, links, context)
    return in_sequence(links) if mode == SEQ else analyse(links, parallel_mutations=parallel_mutations)


def _finder(opened: Opened) -> Callable[[str], Tool | None]:
    """Tools by their names, or by the names that travel to providers, which are those a model knows."""
    snapshot = opened.parts.registry.snapshot

    def find(name: str) -> Tool | None:
        found = snapshot.find(name)
        if found is not None or "__" not in name:
            return found
        known = wire_names(tool.name for tool in opened.parts.registry.list_tools())
        return next((snapshot.find(own) for own, wire in known.items() if wire == name), None)

    return find


def _refuse_blocked(opened: Opened, links: tuple[Link, ...], context: Context) -> None:
    """Refuse the whole where one of its tools may not be called from a chain, or not by this asker at all."""
    faults: list[Diagnostic] = []
    blocked: set[str] = set()
    for made in links:
        refusal = opened.parts.policy.standing(made.tool, context).refusal
        if refusal is not None:
            blocked.add(made.tool.name)
            faults.append(Diagnostic(made.written.line, made.written.column, refusal.text))
    if blocked:
        message = f"Blocked tools: {', '.join(sorted(blocked))}"
        raise ChainRefused(*faults, code="policy_denied", message=message)


def _refused(opened: Opened, chain: Chain, context: Context, refused: ChainRefused) -> Chain:
    strike = opened.parts.striker.strike_text
    chain.error = strike(str(refused))
    chain.diagnostics = tuple(each._replace(message=strike(each.message)) for each in refused.diagnostics)
    faults = [each.to_json() for each in chain.diagnostics]
    note_chain(opened, chain, context, CHAIN_REFUSED, code=refused.code, message=chain.error, diagnostics=faults)
    return chain
