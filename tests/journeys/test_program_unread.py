"""Code that the Python of the host cannot read, and the interpreter can: a text in it stays what it is."""

from __future__ import annotations

import pytest

from callgate import Callgate, tool
from callgate.adapters.border import tree_of
from callgate.model.program import ProgramState
from callgate.testing import memory_gate
from tests.needed import needs

needs("pydantic_monty")
NEWER = "d = {'a': 'x'}\ny = f'{d['a']}'\n"
TEXT = "\nhello\n# end"
UNREAD = "cannot read its last line; write only a name there"
pytestmark = pytest.mark.skipif(tree_of(NEWER) is not None, reason="this Python reads it")


async def test_a_program_with_a_last_line_that_cannot_be_told_makes_no_call_and_says_what_to_write() -> None:
    noted: list[str] = []

    @tool(effects="read_only")
    async def note(text: str) -> str:
        """Note a text."""
        noted.append(text)
        return text

    async with memory_gate(note) as gate:
        run = await gate.run_program(f"{NEWER}await note('''{TEXT}''')")
        assert (run.state, noted) == (ProgramState.FAILED, [])
        assert run.error is not None
        assert UNREAD in run.error.message
        wrong = await gate.run_program(f"{NEWER}await note('''{TEXT}'''")
        assert wrong.error is not None
        assert "invalid-syntax" in wrong.error.message
        assert (await gate.run_program(f"{NEWER}z = await note('''{TEXT}''')\ny, z")).unwrap() == ["x", TEXT]
        assert noted == [TEXT]


async def test_python_eval_says_what_to_write_where_a_last_line_cannot_be_told() -> None:
    async with Callgate.open("memory://", builtin_tools=["python_eval"]) as gate:
        refused = await gate.call("python_eval", {"expression": f"{NEWER}print('''{TEXT}''')"})
        assert UNREAD in str(refused)
        assert (await gate.call("python_eval", {"expression": f"{NEWER}z = '''{TEXT}'''\nz"})).unwrap() == TEXT
