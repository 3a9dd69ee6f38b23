"""What is recorded of an output is canonical JSON, whatever it was made of, and what is handed out says the same."""

import enum
import uuid
from collections import OrderedDict
from typing import Any

import orjson
import pytest

from callgate import Callgate, tool

KEY = "AKIAIOSFODNN7EXAMPLE"
STRUCK = "[secret:aws_access_key]"
NUMBER = uuid.UUID(int=7)


class Colour(enum.Enum):
    RED = "red"


class Word(str):
    __slots__ = ()


OUTPUTS: dict[str, tuple[Any, Any]] = {
    "own types": ({"b": (1, 2.5, None), "a": [True, "x"]}, {"a": [True, "x"], "b": [1, 2.5, None]}),
    "a piece that is sorted": ({"p": orjson.Fragment(b'{"a":1}')}, {"p": {"a": 1}}),
    "a piece that is not": ([orjson.Fragment(b'{"b": 2, "a":1}')], [{"a": 1, "b": 2}]),
    "a member": ({"colour": Colour.RED}, {"colour": "red"}),
    "an identity": ([NUMBER], [str(NUMBER)]),
    "a derived text": ({"word": Word("x")}, {"word": "x"}),
    "a derived mapping": (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    "a secret among own types": ({"rows": [{"text": "x"}, {"text": KEY}]}, {"rows": [{"text": "x"}, {"text": STRUCK}]}),
    "a secret in a piece": ([orjson.Fragment(orjson.dumps(KEY))], [STRUCK]),
    "a secret beside a member": ({"c": Colour.RED, "k": (KEY,)}, {"c": "red", "k": [STRUCK]}),
}


@pytest.mark.parametrize("what", OUTPUTS)
async def test_an_output_is_recorded_in_canonical_json_and_without_secrets(what: str):
    returned, expected = OUTPUTS[what]

    @tool(effects="read_only")
    def give() -> Any:
        """Give it."""
        return returned

    async with Callgate.open("memory://") as gate:
        gate.add(give)
        outcome = await gate.call("give")
        [event] = [event async for event in gate.events() if event.type == "tool_call.succeeded"]
    assert event.payload is not None
    assert orjson.dumps(event.payload["output"]) == orjson.dumps(expected)
    assert KEY not in str(outcome.output)
