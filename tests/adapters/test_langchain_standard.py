"""LangChain's own standard tests for tools, on a tool that a gate exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from callgate import Callgate, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings


@tool(effects=["network_access"], risk="low", name="math.multiply")
async def multiply(a: int, b: int) -> dict[str, int]:
    """Multiply two numbers."""
    return {"product": a * b}


class _Exported:
    _made: BaseTool

    @pytest.fixture(autouse=True)
    def _gate(self) -> Iterator[None]:
        with Callgate.open_sync("memory://", config=Settings(autonomy=Autonomy.A4)) as gate:
            gate.add(multiply)
            [type(self)._made] = gate.pool().to_langchain()
            yield

    @property
    def tool_constructor(self) -> BaseTool:
        return type(self)._made

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"a": 2, "b": 3}


class TestExportedToolUnit(_Exported, ToolsUnitTests):
    pass


class TestExportedToolIntegration(_Exported, ToolsIntegrationTests):
    pass
