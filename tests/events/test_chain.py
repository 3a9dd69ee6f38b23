"""The appender: hashes that anybody can make again, and nothing that keeps an event from being recorded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.events.chain import Appender, Events, to_event
from callgate.events.recordable import read_back, recordable_bytes
from callgate.model.canonical import dumps
from callgate.model.event import GENESIS, Draft, payload_digest
from callgate.model.levels import Severity
from callgate.ports import Head
from tests.contracts.makers import envelope_hash

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
drafts = st.builds(
    Draft,
    type=st.text(),
    time=st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**53),
    trace=st.text(),
    call=st.none() | st.text(),
    severity=st.sampled_from(Severity),
    causes=st.lists(st.text(), max_size=3).map(tuple),
    payload=st.dictionaries(st.text(), values, max_size=5),
)


@pytest.mark.requirement("EVT-06")
@given(st.lists(drafts, max_size=6), st.text())
def test_the_hashes_are_those_of_the_canonical_envelope_and_payload(made: list[Draft], producer: str):
    appender = Appender("stream", producer=producer)
    previous = GENESIS
    for sequence, (event, body) in enumerate(appender.chain(made)):
        draft = made[sequence]
        assert (event.sequence, event.previous, event.stream) == (sequence, previous, "stream")
        assert event.hash == envelope_hash(event.envelope())
        assert body == dumps(draft.payload)
        assert event.payload_digest == payload_digest(body, bytes.fromhex(event.salt or ""))
        assert event.payload == draft.payload
        assert (event.type, event.time, event.trace, event.call) == (draft.type, draft.time, draft.trace, draft.call)
        assert (event.causes, event.severity, event.producer) == (draft.causes, draft.severity.value, producer)
        previous = event.hash
    assert appender.tip == Head(len(made) - 1, previous)


anything = st.recursive(
    st.none()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.sampled_from([object(), object, {1, 2}, 2**90, Severity.INFO, "\ud800", print]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.none() | st.binary(), inner, max_size=3)
    ),
    max_leaves=10,
)


@pytest.mark.requirement("EVT-16")
@given(anything)
def test_anything_at_all_can_be_recorded_and_read_back(value: Any):
    body = recordable_bytes(value)
    assert dumps(read_back(body)) == body
    assert json.loads(body) == read_back(body)


@pytest.mark.requirement("EVT-16")
def test_what_contains_itself_or_is_endless_is_cut_where_it_begins_again():
    loop: list[Any] = []
    loop.extend([loop] * 10)
    assert read_back(recordable_bytes({"loop": loop})) == {
        "loop": [{"unrecordable": "nested too deeply, or contains itself"}] * 10
    }
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert b"nested too deeply" in recordable_bytes(deep)


class Hostile(dict[str, Any]):
    """A mapping that does not want to be read."""

    def items(self) -> Any:
        raise RuntimeError("secret")


@pytest.mark.requirement("EVT-16")
def test_a_value_that_raises_when_it_is_read_is_marked_and_not_quoted():
    (row,) = Appender("s", producer="p").rows([Draft(type="t", time=1.0, trace="x", payload=Hostile(a=object()))])
    event = to_event(row)
    assert event.payload == {"unrecordable": "RuntimeError while it was read"}
    assert recordable_bytes({"a": object(), "z": Hostile(a=1)}) == b'{"unrecordable":"RuntimeError while it was read"}'


def test_drafts_chain_after_what_was_made_and_after_what_was_committed():
    appender = Appender("s", producer="p", head=Head(6, "a" * 64))
    draft = Draft(type="t", time=1.0, trace="x")
    (first,) = appender.chain([draft])
    (second,) = appender.chain([draft])
    assert (first[0].sequence, second[0].sequence) == (7, 8)
    assert second[0].previous == first[0].hash
    appender.rewind(Head(7, first[0].hash))
    appender.commit()
    assert appender.head == appender.tip == Head(7, first[0].hash)
    appender.chain([draft, draft])
    appender.rollback()
    assert appender.tip == appender.head == Head(7, first[0].hash)
    assert appender.rows([]) == []


def test_events_are_a_sequence_that_knows_its_place():
    rows = Appender("s", producer="p").rows([Draft(type=f"t{n}", time=1.0, trace="x") for n in range(4)])
    events = Events(rows, first=11)
    assert len(events) == 4
    assert [(event.type, event.position) for event in events] == [("t0", 11), ("t1", 12), ("t2", 13), ("t3", 14)]
    assert (events[-1].position, events[1].type) == (14, "t1")
    assert [event.position for event in events[1:3]] == [12, 13]
    assert [event.position for event in reversed(events)] == [14, 13, 12, 11]
    with pytest.raises(IndexError):
        events[4]
