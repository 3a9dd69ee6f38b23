"""A framework that is not installed is named, with the command that installs it; nothing of one is loaded unasked."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from callgate.errors import ConfigurationError

ENDS = [
    ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ("langgraph", "langgraph", "langgraph"),
    ("openai_agents", "agents", "agents"),
    ("claude_agent", "claude_agent_sdk", "claude"),
]


@pytest.mark.parametrize(("end", "package", "extra"), ENDS, ids=[end for end, _, _ in ENDS])
def test_a_missing_framework_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, end: str, package: str, extra: str
):
    place = f"callgate.frameworks.{end}"
    for name in [name for name in sys.modules if name.startswith((place, f"{package}."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=rf"pip install 'callgate\[{extra}\]'"):
        importlib.import_module(place)


@pytest.mark.parametrize(("end", "package", "extra"), ENDS, ids=[end for end, _, _ in ENDS])
def test_another_module_that_is_missing_is_not_taken_for_the_framework(
    monkeypatch: pytest.MonkeyPatch, end: str, package: str, extra: str
):
    place = f"callgate.frameworks.{end}"
    for name in [name for name in sys.modules if name.startswith(place)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "callgate.frameworks.reach", None)
    with pytest.raises(ModuleNotFoundError, match=r"callgate\.frameworks\.reach"):
        importlib.import_module(place)


def test_a_gate_loads_no_framework():
    code = "import sys, callgate.runtime.gate, callgate.frameworks; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {package for _, package, _ in ENDS}
