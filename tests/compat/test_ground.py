"""The context of an executor, or of a registry, is the most that a call under it may do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from callgate import Context, tool
from callgate.adapters.base_tool import ToolCallContext
from callgate.compat import ToolContext, ToolExecutor, protocol
from callgate.errors import PolicyDenied, ScopeViolation, ToolError
from callgate.model.levels import Autonomy
from callgate.settings.load import parse_settings
from tests.journeys.gates import gate_of

SETTINGS = parse_settings('version: 1\nscopes: {fs: {paths: ["data"]}}\n', file="callgate.yaml")


@dataclass
class Place:
    """A directory whose `data` is granted, and one in it whose own is not."""

    ground: Path
    read: list[str]

    @property
    def inner(self) -> Path:
        return self.ground / "sub"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "sub" / "data").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "sub" / "data" / "x.txt").write_text("private")
    (tmp_path / "data" / "x.txt").write_text("granted")
    return Place(tmp_path, [])


def looking(place: Place):
    @tool(effects="read_only", scopes={"fs:read"})
    def look(path: str) -> str:
        """Look."""
        place.read.append(Path(path).read_text())
        return place.read[-1]

    return look


def asking(directory: Path | None = None) -> ToolContext:
    given = None if directory is None else str(directory)
    return ToolContext(agent_id="ada", granted_permissions=["fs:read"], working_directory=given)


async def test_what_is_granted_in_wider_directories_bounds_an_executor_s_calls(place: Place):
    wide = Context(working_directory=str(place.ground))
    narrow = wide.narrow(working_directory=str(place.inner))
    private = str(place.inner / "data" / "x.txt")
    async with gate_of(looking(place), config=SETTINGS) as gate:
        for ground, asked in [(narrow, asking()), (wide, asking(place.inner)), (narrow, asking(place.inner))]:
            with pytest.raises(PolicyDenied, match=r"x\.txt"):
                await ToolExecutor(gate, context=ground).run("look", asked, path=private)
        await ToolExecutor(gate, context=wide).run("look", asking(), path=str(place.ground / "data" / "x.txt"))
        await ToolExecutor(gate).run("look", asking(place.ground), path=str(place.ground / "data" / "x.txt"))
    assert place.read == ["granted", "granted"]


async def test_what_is_granted_in_its_context_s_directory_bounds_a_registry_of_the_protocol(place: Place):
    async with gate_of(config=SETTINGS) as gate:
        registry = protocol.ToolRegistry(gate, context=Context(working_directory=str(place.ground)))
        look = registry.register(looking(place)).get("look")
        inner = protocol.ToolContext(working_directory=str(place.inner), session_id="s")
        told = await look.execute({"path": str(place.inner / "data" / "x.txt")}, inner)
        assert (told.error is not None, place.read) == (True, [])


async def test_time_and_scopes_of_an_executor_s_context_are_caps(place: Place):
    async with gate_of(looking(place)) as gate:
        none = ToolExecutor(gate, context=Context(scopes=frozenset()))
        with pytest.raises(ToolError, match="fs:read"):
            await none.run("look", asking(), path="x.txt")
        asked = ToolCallContext(trace_id="t", granted_scopes=frozenset({"fs:read"}))
        with pytest.raises(ScopeViolation):
            await none.call("look", "", {"path": "x.txt"}, asked)
    assert place.read == []
    made = ToolContext(agent_id="ada", timeout_ms=2000)
    assert [made.as_context(Context(timeout=limit)).timeout for limit in (0.5, 9, None)] == [0.5, 2, 2]


async def test_the_level_of_an_executor_s_context_is_a_cap():
    made: list[int] = []

    @tool(effects="system_state", risk="low")
    async def pay(amount: int) -> int:
        """Pay."""
        made.append(amount)
        return amount

    asked = ToolCallContext(trace_id="t", autonomy_level="A4")
    async with gate_of(pay) as gate:
        careful = ToolExecutor(gate, context=Context(autonomy=Autonomy.A1))
        for each in (asked, ToolCallContext(trace_id="t")):
            with pytest.raises(ToolError, match="waits for a person"):
                await careful.call("pay", "", {"amount": 5}, each)
        assert made == []
        await ToolExecutor(gate).call("pay", "", {"amount": 7}, asked)
    assert made == [7]


def test_a_credential_that_an_executor_s_context_came_in_with_goes_along():
    made = asking().as_context(Context(credential="c1", expires_at=5.0, idempotency_key="k1"))
    assert (made.credential, made.expires_at, made.idempotency_key) == ("c1", 5.0, None)
