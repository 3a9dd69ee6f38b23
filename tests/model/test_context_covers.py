"""Whether one context may do all that another may; what cannot be known is a no."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context
from callgate.model.context_form import context_from_json, context_to_json
from callgate.model.layer import Layer

OUTER, INNER = Layer(name="outer", deny=("pay",)), Layer(name="inner", deny=("send",))
WHO: dict[str, Any] = {"principal": "p", "user": "ann", "session": "s", "role": "r"}


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ({"scopes": ["a", "b"]}, {"scopes": ["a"]}),
        ({"autonomy": "A3"}, {"autonomy": "A2"}),
        ({"timeout": 5}, {"timeout": 4}),
        ({}, {"timeout": 4}),
        ({"working_directory": "/srv"}, {"working_directory": "/srv/a", "outer_directories": ["/srv"]}),
        ({}, {"read_only": True}),
        ({}, {"no_web": True}),
        ({"layers": [OUTER]}, {"layers": [OUTER, INNER]}),
    ],
    ids=["scopes", "autonomy", "timeout", "no timeout", "directory", "read_only", "no_web", "layers"],
)
def test_what_may_do_more_covers_what_may_do_less_and_not_the_other_way_round(
    wide: dict[str, Any], narrow: dict[str, Any]
) -> None:
    more, less = Context(**WHO, **wide), Context(**WHO, **narrow)
    assert more.covers(less)
    assert more.covers(more)
    assert less.covers(less)
    assert not less.covers(more)


@pytest.mark.parametrize("name", ["principal", "user", "session", "role"])
def test_nobody_covers_somebody_else(name: str) -> None:
    other: dict[str, Any] = WHO | {name: "other"}
    assert not Context(**WHO).covers(Context(**other))


@pytest.mark.parametrize(
    "said",
    [{"scopes": ["a"]}, {"autonomy": "A4"}, {"working_directory": "/srv"}],
    ids=["scopes", "autonomy", "directory"],
)
def test_what_is_left_to_the_configuration_covers_nothing_that_is_said_and_is_not_covered_by_it(
    said: dict[str, Any],
) -> None:
    assert not Context(**WHO).covers(Context(**WHO, **said))
    assert not Context(**WHO, **said).covers(Context(**WHO))


def test_a_directory_inside_of_another_is_covered_if_it_was_narrowed_from_it() -> None:
    """What is granted may be relative: somebody who began there may reach what the other does not."""
    wide = Context(**WHO, working_directory="/srv")
    narrow = wide.narrow(working_directory="/srv/a").narrow(working_directory="/srv/a/b")
    assert narrow.outer_directories == ("/srv", "/srv/a")
    assert wide.covers(narrow)
    assert not narrow.covers(wide)
    assert not wide.covers(Context(**WHO, working_directory="/srv/a/b"))
    assert context_from_json(context_to_json(narrow)) == narrow
    with pytest.raises(ValueError, match="outer_directories"):
        narrow.narrow(outer_directories=())
    assert narrow.narrow(working_directory="/srv/a/b", outer_directories=["/srv", "/srv/a"]) == narrow


def test_layers_in_another_order_are_others() -> None:
    assert not Context(**WHO, layers=(OUTER, INNER)).covers(Context(**WHO, layers=(INNER, OUTER)))
