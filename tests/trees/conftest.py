"""The blackboard of py_trees is one for the whole process: each test begins with an empty one."""

from collections.abc import Iterator

import pytest
from py_trees.blackboard import Blackboard


@pytest.fixture(autouse=True)
def empty_blackboard() -> Iterator[None]:
    Blackboard.clear()
    yield
    Blackboard.clear()
