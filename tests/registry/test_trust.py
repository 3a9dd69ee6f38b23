"""What counts as looser, what as stricter, and what is merely different."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.levels import Caller, Effect, Origin, Risk
from callgate.model.tool import Hooks
from callgate.registry.trust import Change, declaration, is_declaration
from tests.registry.making import compare, make

READ = frozenset({Effect.READ_ONLY})
WRITE = frozenset({Effect.MODIFIES_FILES})
BOTH = frozenset({Effect.MODIFIES_FILES, Effect.NETWORK_ACCESS})
DIRECT = frozenset({Caller.DIRECT})
ANY_CALLER = frozenset({Caller.DIRECT, Caller.CHAIN})


def hook(*_arguments: Any) -> Any:
    """Does nothing."""


STRICT_AND_LOOSE: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"effects": WRITE}, {"effects": READ}, "effect modifies_files dropped, effect read_only added"),
    ({"effects": BOTH}, {"effects": WRITE}, "effect network_access dropped"),
    ({"base_risk": Risk.HIGH}, {"base_risk": Risk.LOW}, "risk from high to low"),
    ({"scopes": frozenset({"fs:write"})}, {}, "scope fs:write dropped"),
    ({}, {"allowed_callers": ANY_CALLER}, "caller chain added"),
    ({"hooks": Hooks(check=hook)}, {}, "hook check dropped"),
    ({"hooks": Hooks(resources=hook)}, {}, "hook resources dropped"),
    ({"hooks": Hooks(redact=hook)}, {}, "hook redact dropped"),
    ({"hooks": Hooks(blast_radius=hook)}, {}, "hook blast_radius dropped"),
    ({"isolation": "process"}, {}, "isolation now thread"),
    ({"horizon": 60.0}, {"horizon": 5.0}, "horizon from 60.0 to 5.0 s"),
    ({"declared": False}, {}, "declared set"),
    *[
        ({flag: True}, {}, f"{flag} dropped")
        for flag in ("destructive", "untrusted_output", "sensitive_output", "egress")
    ],
    *[
        ({}, {flag: True}, f"{flag} set")
        for flag in ("idempotent", "deterministic", "concurrency_safe", "marks_effect")
    ],
]


@pytest.mark.parametrize(("strict", "loose", "said"), STRICT_AND_LOOSE)
def test_one_way_is_looser_and_the_way_back_stricter(strict: dict[str, Any], loose: dict[str, Any], said: str):
    there = compare(make("a", **strict), make("a", **loose))
    back = compare(make("a", **loose), make("a", **strict))
    assert ", ".join(there.loosened) == said
    assert there.tightened == back.loosened == ()
    assert len(back.tightened) == len(there.loosened)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"description": "Something else."}, "description changed"),
        ({"input_schema": {"type": "object"}}, "input schema changed"),
        ({"output_schema": {"type": "object"}}, "output schema changed"),
        ({"code_digest": "abc"}, "code changed"),
        ({"timeout": 900.0}, "timeout changed"),
        ({"connector": "other"}, "connector changed"),
        ({"tags": ("x",)}, "tags changed"),
        ({"category": "x"}, "category changed"),
        ({"capabilities": ("x",)}, "capabilities changed"),
        ({"examples": ({"to": "x"},)}, "examples changed"),
        ({"source": Origin.PLUGIN}, "source changed"),
        ({"hooks": Hooks(undo=hook)}, "undo added"),
    ],
)
def test_what_has_no_direction_is_merely_different(change: dict[str, Any], said: str):
    assert compare(make("a"), make("a", **change)) == Change(other=(said,))
    assert len(compare(make("a", **change), make("a")).other) == 1


def test_no_change_is_falsy_and_says_so():
    assert not Change()
    assert str(Change()) == "nothing changed"


def test_a_change_nobody_can_name_is_still_a_change():
    assert compare(make("a"), make("b")) == Change(other=("definition changed",))


def test_all_three_kinds_are_told_in_one_line():
    change = compare(make("a", destructive=True), make("a", "Other.", egress=True))
    assert change
    assert str(change) == "looser: destructive dropped; stricter: egress set; different: description changed"


def test_hidden_characters_of_a_declaration_are_told_escaped():
    change = compare(make("a", scopes=frozenset({"x\u202ey"})), make("a"))
    assert change.loosened == ("scope x<U+202E>y dropped",)


facts = st.fixed_dictionaries(
    {},
    optional={
        "effects": st.sampled_from([READ, WRITE, BOTH]),
        "destructive": st.booleans(),
        "idempotent": st.booleans(),
        "base_risk": st.sampled_from(Risk),
        "scopes": st.frozensets(st.sampled_from(["fs:read", "fs:write"])),
        "allowed_callers": st.sampled_from([DIRECT, ANY_CALLER]),
        "hooks": st.sampled_from([Hooks(), Hooks(check=hook), Hooks(redact=hook)]),
        "description": st.sampled_from(["x", "y"]),
    },
)


@given(facts, facts)
def test_looser_one_way_is_stricter_the_other(one: dict[str, Any], other: dict[str, Any]):
    there = compare(make("a", **one), make("a", **other))
    back = compare(make("a", **other), make("a", **one))
    assert len(there.loosened) == len(back.tightened)
    assert len(there.tightened) == len(back.loosened)
    assert bool(there) == bool(back) == (make("a", **one).definition_hash != make("a", **other).definition_hash)


def test_a_declaration_is_recognised_and_anything_else_is_not():
    whole = declaration(make("a"))
    assert is_declaration(whole)
    assert not is_declaration(None)
    assert not is_declaration({**whole, "effects": "read_only"})
    assert not is_declaration({**whole, "scopes": [1]})
    assert not is_declaration({**whole, "risk": 0})
    assert not is_declaration({**whole, "horizon": None})
    assert not is_declaration({**whole, "source": []})
    for key in whole:
        assert not is_declaration({name: value for name, value in whole.items() if name != key})
