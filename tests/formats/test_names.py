"""Names that travel: accepted by every provider, one for each tool, and back to exactly that tool."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.formats.names import wire_names
from callgate.model.naming import check_name

ACCEPTED = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
NAMES = st.one_of(
    st.text(max_size=100),
    st.from_regex(r"[a-z_.:]{1,8}", fullmatch=True),
    st.from_regex(r"[a-z]{60,70}(\.[a-z]{1,4})?", fullmatch=True),
    st.sampled_from(["a.b", "a__b", "a..b", "a.__b", "a:b", "a/b", "a_b", "", "send.é", "\ud800"]),
)


@pytest.mark.requirement("SCH-15")
@given(st.lists(NAMES, max_size=30))
def test_any_set_of_names_travels_in_an_accepted_form_and_maps_back(names: list[str]):
    wires = wire_names(names)
    assert set(wires) == set(names)
    assert all(ACCEPTED.match(wire) for wire in wires.values())
    assert len(set(wires.values())) == len(wires)
    back = {wire: name for name, wire in wires.items()}
    assert [back[wires[name]] for name in names] == names


@given(st.lists(NAMES, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_the_names_changes_nothing(names: list[str], dice: random.Random):
    shuffled = list(names)
    dice.shuffle(shuffled)
    assert wire_names(shuffled) == wire_names(names)


@pytest.mark.requirement("SCH-15")
def test_a_dot_travels_as_two_underscores_and_a_colon_with_a_digest():
    wires = wire_names(["schedule.create", "toolkit:tool", "word_count"])
    assert wires["schedule.create"] == "schedule__create"
    assert wires["word_count"] == "word_count"
    assert re.fullmatch(r"toolkit_tool_[0-9a-f]{12}", wires["toolkit:tool"])


def test_names_that_would_meet_are_kept_apart_and_one_that_is_accepted_keeps_its_own():
    wires = wire_names(["a.b", "a__b", "a:b", "a/b"])
    assert wires["a__b"] == "a__b"
    assert len(set(wires.values())) == 4


def test_a_name_made_to_look_like_the_form_of_another_does_not_take_it():
    form = wire_names(["toolkit:tool"])["toolkit:tool"]
    wires = wire_names(["toolkit:tool", form])
    assert wires[form] == form
    assert wires["toolkit:tool"] != form


def test_names_that_take_every_digest_of_another_leave_it_one():
    target, taken = "toolkit:tool", set[str]()
    for _ in range(60):
        taken.add(wire_names([target, *taken])[target])
    wires = wire_names([target, *taken])
    assert ACCEPTED.match(wires[target])
    assert wires[target] not in taken


@given(
    st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,4}){0,3}(\.[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,4})?)?", fullmatch=True)
)
def test_a_name_that_may_be_registered_travels_alike_in_every_pool(name: str):
    check_name(name)
    assert wire_names([name]) == {name: name.replace(".", "__")}
    assert wire_names([name, "other.tool", "a:b"])[name] == name.replace(".", "__")
