"""Who may use what: the listing and the call are judged by the same rules, and every limit only narrows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Callgate, Context, Outcome, tool
from callgate.model.layer import Layer, LayerKind
from callgate.settings.values import Role, Settings
from callgate.testing import memory_gate

ALL = {"read_note", "write_note", "web_fetch", "http_post", "unpack"}
SELECTORS = st.lists(st.sampled_from([*ALL, "group:all", "group:read", "group:web", "group:typo", "*", "w*"])).map(
    tuple
)
LAYERS = st.lists(st.builds(Layer, name=st.just("any"), allow=st.none() | SELECTORS, deny=SELECTORS), max_size=3)


@tool(effects="read_only")
async def read_note() -> str:
    """Read."""
    return "read"


@tool(effects="modifies_files", risk="low")
async def write_note() -> str:
    """Write."""
    return "written"


@tool(effects=["read_only", "network_access"])
async def web_fetch() -> str:
    """Fetch."""
    return "fetched"


@tool(effects="network_access", category="data", risk="low")
async def http_post() -> str:
    """Send, under a name and a category that say nothing of it."""
    return "sent"


@tool(scopes="archive:extract", risk="low")
async def unpack() -> str:
    """Says what it needs, and not what it does."""
    return "unpacked"


def house(settings: Settings | None = None) -> Callgate:
    return memory_gate(read_note, write_note, web_fetch, http_post, unpack, config=settings or Settings())


async def allowed(gate: Callgate, context: Context) -> set[str]:
    """The names that pass, by the listing and by the call alike."""
    listed = set(gate.pool(context).names)
    refused = {name for name in ALL if _denied(await gate.call(name, {}, context))}
    assert listed == ALL - refused
    return listed


def _denied(outcome: Outcome) -> bool:
    return outcome.error is not None and outcome.error.code == "policy_denied"


@pytest.mark.requirement("POL-17")
async def test_a_read_only_context_refuses_everything_that_is_not_declared_read_only():
    async with house() as gate:
        assert await allowed(gate, Context()) == ALL
        assert await allowed(gate, Context(read_only=True)) == {"read_note", "web_fetch"}


@pytest.mark.requirement("POL-18")
async def test_a_no_web_context_refuses_everything_that_uses_or_could_use_the_network():
    async with house() as gate:
        assert await allowed(gate, Context(no_web=True)) == {"read_note", "write_note"}


@pytest.mark.requirement("POL-04")
async def test_an_unknown_tool_an_unknown_role_and_a_role_without_an_allow_are_refused():
    empty = Role(name="empty", scopes=frozenset({"*"}), layer=Layer(name="empty", kind=LayerKind.ROLE))
    async with house(Settings(roles={"empty": empty})) as gate:
        unknown = await gate.call("nowhere", {}, Context(role="empty"))
        assert await allowed(gate, Context(role="stranger")) == set()
        assert await allowed(gate, Context(role="empty")) == set()
    assert unknown.error is not None
    assert unknown.error.code == "tool_not_found"


@pytest.mark.requirement("POL-16")
async def test_a_delegate_has_a_subset_of_its_delegator_whatever_it_asks_for():
    async with house() as gate:

        @given(LAYERS, LAYERS, st.booleans())
        def narrows(own: list[Layer], asked: list[Layer], no_web: bool):
            delegator = Context(layers=tuple(own))
            delegate = delegator.narrow(layers=tuple(asked), no_web=no_web)
            assert set(gate.pool(delegate).names) <= set(gate.pool(delegator).names)

        narrows()
