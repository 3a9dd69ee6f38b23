"""Running what the tools show as their examples: what a model reads there has to work."""

from __future__ import annotations

from callgate import Callgate, Context
from callgate.model.levels import Autonomy


async def run_examples(gate: Callgate, *names: str) -> None:
    """Call each tool with each of its examples, at the autonomy that asks nobody."""
    tools = {tool.name: tool for tool in gate.tools()}
    for name in names:
        assert tools[name].examples, f"{name} shows no example"
        for at, example in enumerate(tools[name].examples):
            asker = Context(autonomy=Autonomy.A4, idempotency_key=f"{name}-{at}")
            outcome = await gate.call(name, dict(example), asker)
            assert outcome.ok, f"{name} {example}: {outcome}"
