"""Templates: slots filled from the blackboard, with types, defaults and paths, and never filled twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py_trees.blackboard import Blackboard

from callgate import Context, tool
from callgate.errors import ConfigurationError
from callgate.flows.trees.statuses import NodeStatus
from callgate.flows.trees.templates import Missing, check, fill, keys_of
from callgate.testing import memory_gate

BOARD: dict[str, Any] = {
    "word": "tea",
    "number": 42,
    "flag": True,
    "nothing": None,
    "user": {"name": "Ada", "tags": ["a", {"deep": 1}], "none": None},
    "items": [1, 2, 3],
    "evil": "${bb.word}",
    "thing": object(),
}


def filled(template: Any) -> Any:
    check(template)
    return fill(template, BOARD.__getitem__)


@pytest.mark.requirement("BT-06")
@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("${bb.word}", "tea"),
        ("${bb.number}", 42),
        ("${bb.flag}", True),
        ("${bb.nothing}", None),
        ("${bb.items}", [1, 2, 3]),
        ("${bb.user}", BOARD["user"]),
        ("hot ${bb.word}!", "hot tea!"),
        ("${bb.number} and ${bb.flag} and ${bb.nothing}", "42 and true and null"),
        ("list: ${bb.items}", "list: [1,2,3]"),
        ("${bb.user.name}", "Ada"),
        ("${bb.user.tags.0}", "a"),
        ("${bb.user.tags.1.deep}", 1),
        ("of ${bb.user.name}", "of Ada"),
        ("no slot", "no slot"),
        ("$bb.word ${other.word} {bb.word}", "$bb.word ${other.word} {bb.word}"),
        (7, 7),
        (None, None),
        ({"a": "${bb.word}", "b": [{"c": "x ${bb.number}"}, 3]}, {"a": "tea", "b": [{"c": "x 42"}, 3]}),
        (("${bb.word}",), ["tea"]),
    ],
)
def test_slots_are_filled_with_their_types_alone_and_as_text_inside_text(template: Any, value: Any):
    assert filled(template) == value


@pytest.mark.requirement("BT-06")
@pytest.mark.parametrize(
    ("default", "value"),
    [
        ("42", 42),
        ("-7", -7),
        ("3.14", 3.14),
        ("true", True),
        ("False", False),
        ("null", None),
        ("None", None),
        ('"quoted"', "quoted"),
        ("'42'", "42"),
        ("plain", "plain"),
        ("two words", "two words"),
        ("", ""),
        ('"', '"'),
        ("nan", "nan"),
        ("1e5", "1e5"),
        ("9" * 30, "9" * 30),
    ],
)
def test_defaults_are_read_as_what_they_look_like(default: str, value: Any):
    for gap in ("", " "):
        assert filled(f"${{bb.absent{gap}|{gap}default:{default}}}") == value
    assert filled(f"${{bb.user.absent | default:{default}}}") == value
    assert filled(f"${{bb.number | default:{default}}}") == 42
    assert filled("x ${bb.absent | default:" + default + "}").startswith("x ")


@pytest.mark.requirement("BT-13")
@pytest.mark.parametrize(
    "path",
    [
        "absent",
        "user.absent",
        "word.upper",
        "items.9",
        "items.first",
        "nothing.a",
        "thing.__class__",
        "user.tags.1.deep.x",
    ],
)
def test_what_is_not_there_is_missing_and_never_none(path: str):
    with pytest.raises(Missing, match=f"the blackboard has no {path}"):
        filled(f"${{bb.{path}}}")
    with pytest.raises(Missing):
        filled({"a": [f"some ${{bb.{path}}}"]})


def test_what_was_filled_in_is_not_filled_again_and_what_has_no_text_is_told():
    assert filled("${bb.evil}") == "${bb.word}"
    assert filled("say ${bb.evil}") == "say ${bb.word}"
    with pytest.raises(Missing, match="thing on the blackboard has no text form"):
        filled("a ${bb.thing}")


@pytest.mark.parametrize(
    "text", ["${bb.}", "${bb.a", "${bb.a-b}", "${bb.a | defualt:3}", "x ${bb.a} ${bb.9}", "${bb.a..b}"]
)
def test_a_slot_that_cannot_be_read_is_refused_before_anything_runs(text: str):
    with pytest.raises(ValueError, match="has a slot that cannot be read"):
        check({"deep": [text]})

    @tool(effects="read_only")
    def echo(text: str) -> str:
        """Say it again."""
        return text

    gate = memory_gate(echo)
    with pytest.raises(ConfigurationError, match="a leaf of echo"):
        gate.leaf("echo", arguments={"text": text})


def test_the_keys_of_a_template_are_known_before_it_is_filled():
    assert keys_of({"a": "${bb.one.two} ${bb.three}", "b": ["${bb.four | default:1}", 7]}) == {"one", "three", "four"}


@given(st.text(), st.text())
def test_text_without_slots_stays_as_it_is_and_values_are_never_looked_into(text: str, value: str):
    if "${bb." not in text:
        assert fill(text, BOARD.__getitem__) == text
    assert fill("${bb.k}", lambda _: value) == value
    assert fill("<${bb.k}>", lambda _: value) == f"<{value}>"


@pytest.mark.requirement("BT-06", "BT-13")
async def test_a_leaf_fills_its_arguments_from_the_blackboard_or_fails_without_a_call():
    seen: list[str] = []

    @tool(effects="read_only")
    async def greet(text: str, times: int = 1) -> str:
        """Greet."""
        seen.append(text)
        return text * times

    Blackboard.set("who", {"name": "Ada"})
    async with memory_gate(greet) as gate:
        arguments = {"text": "hello ${bb.who.name}", "times": "${bb.times | default:2}"}
        leaf = gate.leaf("greet", arguments=arguments, result_key="said")
        assert (await gate.run_tree(leaf, Context(user="ada"))).status is NodeStatus.SUCCESS
        assert Blackboard.get("said") == "hello Adahello Ada"
        lost = gate.leaf("greet", arguments={"text": "${bb.nobody}"}, result_key="lost")
        assert (await gate.run_tree(lost, Context(user="ada"))).status is NodeStatus.FAILURE
        assert Blackboard.get("lost_error") == "the blackboard has no nobody"
        assert seen == ["hello Ada"]
