"""Events as a stream: as they are recorded, resumed without a gap, ended with the credential, cheap for many."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest

from callgate import Callgate, Context, tool
from callgate.serve import listening
from callgate.serve.listening import Listening, TooManyListeners, Wanted
from tests.doors.http.conftest import Served

_SECONDS = 20.0
_STREAM = "/api/v1/events/stream"
_CALLS = Wanted(("tool_call.succeeded",))


class Heard:
    """A stream that a test reads message by message."""

    def __init__(self, answer: httpx2.Response) -> None:
        self.answer = answer
        self._lines = answer.aiter_lines()

    async def next(self) -> dict[str, Any]:
        """The next event, with its id."""
        found: dict[str, str] = {}
        async with asyncio.timeout(_SECONDS):
            async for line in self._lines:
                name, _, value = line.partition(": ")
                if name in {"id", "event", "data"}:
                    found[name] = value
                if not line and "data" in found:
                    return orjson.loads(found["data"]) | {"sent_id": int(found["id"]), "sent_type": found["event"]}
        pytest.fail("the stream ended")

    async def ended(self) -> None:
        """Wait until it ends."""
        async with asyncio.timeout(_SECONDS):
            async for _ in self._lines:
                pass


@asynccontextmanager
async def hearing(client: httpx2.AsyncClient, *, last: int | None = None, **params: Any) -> AsyncGenerator[Heard]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    async with client.stream("GET", _STREAM, params=params, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        heard = Heard(answer)
        yield heard


async def _count(served: Served, text: str = "a") -> None:
    outcome = await served.gate.call("word_count", {"text": text})
    assert outcome.ok
    await served.gate.flush()


@tool(effects="system_state", risk="low")
def grains(first: int) -> int:
    """Lay so many grains on the first field of a board."""
    return first


async def test_a_number_that_is_large_ends_no_stream(served: Served):
    async with await served.person() as ada, hearing(ada) as heard:
        served.gate.add(grains)
        assert (await served.gate.call("grains", {"first": 2**70})).ok
        await _count(served)
        while (await heard.next())["type"] != "tool_call.succeeded":
            pass


async def test_events_are_told_as_they_are_recorded(served: Served):
    await _count(served, "before")
    async with await served.person(rights=["read"]) as reader, hearing(reader, type=["tool_call.succeeded"]) as heard:
        await _count(served)
        await _count(served)
        first, second = await heard.next(), await heard.next()
    assert first["type"] == first["sent_type"] == second["type"] == "tool_call.succeeded"
    assert first["sent_id"] == first["position"] < second["position"]
    assert "salt" not in first
    recorded = [event.position async for event in served.gate.events(types=["tool_call.succeeded"])]
    assert recorded[1:] == [first["position"], second["position"]]


async def test_a_stream_is_resumed_without_a_gap_or_a_repeat(served: Served):
    async with await served.person(rights=["read"]) as reader:
        async with hearing(reader, type="tool_call.succeeded") as heard:
            await _count(served)
            last = (await heard.next())["sent_id"]
        for _ in range(3):
            await _count(served)
        async with hearing(reader, type="tool_call.succeeded", last=last) as heard:
            missed = [(await heard.next())["position"] for _ in range(3)]
            await _count(served)
            missed.append((await heard.next())["position"])
        wrong = await reader.get(_STREAM, headers={"Last-Event-ID": "first"})
    recorded = [event.position async for event in served.gate.events(types=["tool_call.succeeded"], after=last)]
    assert missed == recorded
    assert wrong.status_code == 422


async def test_a_stream_has_only_what_was_asked_for(served: Served):
    async with await served.person(rights=["read"]) as reader:
        outcome = await served.gate.call("word_count", {"text": "a"})
        async with hearing(reader, last=0, call=outcome.call_id) as heard:
            types = [(await heard.next())["type"] for _ in range(2)]
        async with hearing(reader, last=0, trace=outcome.trace_id, type="tool_call.*") as heard:
            assert (await heard.next())["trace"] == outcome.trace_id
    assert types == ["tool_call.attempted", "tool_call.succeeded"]


async def test_a_stream_ends_with_its_credential(served: Served):
    async with await served.person(rights=["read"]) as reader, await served.person("bob") as other:
        mine = (await reader.get("/api/v1/me")).json()["id"]
        async with hearing(reader, type="tool_call.*") as heard, hearing(other, type="tool_call.*") as stays:
            await served.gate.revoke_credential(mine, by="operator")
            await heard.ended()
            await _count(served)
            assert (await stays.next())["type"] == "tool_call.attempted"


async def test_a_stream_ends_when_the_server_stops():
    async with Served.open() as served:
        client = await served.person()
        stream = hearing(client)
        heard = await stream.__aenter__()
    await heard.ended()
    await stream.__aexit__(None, None, None)
    await client.aclose()


async def test_only_people_who_may_read_listen(served: Served):
    async with await served.agent() as agent, await served.person(rights=["decide"]) as decider:
        assert (await agent.get(_STREAM)).status_code == 403
        assert (await decider.get(_STREAM)).status_code == 403
    async with served.nobody() as nobody:
        assert (await nobody.get(_STREAM)).status_code == 401


async def test_no_more_listen_than_may(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listening, "MOST_LISTENERS", 1)
    async with await served.person(rights=["read"]) as reader, hearing(reader):
        refused = await reader.get(_STREAM)
    assert (refused.status_code, refused.json()["code"]) == (503, "too_many_listeners")
    assert refused.headers["retry-after"] == "10"


async def _yes() -> bool:
    return True


def _positions(text: bytes) -> list[int]:
    return [int(line[4:]) for line in text.splitlines() if line.startswith(b"id: ")]


async def _until(told: AsyncGenerator[bytes], count: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(_SECONDS):
        while len(found) < count:
            found += _positions(await anext(told))
    return found


async def test_who_falls_behind_reads_the_record_and_misses_nothing(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listening, "_MOST_EVENTS", 4)
    monkeypatch.setattr(listening, "_PAGE", 3)
    listeners = Listening(served.gate)
    await listeners.ready()
    slow = listeners.listen(_CALLS, after=None, may_go_on=_yes)
    quick = listeners.listen(_CALLS, after=None, may_go_on=_yes)
    async with aclosing(slow), aclosing(quick):
        await anext(slow)
        await anext(quick)
        heard: list[int] = []
        for _ in range(20):
            await _count(served)
            heard += await _until(quick, 1)
        late = await _until(slow, 20)
    recorded = [event.position async for event in served.gate.events(types=_CALLS.types)]
    assert heard == late == recorded
    listeners.close()


async def test_what_is_not_taken_in_time_is_not_kept_and_not_missed(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listening, "_KEPT", -1.0)
    monkeypatch.setattr(listening, "_PAGE", 3)
    listeners = Listening(served.gate)
    await listeners.ready()
    told = listeners.listen(_CALLS, after=None, may_go_on=_yes)
    async with aclosing(told):
        await anext(told)
        for _ in range(10):
            await _count(served)
        heard = await _until(told, 10)
    assert heard == [event.position async for event in served.gate.events(types=_CALLS.types)]
    listeners.close()


async def test_each_hears_of_their_own_call_or_trace_and_others_of_all(served: Served):
    listeners = Listening(served.gate)
    await listeners.ready()
    wanted = [Wanted(trace="ours"), Wanted(trace="theirs"), Wanted(("tool_call.succeeded",), trace="ours"), _CALLS]
    told = [listeners.listen(each, after=None, may_go_on=_yes) for each in wanted]
    for each in told:
        await anext(each)
    for trace in ("ours", "theirs", "ours"):
        await served.gate.call("word_count", {"text": "a"}, Context(trace_id=trace))
    await served.gate.flush()
    heard = [await _until(each, count) for each, count in zip(told, (4, 2, 2, 3), strict=True)]
    for own, each in zip(heard, wanted, strict=True):
        types, trace = each.types or ("*",), each.trace
        assert own == [event.position async for event in served.gate.events(types=types, trace_id=trace)]
    (call,) = {event.call async for event in served.gate.events(trace_id="theirs")}
    of_call = listeners.listen(Wanted(call=call), after=0, may_go_on=_yes)
    assert await _until(of_call, 2) == heard[1]
    for each in [*told, of_call]:
        await each.aclose()
    assert listeners.count == 0


async def test_two_thousand_listeners_share_one_text(served: Served):
    listeners = Listening(served.gate)
    await listeners.ready()
    told = [listeners.listen(_CALLS, after=None, may_go_on=_yes) for _ in range(2000)]
    for each in told:
        await anext(each)
    assert listeners.count == 2000
    await _count(served)
    async with asyncio.timeout(_SECONDS):
        texts = await asyncio.gather(*(anext(each) for each in told))
    assert len({id(text) for text in texts}) == 1
    assert len(_positions(texts[0])) == 1
    for each in told:
        await each.aclose()
    assert listeners.count == 0


async def test_who_hears_nothing_is_told_that_the_server_is_there(served: Served):
    listeners = Listening(served.gate, heartbeat=0.01)
    await listeners.ready()
    told = listeners.listen(Wanted(("nothing.of_the_kind",)), after=None, may_go_on=_yes)
    async with aclosing(told), asyncio.timeout(_SECONDS):
        assert [await anext(told) for _ in range(3)] == [b": still here\n\n"] * 3
    listeners.close()
    with pytest.raises(TooManyListeners):
        await listeners.ready()


async def test_listening_begins_again_after_everybody_left(served: Served):
    listeners = Listening(served.gate)
    for _ in range(3):
        await listeners.ready()
        told = listeners.listen(_CALLS, after=None, may_go_on=_yes)
        async with aclosing(told):
            await anext(told)
            await _count(served)
            assert len(await _until(told, 1)) == 1
    listeners.close()


async def test_listeners_are_let_go_when_the_gate_closes():
    async with Callgate.open("memory://") as gate:
        listeners = Listening(gate)
        await listeners.ready()
        told = listeners.listen(_CALLS, after=None, may_go_on=_yes)
        await anext(told)
        rest = asyncio.create_task(_all(told))
    async with asyncio.timeout(_SECONDS):
        assert await rest == []


async def _all(told: AsyncGenerator[bytes]) -> list[bytes]:
    return [text async for text in told]
