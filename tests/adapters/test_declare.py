"""What a tool may declare, and what is assumed where it declares nothing."""

from typing import Any

import pytest

from callgate.adapters.declare import MAX_ARGUMENT_BYTES, declare
from callgate.errors import ConfigurationError
from callgate.model.levels import Caller, Effect, Origin, Risk


def test_nothing_declared_is_assumed_worst():
    nothing = declare()
    assert nothing.declared is False
    assert nothing.effects == frozenset()
    assert nothing.base_risk is Risk.HIGH
    assert nothing.risk_declared is False
    assert nothing.destructive is True
    assert nothing.concurrency_safe is False
    assert nothing.idempotent is False
    assert nothing.deterministic is False
    assert nothing.allowed_callers == {Caller.DIRECT}
    assert nothing.max_argument_bytes == MAX_ARGUMENT_BYTES


@pytest.mark.parametrize(
    "effects", ["read_only", ["read_only"], {"read_only"}, ("read_only",), Effect.READ_ONLY, [Effect.READ_ONLY]]
)
def test_effects_are_one_word_a_list_or_a_set(effects: Any):
    assert declare(effects=effects).effects == {Effect.READ_ONLY}


def test_read_only_implies_low_risk_and_concurrency_safe_unless_stated():
    plain = declare(effects="read_only")
    assert (plain.base_risk, plain.concurrency_safe, plain.destructive) == (Risk.LOW, True, False)
    stated = declare(effects="read_only", risk="high", concurrency_safe=False)
    assert (stated.base_risk, stated.concurrency_safe) == (Risk.HIGH, False)


@pytest.mark.parametrize("other", ["network_access", "calls_llm"])
def test_read_only_combines_with_reading_from_afar(other: str):
    assert len(declare(effects=["read_only", other]).effects) == 2


@pytest.mark.parametrize("other", ["local_exec", "modifies_files", "system_state"])
def test_read_only_combines_with_nothing_that_changes_anything(other: str):
    with pytest.raises(ConfigurationError, match=f"read_only combines with .* not with {other}"):
        declare(effects=["read_only", other])


def test_a_reading_tool_cannot_be_destructive():
    with pytest.raises(ConfigurationError, match="read_only and destructive"):
        declare(effects="read_only", destructive=True)


def test_an_effect_without_a_risk_is_high_and_destructive():
    silent = declare(effects="modifies_files")
    assert (silent.base_risk, silent.destructive, silent.risk_declared) == (Risk.HIGH, True, False)
    careful = declare(effects="modifies_files", destructive=False)
    assert (careful.base_risk, careful.destructive) == (Risk.HIGH, False)


def test_a_stated_risk_stands_and_is_not_destructive_by_itself():
    stated = declare(effects="modifies_files", risk="low")
    assert (stated.base_risk, stated.risk_declared, stated.destructive) == (Risk.LOW, True, False)
    assert declare(effects="modifies_files", risk=Risk.CRITICAL).base_risk is Risk.CRITICAL


def test_destructive_does_not_raise_the_base_risk_here():
    assert declare(effects="modifies_files", risk="medium", destructive=True).base_risk is Risk.MEDIUM


def test_effectful_egress_is_at_least_medium_and_reading_egress_stays_low():
    assert declare(effects="network_access", risk="low").base_risk is Risk.MEDIUM
    assert declare(effects="network_access", risk="high").base_risk is Risk.HIGH
    assert declare(effects="network_access", risk="low", egress=False).base_risk is Risk.LOW
    assert declare(effects=["read_only", "network_access"]).base_risk is Risk.LOW


@pytest.mark.parametrize(
    "fields", [{"effects": "network_access"}, {"scopes": "net:outbound"}, {"scopes": "mcp:connect"}]
)
def test_who_reaches_the_network_is_assumed_to_let_data_out_and_untrusted_text_in(fields: dict[str, Any]):
    assumed = declare(**fields)
    assert (assumed.egress, assumed.untrusted_output) == (True, True)
    stated = declare(**fields, egress=False, untrusted_output=False)
    assert (stated.egress, stated.untrusted_output) == (False, False)


@pytest.mark.parametrize(
    ("fields", "declared"),
    [
        ({}, False),
        ({"risk": "low"}, False),
        ({"effects": []}, False),
        ({"scopes": []}, False),
        ({"effects": "modifies_files"}, True),
        ({"scopes": "fs:read"}, True),
        ({"check": print}, True),
    ],
)
def test_declared_needs_effects_scopes_or_a_check(fields: dict[str, Any], declared: bool):
    assert declare(**fields).declared is declared


@pytest.mark.parametrize(
    "scope", ["fs", "fs:", ":read", "fs:read:x", "FS:read", "fs:*", "fs read", "", "fs:re\u200bad"]
)
def test_a_malformed_scope_is_refused(scope: str):
    with pytest.raises(ConfigurationError):
        declare(scopes=[scope])


@pytest.mark.parametrize("scope", ["fs:read", "net:outbound", "shell:execute", "my_crm:contacts.read"])
def test_a_scope_is_family_and_verb(scope: str):
    assert declare(scopes=scope).scopes == {scope}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"effect": "read_only"}, "did you mean 'effects'"),
        ({"effects": "readonly"}, "did you mean 'read_only'"),
        ({"effects": 3}, "a word or a list of words"),
        ({"effects": {"read_only": True}}, "a word or a list of words"),
        ({"risk": "extreme"}, "low, medium, high, critical"),
        ({"timeout": 0}, "more than 0"),
        ({"timeout": -1}, "more than 0"),
        ({"timeout": float("inf")}, "more than 0"),
        ({"timeout": float("nan")}, "more than 0"),
        ({"timeout": True}, "more than 0"),
        ({"timeout": "30"}, "more than 0"),
        ({"horizon": -1}, "0 or more"),
        ({"destructive": "no"}, "True or False"),
        ({"allowed_callers": "everyone"}, "use direct, chain"),
        ({"allowed_callers": []}, "nobody could call"),
        ({"isolation": "container"}, "thread, process"),
        ({"tags": [""]}, "not empty"),
        ({"tags": ["a\u202eb"]}, "hidden characters"),
        ({"category": "x" * 500}, "too long"),
        ({"description": b"x"}, "must be text"),
        ({"examples": {"text": "x"}}, "a list of arguments"),
        ({"examples": [{"text": float("nan")}]}, "JSON object"),
        ({"output_schema": [1]}, "JSON object"),
        ({"max_argument_bytes": 0}, "1 or more"),
        ({"check": "yes"}, "must be a function"),
        ({"source": "elsewhere"}, "unknown word"),
        ({"name": 3}, "name is text"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(fields: dict[str, Any], words: str):
    with pytest.raises(ConfigurationError, match=words) as caught:
        declare(**fields)
    assert caught.value.key == next(iter(fields))


def test_none_is_the_same_as_not_stated():
    assert declare(effects=None, risk=None, check=None).declared is False


def test_more_fields_stand_before_what_was_stated_and_the_rules_apply_again():
    first = declare(effects="read_only", name="look")
    second = first.with_more({"effects": "modifies_files", "risk": "medium"})
    assert (second.name, second.base_risk, second.concurrency_safe) == ("look", Risk.MEDIUM, False)
    assert first.with_more({}) is first
    assert first.base_risk is Risk.LOW


def test_what_was_given_cannot_be_changed_afterwards():
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    declaration = declare(output_schema=schema, examples=[schema])
    schema["properties"]["x"] = {}
    assert declaration.output_schema == {"type": "object", "properties": {}}
    assert declaration.examples[0] == {"type": "object", "properties": {}}


def test_hidden_characters_in_a_description_are_shown():
    assert declare(description="safe\u200b\u202etext").description == "safe<U+200B><U+202E>text"


def test_the_other_fields_are_kept():
    def undo(arguments: dict[str, Any], output: Any) -> None: ...

    declaration = declare(
        allowed_callers=["direct", "chain"], source="builtin", tags=["a", "b", "a"], capabilities="c", undo=undo,
        timeout=3, horizon=1, isolation="process", config_ref="db:1", category="web", connector="mail",
    )  # fmt: skip
    assert declaration.allowed_callers == {Caller.DIRECT, Caller.CHAIN}
    assert declaration.source is Origin.BUILTIN
    assert declaration.tags == ("a", "b")
    assert declaration.capabilities == ("c",)
    assert declaration.hooks.undo is undo
    assert (declaration.timeout, declaration.horizon, declaration.isolation) == (3.0, 1.0, "process")
    assert (declaration.config_ref, declaration.category, declaration.connector) == ("db:1", "web", "mail")
