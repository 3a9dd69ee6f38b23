"""What two contexts of one asker may both do."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context
from callgate.model.layer import Layer
from callgate.model.levels import Autonomy

ONE, OTHER = Layer(name="one", deny=("pay",)), Layer(name="other", deny=("send",))
WHO: dict[str, Any] = {"principal": "p", "user": "ann", "session": "s", "role": "r"}
TRACE: dict[str, Any] = {"trace_id": "t"}


@pytest.mark.parametrize(
    ("asked", "collects", "both"),
    [
        ({}, {}, {}),
        ({"scopes": ["a", "b"]}, {"scopes": ["b", "c"]}, {"scopes": ["b"]}),
        ({"scopes": ["a"]}, {}, {"scopes": ["a"]}),
        ({}, {"scopes": []}, {"scopes": []}),
        ({"autonomy": "A3"}, {"autonomy": "A1"}, {"autonomy": "A1"}),
        ({"autonomy": "A0"}, {"autonomy": "A4"}, {"autonomy": "A0"}),
        ({"timeout": 5}, {"timeout": 4}, {"timeout": 4}),
        ({}, {"timeout": 4}, {"timeout": 4}),
        ({}, {"read_only": True}, {"read_only": True}),
        ({"no_web": True}, {}, {"no_web": True}),
        ({"layers": [ONE]}, {"layers": [OTHER, ONE]}, {"layers": [OTHER, ONE]}),
        (
            {"working_directory": "/srv/a", "outer_directories": ["/srv"]},
            {"working_directory": "/srv"},
            {"working_directory": "/srv/a", "outer_directories": ["/srv"]},
        ),
    ],
    ids=str,
)
def test_it_is_the_less_of_both(asked: dict[str, Any], collects: dict[str, Any], both: dict[str, Any]) -> None:
    met = Context(**WHO, **TRACE, **asked).meet(Context(**WHO, trace_id="another", **collects))
    assert met == Context(**WHO, **TRACE, **both)


@pytest.mark.parametrize(("asked", "collects"), [("A4", None), (None, "A0")])
def test_a_level_over_the_configurations_is_a_ceiling(asked: str | None, collects: str | None) -> None:
    one, other = (Context(**WHO, autonomy=None if each is None else Autonomy[each]) for each in (asked, collects))
    met = one.meet(other)
    assert met.autonomy is None
    assert [layer.max_autonomy for layer in met.layers] == [Autonomy[asked or collects or ""]]


def test_what_names_the_call_is_the_askers_and_what_it_comes_in_with_the_collectors() -> None:
    asked = Context(**WHO, task_id="t", idempotency_key="k", intent="pay the rent", credential="old", expires_at=1.0)
    met = asked.meet(Context(**WHO, credential="new"))
    assert (met.task_id, met.idempotency_key, met.intent) == ("t", "k", "pay the rent")
    assert (met.trace_id, met.credential, met.expires_at) == (asked.trace_id, "new", None)


@pytest.mark.parametrize("name", ["principal", "user", "session", "role"])
def test_there_is_nothing_that_two_askers_may_both_do(name: str) -> None:
    other: dict[str, Any] = WHO | {name: "x"}
    with pytest.raises(ValueError, match=f"asked for with the {name} '{WHO[name]}', and this is 'x'"):
        Context(**WHO).meet(Context(**other))


@pytest.mark.parametrize("where", [None, "/srv/b", "/srv/a/b"], ids=["the gate's", "beside", "below"])
def test_nor_in_directories_of_which_none_was_narrowed_from_the_other(where: str | None) -> None:
    with pytest.raises(ValueError, match="it was asked for in /srv/a"):
        Context(**WHO, working_directory="/srv/a").meet(Context(**WHO, working_directory=where))


@pytest.mark.parametrize("changes", [{"credential": "mine"}, {"expires_at": None}], ids=str)
def test_narrowing_does_not_change_what_somebody_came_in_with(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot change"):
        Context(credential="theirs", expires_at=1.0).narrow(**changes)
