"""Moments that rarely come: what only looks like a secret, events of no call, a parent that ends as a child begins."""

from __future__ import annotations

import asyncio
import gc
from types import SimpleNamespace
from typing import Any, cast

import pytest

from callgate import Callgate, Context, tool
from callgate.errors import SecretsClosed
from callgate.model.event import Event
from callgate.pipeline.execute import ParentEnded, _start_effect  # pyright: ignore[reportPrivateUsage]
from callgate.pipeline.past_calls import _Newest  # pyright: ignore[reportPrivateUsage]
from callgate.secrets.strike import process_striker


@tool(effects="system_state", risk="low")
def note(text: str) -> str:
    """Note something."""
    return text


async def test_a_session_that_only_begins_as_a_secret_does_is_a_session():
    async with Callgate.open("memory://") as gate:
        gate.add(note)
        assert (await gate.call("note", {"text": "a"}, Context(session="ask-"))).ok


async def test_an_output_that_only_looks_like_a_secret_is_handed_out_and_recorded_as_it_is():
    async with Callgate.open("memory://") as gate:
        gate.add(note)
        assert (await gate.call("note", {"text": "ask- and sk-"})).unwrap() == "ask- and sk-"
        [told] = [event.payload async for event in gate.events(types=["tool_call.succeeded"])]
        assert told is not None
        assert told["output"] == "ask- and sk-"


def test_a_child_does_not_begin_when_its_parent_has_just_ended():
    def took_effect() -> None:
        raise SecretsClosed

    child: Any = SimpleNamespace(permit=SimpleNamespace(tool=SimpleNamespace(name="inner")))
    parent: Any = SimpleNamespace(tool="outer", took_effect=took_effect)
    with pytest.raises(ParentEnded, match="inner was not entered: the call of outer it belongs to has ended"):
        _start_effect(child, parent)


def test_events_of_no_call_are_of_nobodys_past():
    kept = _Newest(Context())
    kept.take([cast("Event", SimpleNamespace(call=None))])
    assert not kept.struck(process_striker())


@pytest.mark.parametrize("ended", [True, False], ids=["before", "with"])
def test_work_for_a_loop_that_ended_is_let_go_without_a_word(ended: bool):
    """A handler's thread may end late: before, with or after the loop of its gate."""
    begun: list[str] = []

    async def work() -> None:
        begun.append("it")

    loop = asyncio.new_event_loop()
    gate = Callgate.open("memory://")
    loop.run_until_complete(gate.__aenter__())
    opened = gate._open()  # pyright: ignore[reportPrivateUsage]
    loop.run_until_complete(gate.__aexit__(None, None, None))
    if ended:
        loop.close()
    opened.background(work())
    loop.close()
    gc.collect()
    assert begun == []
