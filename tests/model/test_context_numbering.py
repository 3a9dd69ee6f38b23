"""The contexts of the calls of one flow: the same in everything but the call's number."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from callgate import Context
from callgate.model.context import numbering
from callgate.model.layer import Layer
from callgate.model.levels import Autonomy, Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine(Context):
    """A context with more in it."""

    more: str = ""


def test_a_numbered_context_is_the_same_in_everything_else() -> None:
    context = Context(
        principal="p",
        user="ann",
        session="s",
        role="r",
        scopes=frozenset({"fs:read"}),
        autonomy=Autonomy.A3,
        task_id="t",
        working_directory="/somewhere",
        timeout=5,
        caller=Caller.CHAIN,
        chain_id="c",
        read_only=True,
        layers=(Layer(name="l"),),
    )
    numbered = numbering(context)
    other = numbered(7)
    assert other == replace(context, chain_index=7)
    assert numbered(0) == context
    assert (hash(other), other.authority) == (hash(replace(context, chain_index=7)), context.authority)
    assert all(hasattr(other, each.name) for each in fields(Context))


def test_a_context_of_another_class_stays_one() -> None:
    context = Mine(more="and more")
    assert numbering(context)(3) == replace(context, chain_index=3)
