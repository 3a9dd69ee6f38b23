"""Every limit of a context means the same wherever contexts are narrowed, compared or put together."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from callgate import Context
from callgate.model.context import LIMITS
from callgate.model.layer import Layer

WHO = {"principal", "user", "session", "role", "intent", "credential", "expires_at"}
"""Who asks, and what they said and came in with: narrowing changes none of it."""
NAMES = {"trace_id", "task_id", "step_id", "idempotency_key", "chain_id", "chain_index"}
"""What a call is called; it bounds nothing."""
ELSEWHERE = {"working_directory", "outer_directories", "timeout"}
"""Limits that the policy's static answer does not depend on."""

LESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "scopes": ({"scopes": {"a", "b"}}, {"scopes": {"a"}}),
    "autonomy": ({"autonomy": "A3"}, {"autonomy": "A1"}),
    "timeout": ({"timeout": 5.0}, {"timeout": 4.0}),
    "read_only": ({}, {"read_only": True}),
    "no_web": ({}, {"no_web": True}),
    "working_directory": ({"working_directory": "/srv"}, {"working_directory": "/srv/a"}),
    "layers": ({}, {"layers": (Layer(name="less", deny=("pay",)),)}),
}
"""For each limit a context, and what makes it less."""


def test_every_field_is_a_limit_says_who_asks_or_is_a_name():
    assert sorted([*LIMITS, *WHO, *NAMES, "authority"]) == sorted(field.name for field in fields(Context))
    assert set(LESS) == set(LIMITS) - {"caller", "outer_directories"}


@pytest.mark.parametrize("name", LESS)
def test_what_is_narrowed_is_covered_is_what_both_may_do_and_cannot_be_widened_again(name: str):
    before, change = LESS[name]
    wide = Context(trace_id="t", **before)
    narrow = wide.narrow(**change)
    assert wide.covers(narrow)
    assert not narrow.covers(wide)
    assert narrow.meet(wide) == narrow
    if name != "working_directory":  # of two directories, the one that was asked for has to be the inner one
        assert wide.meet(narrow) == narrow
    assert (wide.authority == narrow.authority) is (name in ELSEWHERE)
    if name == "layers":
        assert narrow.narrow(layers=()) == narrow
        return
    with pytest.raises(ValueError, match=f"cannot widen {name}"):
        narrow.narrow(**{name: getattr(wide, name)})
