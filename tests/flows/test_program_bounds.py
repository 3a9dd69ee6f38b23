"""Schemas that refer to themselves, and texts that are cut: what is made of them is bounded by work, not by time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.flows.program.hints import Hints
from callgate.flows.program.stand_in import stand_in
from callgate.model.canonical import dumps
from callgate.runtime.program_text import Printed, shown

SECRETS = ["first-secret", "second-secret-first-secret-end", "x" * 200]


class Counted(dict[str, Any]):
    """Definitions of a schema that count how often somebody looks at them."""

    looks = 0

    def get(self, key: Any, default: Any = None) -> Any:
        self.looks += 1
        if self.looks > 100_000:
            pytest.fail("nobody needs to look at a schema so often")
        return super().get(key, default)


def test_a_schema_of_many_ways_to_itself_is_any_after_some_parts() -> None:
    definitions = Counted(a={"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/a"}}] * 200})
    assert "Any" in Hints(definitions).hint({"$ref": "#/$defs/a"})
    assert definitions.looks <= 500


def test_one_tool_has_one_bound_for_all_its_parameters() -> None:
    definitions = Counted(a={"anyOf": [{"type": "string"}] * 100})
    hints = Hints(definitions)
    told = [hints.hint({"$ref": "#/$defs/a"}) for _ in range(1000)]
    assert (told[0], told[-1]) == ("str", "Any")
    assert definitions.looks <= 500


@pytest.mark.parametrize(
    "choices",
    [["x" * 100_000], [10**5000], list(range(100)), []],
    ids=["a long text", "a long number", "many", "none"],
)
def test_a_choice_that_is_long_is_any(choices: list[Any]) -> None:
    assert Hints({}).hint({"enum": choices}) == "Any"


def test_a_stand_in_of_a_schema_that_holds_itself_many_times_is_small() -> None:
    definitions = Counted(a={"type": "object", "properties": {f"p{i}": {"$ref": "#/$defs/a"} for i in range(30)}})
    value = stand_in({"$ref": "#/$defs/a", "$defs": definitions})
    assert set(value) <= {f"p{i}" for i in range(30)}
    assert definitions.looks <= 2_000


def test_what_a_schema_gives_as_a_default_stands_in_until_it_is_too_much() -> None:
    definitions = {"a": {"default": ["x" * 20_000]}}
    properties = {f"p{i}": {"$ref": "#/$defs/a"} for i in range(1000)}
    value = stand_in({"type": "object", "properties": properties, "$defs": definitions})
    assert value["p0"] == ["x" * 20_000]
    assert value["p900"] is None
    assert len(dumps(value)) < 200_000


def strike(text: str) -> str:
    for secret in sorted(SECRETS, key=len, reverse=True):
        text = re.sub(f"({secret})+", "[struck]", text)
    return text


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([*SECRETS, "-", "plain text ", "\n"]), max_size=30), st.integers(1, 500))
def test_no_cut_shows_a_part_of_a_secret(pieces: list[str], most: int) -> None:
    text = "".join(pieces) * 2000
    printed = Printed(most)
    for at in range(0, len(text), 5000):
        printed.add(text[at : at + 5000])
    for told in (printed.shown(strike), shown(text, strike, most=most)):
        assert strike(text).startswith(told.removesuffix("\n[more was printed than is kept]"))
