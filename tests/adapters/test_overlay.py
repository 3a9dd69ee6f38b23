"""A foreign tool under an accepted declaration: as the person said, and only for what the person saw."""

from __future__ import annotations

from typing import Any

import pytest

from callgate.adapters.overlay import lay_over
from callgate.errors import ConfigurationError
from callgate.model.levels import Effect, Risk
from callgate.model.tool import Tool
from tests.registry.making import from_server


def bare(**facts: Any) -> Tool:
    body: dict[str, Any] = {"declared": False, "effects": frozenset(), "destructive": True, "untrusted_output": True}
    return from_server("gh.get", **{**body, **facts})


def over(tool: Tool, **fields: Any) -> Tool:
    return lay_over(tool, fields, definition_hash=tool.as_given.definition_hash)


def test_the_accepted_declaration_counts_with_all_that_follows_from_it():
    tool = over(bare(), effects=["read_only", "network_access"])
    assert (tool.declared, tool.read_only, tool.destructive, tool.base_risk) == (True, True, False, Risk.LOW)
    assert (tool.egress, tool.untrusted_output, tool.concurrency_safe) == (True, True, True)
    assert tool.definition_hash != bare().definition_hash
    assert tool.as_given.definition_hash == bare().definition_hash


def test_what_was_not_said_is_assumed_worst():
    tool = over(bare(), effects=["system_state"])
    assert (tool.destructive, tool.idempotent, tool.base_risk) == (True, False, Risk.HIGH)


def test_another_definition_declares_nothing_whatever_it_claims():
    claiming = bare(declared=True, effects=frozenset({Effect.READ_ONLY}), base_risk=Risk.LOW)
    tool = lay_over(claiming, {"effects": ["read_only"]}, definition_hash="0" * 64)
    assert not tool.declared
    assert tool.as_given is claiming


def test_what_the_source_says_against_itself_stands_unless_the_person_said_otherwise():
    tool = bare(sensitive_output=True, scopes=frozenset({"mcp:connect"}))
    kept = over(tool, effects=["read_only"], scopes=["fs:read"])
    assert kept.sensitive_output
    assert kept.untrusted_output
    assert kept.scopes == {"mcp:connect", "fs:read"}
    said = over(tool, effects=["read_only"], sensitive_output=False, untrusted_output=False)
    assert not said.sensitive_output
    assert not said.untrusted_output


def test_what_the_source_claims_for_itself_is_not_taken_over():
    tool = over(bare(idempotent=True, deterministic=True, concurrency_safe=True), effects=["system_state"])
    assert (tool.idempotent, tool.deterministic, tool.concurrency_safe) == (False, False, False)


def test_a_declaration_over_a_declaration_begins_with_what_the_source_gave():
    first = over(bare(), effects=["read_only"])
    second = over(first, effects=["system_state"])
    assert second.as_given.definition_hash == bare().definition_hash
    assert not second.read_only


def test_a_declaration_that_contradicts_itself_is_refused():
    with pytest.raises(ConfigurationError, match="read_only"):
        over(bare(), effects=["read_only"], destructive=True)
