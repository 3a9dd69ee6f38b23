"""What an operator foresaw needs no look: new tools, changed ones, and never what became looser or is held by hand."""

from typing import Any

from callgate.model.levels import Effect, Origin
from callgate.registry.health import HealthBoard
from callgate.registry.registry import Registry
from callgate.testing import HandClock
from tests.registry.making import make

HOUSE = (Origin.PLUGIN, "house")


def registry_with(**facts: Any) -> Registry:
    registry = Registry(HealthBoard(HandClock()))
    registry.take_source(*HOUSE, tools=[plugin("one", **facts)])
    return registry


def plugin(name: str, **facts: Any):
    return make(name, source=Origin.PLUGIN, source_name="house", **facts)


def test_a_new_tool_is_let_go_and_a_changed_one_only_when_that_was_said():
    registry = registry_with(code_digest="a")
    changed, new = plugin("one", code_digest="b"), plugin("two")
    registry.take_source(*HOUSE, tools=[changed, new])
    assert set(registry.quarantined) == {"one", "two"}
    registry.quarantine.expected([changed, new], changed=False)
    assert set(registry.quarantined) == {"one"}
    registry.quarantine.expected([changed], changed=True)
    assert set(registry.quarantined) == set()


def test_what_became_looser_stays_held():
    registry = registry_with(effects=frozenset({Effect.MODIFIES_FILES}))
    looser = plugin("one", effects=frozenset({Effect.READ_ONLY}))
    registry.take_source(*HOUSE, tools=[looser])
    registry.quarantine.expected([looser], changed=True)
    assert set(registry.quarantined) == {"one"}


def test_what_is_held_by_hand_and_what_is_no_longer_there_are_left_alone():
    registry = registry_with()
    new = plugin("two")
    registry.take_source(*HOUSE, tools=[plugin("one"), new])
    registry.quarantine.hold({"one": "look at it"})
    registry.quarantine.expected([plugin("one"), plugin("two", description="Other.")], changed=True)
    assert set(registry.quarantined) == {"one", "two"}


def test_nobody_is_told_of_a_quarantine_that_was_foreseen():
    registry = registry_with()
    told: list[dict[str, str]] = []
    registry.on_change(lambda changes: told.append(dict(changes.quarantined)))
    new = plugin("two")
    changes, _ = registry.take_source(
        *HOUSE,
        tools=[plugin("one"), new],
        judged=lambda: registry.quarantine.expected([new], changed=False),
    )
    assert (dict(changes.quarantined), told) == ({}, [{}])
