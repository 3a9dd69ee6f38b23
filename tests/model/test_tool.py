"""What a tool's definition hash covers: everything it declares, so that no change goes unseen."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pytest

from callgate.model.levels import Caller, Effect, Origin, Risk
from callgate.model.tool import LOOSENING, TIGHTENING, YES_OR_NO, Arguments, Hooks, Tool
from callgate.registry.trust import declaration
from tests.registry.making import compare

NOT_DECLARED = {
    "handler": "the code itself; `code_digest` stands for it",
    "validator": "made from the input schema",
    "output_check": "made from the output schema",
    "is_async": "how the handler is run, not what it does",
    "id": "another one at each start",
    "risk_declared": "how the base risk came about; `base_risk` is what counts",
    "unavailable": "whether it can be called now",
    "config_ref": "the account its calls act for, which every fingerprint and approval binds by itself",
    "original": "what it was made from",
    "given": "the same tool with less declared, which has a hash of its own",
    "definition_hash": "the hash itself",
    "read_only": "follows from the effects",
    "plain_read": "follows from effects, egress and scopes",
    "side_effects": "follows from the effects",
    "written": "name and id",
}
"""What the definition hash leaves out, and why."""

CHANGES: dict[str, Any] = {
    "name": "b",
    "description": "Other.",
    "input_schema": {"type": "object"},
    "output_schema": {},
    "connector": "mail",
    "source": Origin.MCP,
    "source_name": "github",
    "foreign_name": "createIssue",
    "category": "web",
    "tags": ("x",),
    "capabilities": ("x",),
    "scopes": frozenset({"net:outbound"}),
    "effects": frozenset({Effect.READ_ONLY}),
    "destructive": True,
    "idempotent": True,
    "deterministic": True,
    "concurrency_safe": True,
    "base_risk": Risk.LOW,
    "timeout": 5.0,
    "allowed_callers": frozenset({Caller.CHAIN}),
    "untrusted_output": True,
    "sensitive_output": True,
    "egress": True,
    "isolation": "process",
    "horizon": 1.0,
    "examples": ({"a": 1},),
    "declared": False,
    "marks_effect": True,
    "code_digest": "x",
    "hooks": Hooks(check=print),
    "claims": {"readOnlyHint": True},
}


def same(arguments: Mapping[str, Any], /) -> Arguments:
    return dict(arguments)


TOOL = Tool(name="a", description="Does something.", input_schema={}, handler=None, validator=same)
MADE = {field.name for field in fields(Tool) if field.init}


def test_every_field_is_covered_by_the_hash_or_left_out_for_a_reason():
    assert set(CHANGES) | set(NOT_DECLARED) == {field.name for field in fields(Tool)}
    assert set(CHANGES) & set(NOT_DECLARED) == set()


@pytest.mark.parametrize("field", CHANGES)
def test_whatever_is_declared_otherwise_changes_the_hash_and_can_be_named(field: str):
    changed = replace(TOOL, **{field: CHANGES[field]})
    assert changed.definition_hash != TOOL.definition_hash
    if field != "name":
        assert declaration(changed) != declaration(TOOL), "what the pins remember tells it too"
        assert str(compare(TOOL, changed)) not in {"nothing changed", "different: definition changed"}


def test_a_hash_is_what_stores_remember_of_the_same_definition():
    known = (
        "ddb00522f11548b5d54a59f106c5d9ed3d8878c93af25038322545e981f0e1ac",
        "f2ffa078a3d3c558674f4063bd435cde08b0724d17ef1903d11406ba32830ad6",
    )
    assert (TOOL.definition_hash, replace(TOOL, **CHANGES).definition_hash) == known


def test_every_flag_of_a_tool_is_told_to_tighten_or_to_loosen():
    assert sorted((*TIGHTENING, *LOOSENING)) == sorted((*YES_OR_NO, "declared", "marks_effect"))


@pytest.mark.parametrize("hook", Hooks.__slots__)
def test_every_hook_that_comes_or_goes_changes_the_hash(hook: str):
    brought: dict[str, Any] = {hook: print}
    changed = replace(TOOL, hooks=Hooks(**brought))
    assert changed.definition_hash != TOOL.definition_hash
    assert hook in str(compare(TOOL, changed))


LEFT_OUT: dict[str, Any] = {
    "handler": print,
    "validator": dict,
    "output_check": str,
    "is_async": True,
    "id": "other",
    "risk_declared": True,
    "unavailable": "no code",
    "config_ref": "bank/main",
    "original": object(),
    "given": TOOL,
}


@pytest.mark.parametrize("field", sorted(MADE & set(NOT_DECLARED)))
def test_what_is_not_declared_leaves_the_hash_as_it_is(field: str):
    assert replace(TOOL, **{field: LEFT_OUT[field]}).definition_hash == TOOL.definition_hash
