"""The room exports what it has, loads it with its first use, and nothing before."""

import subprocess
import sys

import pytest

from callgate import compat

ALIASES = {"PreviewResult": "Preview", "RiskLevel": "Risk", "SideEffect": "Effect"}


def test_every_exported_name_is_there():
    for name in compat.__all__:
        assert getattr(compat, name).__name__ == ALIASES.get(name, name)


def test_the_room_lists_what_it_has():
    assert set(compat.__all__) <= set(dir(compat))


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = compat.nonsense  # pyright: ignore[reportAttributeAccessIssue]


def test_importing_the_room_loads_nothing_of_the_gate():
    script = "import sys, callgate.compat; print([name for name in sys.modules if name.startswith('callgate.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "['callgate.compat']"
