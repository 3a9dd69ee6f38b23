"""Flat permissions decide as their layer does, and deny-first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.compat import PolicyLayer, ToolPermissions, permissions_to_policy, resolve_policy_chain
from callgate.model.context import Context
from callgate.model.layer import LayerKind
from callgate.settings.values import Role, Settings
from callgate.testing import memory_gate
from tests.compat.making import TOOLS, make

WORDS = st.lists(st.sampled_from([*TOOLS, "group:read", "group:typo", "no such tool!"]), max_size=4).map(tuple)
CATEGORIES = st.lists(st.sampled_from(["file", "code", "web", "data", "math", "no category!"]), max_size=4).map(tuple)
PERMISSIONS = st.builds(ToolPermissions, st.booleans(), CATEGORIES, WORDS, WORDS)


def usable(permissions: ToolPermissions) -> set[str]:
    return {name for name, tool in TOOLS.items() if permissions.can_use_tool(tool)}


@pytest.mark.requirement("POL-01")
def test_a_forbidden_tool_is_refused_though_its_category_and_an_allow_admit_it():
    permissions = ToolPermissions(
        allowed_categories=("file",), allowed_tools=("write_file",), forbidden_tools=("write_file",)
    )
    assert usable(permissions) == {"list_dir", "read_file", "search_files", "edit_file"}


@pytest.mark.requirement("POL-02")
def test_an_allowed_tool_is_admitted_though_its_category_is_not():
    assert usable(ToolPermissions(allowed_categories=("math",), allowed_tools=("run_shell",))) == {
        "calculate",
        "run_shell",
    }


@pytest.mark.requirement("POL-03")
def test_a_web_tool_needs_web_access_besides_and_an_explicit_allow_does_not_replace_it():
    assert usable(ToolPermissions(web_access=True, allowed_categories=("web",))) == {"web_fetch"}
    assert usable(ToolPermissions(web_access=False, allowed_categories=("web",))) == set()
    assert usable(ToolPermissions(web_access=False, allowed_tools=("web_fetch",))) == set()
    assert usable(ToolPermissions(web_access=True)) == set()


def test_without_web_access_no_tool_uses_the_network_whatever_its_category():
    assert usable(ToolPermissions(allowed_categories=("data",))) == set()
    silent = make("silent", scopes="data:read", category="data")
    assert not ToolPermissions(allowed_tools=("silent",)).can_use_tool(silent)
    assert ToolPermissions(web_access=True, allowed_tools=("silent",)).can_use_tool(silent)


@pytest.mark.requirement("POL-04")
def test_permissions_without_a_list_admit_nothing():
    assert usable(ToolPermissions()) == set()
    assert usable(ToolPermissions(web_access=True)) == set()


def test_what_cannot_be_read_never_widens():
    assert usable(ToolPermissions(allowed_tools=("group:typo",))) == set()
    assert usable(ToolPermissions(allowed_tools=("group:read",), forbidden_tools=("group:typo",))) == set()
    assert usable(ToolPermissions(allowed_tools="c*")) == {"calculate"}  # pyright: ignore[reportArgumentType]


@pytest.mark.requirement("POL-14")
@given(PERMISSIONS)
def test_flat_permissions_as_a_layer_decide_every_tool_as_the_flat_check(permissions: ToolPermissions):
    layer = permissions_to_policy("worker", permissions, TOOLS)
    assert resolve_policy_chain([layer], TOOLS) == usable(permissions)
    assert permissions_to_policy("worker", permissions, TOOLS.values()) == layer


@pytest.mark.requirement("POL-14")
def test_empty_permissions_as_a_layer_admit_nothing():
    layer = permissions_to_policy("worker", ToolPermissions(), TOOLS)
    assert layer.allow == frozenset()
    assert resolve_policy_chain([PolicyLayer("global"), layer], TOOLS) == frozenset()


@pytest.mark.requirement("POL-15")
async def test_a_global_deny_holds_for_every_role_and_a_roles_own_layer_replaces_its_flat_permissions():
    flat = permissions_to_policy("worker", ToolPermissions(allowed_categories=("file", "code")), TOOLS)
    own = PolicyLayer("worker", allow=frozenset({"group:all"}), deny=frozenset({"group:write"}))
    denied = PolicyLayer("house", deny=frozenset({"raw_exec", "read_file"}))

    async def pool(layer: PolicyLayer) -> set[str]:
        role = Role(name="worker", scopes=frozenset({"*"}), layer=layer.as_layer(LayerKind.ROLE))
        settings = Settings(global_layer=denied.as_layer(LayerKind.GLOBAL), roles={"worker": role})
        async with memory_gate(*TOOLS.values(), config=settings) as gate:
            return set(gate.pool(Context(role="worker")).names)

    assert await pool(flat) == {"list_dir", "search_files", "write_file", "edit_file", "run_shell"}
    assert await pool(own) == {"list_dir", "search_files", "web_fetch", "calculate"}
