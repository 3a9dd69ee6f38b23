"""One stored event per fact, told in each vocabulary's own words (C2)."""

import re
from pathlib import Path
from typing import Any

import pytest

import callgate
from callgate.events import vocabulary
from callgate.events.translation import NAMES, WORDS, Vocabulary, tell, translate, understands
from callgate.model.event import Draft, Event
from callgate.model.levels import Severity
from callgate.ports import Store
from callgate.registry.registry import Changes
from callgate.runtime.tool_events import registration_drafts
from tests.events.stories import Story, record
from tests.registry.making import from_server

TYPE = re.compile(r'"((?:tool_call|gate|approval|grant|tool|health|stream|audit|source|policy|secret)\.[a-z_]+)"')
NO_TYPES = {
    "audit.checkpointed": "the name of a note in the store",
    "tool.call": "the name of another vocabulary",
    "approval.required": "what a webhook's message is called",
    **{f"{page}.html": "a page of the console" for page in ("approval", "health", "policy", "tool")},
}
OTHER_WORDS = {"vocabulary.py", "translation.py", "domain_events.py"}
"""The list itself, and where the names of the other vocabularies are."""


def names(events: list[Event], words: Vocabulary) -> list[str]:
    return [name for event in events for name, _ in translate(event, words)]


async def one(store: Store, draft: Draft) -> Event:
    return (await record(store, draft))[-1]


def test_every_type_has_one_name_one_severity_and_one_sentence():
    for name, kind in vocabulary.KINDS.items():
        assert name == kind.name
        assert re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name)
        assert kind.meaning.endswith(".")
        assert isinstance(kind.severity, Severity)


def test_every_constant_names_a_kind_and_every_kind_has_a_constant():
    constants = {value for name, value in vars(vocabulary).items() if name.isupper() and isinstance(value, str)}
    assert constants == set(vocabulary.KINDS)


def source() -> dict[Path, str]:
    files = Path(callgate.__file__).parent.rglob("*.py")
    return {path: path.read_text(encoding="utf-8") for path in files if path.name not in OTHER_WORDS}


def test_every_type_that_the_source_spells_out_is_in_the_vocabulary():
    spelt = [(path.name, word) for path, text in source().items() for word in TYPE.findall(text)]
    assert spelt
    assert [item for item in spelt if item[1] not in {*vocabulary.KINDS, *NO_TYPES}] == []


def test_every_type_in_the_vocabulary_is_recorded_by_something():
    text = "\n".join(source().values())
    used = set(TYPE.findall(text)) | set(re.findall(r"\b[A-Z_]+\b", text))
    constants = {value: name for name, value in vars(vocabulary).items() if name.isupper() and isinstance(value, str)}
    assert [kind for kind, name in constants.items() if kind not in used and name not in used] == []


def test_a_tool_that_is_held_back_is_told_as_loudly_as_the_vocabulary_says():
    new = from_server("gh.new")
    changes = Changes(added=(new,), quarantined={"gh.new": "it is new", "gh.old": "it waits already"})
    _, held = registration_drafts(changes, now=1.0, trace="t")
    assert held.payload == {"tool_name": "gh.new", "definition_hash": new.definition_hash, "reason": "it is new"}
    assert (held.type, held.severity) == (vocabulary.TOOL_QUARANTINED, Severity.WARNING)


@pytest.mark.requirement("EVT-01")
async def test_a_success_is_told_as_invoked_then_completed_in_one_trace(store: Store):
    story = Story()
    events = await record(store, story.attempted(), story.succeeded({"id": 7}))
    told = [item for event in events for item in tell(event, "tool")]
    assert [item.type for item in told] == ["tool.invoked", "tool.completed"]
    assert {item.trace for item in told} == {story.trace}
    assert told[0].payload == {
        "tool_id": "id-of-mail.send",
        "tool_name": "mail.send",
        "input_data": {"to": "ada@example.org"},
        "source": "function",
    }
    assert told[1].payload == {
        "tool_id": "id-of-mail.send",
        "tool_name": "mail.send",
        "output_data": {"id": 7},
        "duration_ms": 12.5,
    }


async def test_a_raising_handler_is_told_as_invoked_then_failed_with_its_error(store: Store):
    story = Story()
    events = await record(store, story.attempted(), story.failed("no such mailbox"))
    assert names(events, Vocabulary.DOMAIN) == ["tool.invoked", "tool.failed"]
    _, payload = translate(events[-1], "tool")[0]
    assert payload["error"] == "no such mailbox"
    assert payload["duration_ms"] == 3.0


@pytest.mark.requirement("EVT-03")
@pytest.mark.parametrize("closing", [Story.timed_out, Story.unknown], ids=["a read", "an effect"])
async def test_a_timeout_is_told_once_and_by_no_failure_besides(store: Store, closing: Any):
    story = Story()
    events = await record(store, story.attempted(), closing(story))
    assert names(events, Vocabulary.DOMAIN) == ["tool.invoked", "tool.timeout"]
    assert translate(events[-1], "tool")[0][1]["timeout_ms"] == 2500


@pytest.mark.requirement("EVT-12")
@pytest.mark.parametrize("closing", [Story.timed_out, Story.unknown], ids=["a read", "an effect"])
async def test_a_timeout_is_one_warning_of_the_executor_with_tool_error_and_limit(store: Store, closing: Any):
    story = Story(tool="web_search")
    late = story.draft(vocabulary.SETTLED_LATE, status="succeeded", duration_ms=9000.0)
    events = await record(store, story.attempted(), closing(story), late)
    told = [item for event in events for item in tell(event, "tool.call") if item.type == "tool.call.timeout"]
    assert len(told) == 1
    assert told[0].source == "tool_executor"
    assert told[0].severity is Severity.WARNING
    assert told[0].payload == {
        "tool_name": "web_search",
        "error_type": "timeout",
        "error_message": "timed out after 2.5s (timeout)",
        "timeout_seconds": 2.5,
    }
    assert names(events, Vocabulary.EXECUTOR) == ["tool.call.pending", "tool.call.timeout"]


@pytest.mark.requirement("EVT-13")
async def test_a_call_is_told_as_pending_then_success_with_its_duration_or_failure(store: Store):
    story = Story()
    fine = await record(store, story.attempted(), story.succeeded())
    told = [item for event in fine for item in tell(event, Vocabulary.EXECUTOR)]
    assert [item.type for item in told] == ["tool.call.pending", "tool.call.success"]
    assert told[1].severity is Severity.DEBUG
    assert told[1].payload == {"tool_name": "mail.send", "duration_ms": 12.5}
    wrong = await record(store, story.attempted(), story.failed())
    assert names(wrong, Vocabulary.EXECUTOR) == ["tool.call.pending", "tool.call.failure"]
    assert translate(wrong[-1], "tool.call")[0][1]["error_type"] == "runtime_error"


async def test_an_unknown_of_another_cause_is_a_failure_and_no_timeout(store: Store):
    event = await one(store, Story().unknown(cause="network"))
    assert names([event], Vocabulary.DOMAIN) == ["tool.failed"]
    assert names([event], Vocabulary.EXECUTOR) == ["tool.call.failure"]


@pytest.mark.parametrize("kind", [vocabulary.REFUSED, vocabulary.GATE_DENIED])
async def test_a_refusal_begins_and_ends_for_the_executor_and_is_nothing_to_the_domain(store: Store, kind: str):
    event = await one(store, Story().draft(kind, code="policy_denied", message="not for you"))
    assert names([event], Vocabulary.EXECUTOR) == ["tool.call.pending", "tool.call.failure"]
    assert translate(event, "tool.call")[1][1]["error_message"] == "not for you"
    assert translate(event, "tool.call")[1][1]["error_type"] == "policy_denied"
    assert names([event], Vocabulary.DOMAIN) == []


async def test_a_registered_tool_is_told_with_its_capabilities(store: Store):
    facts = {"tool_name": "mail.send", "source": "function", "capabilities": ["mail"]}
    event = await one(store, Story().draft(vocabulary.TOOL_REGISTERED, **facts))
    assert translate(event, "tool") == [
        (
            "tool.registered",
            {
                "tool_id": "id-of-mail.send",
                "tool_name": "mail.send",
                "source": "function",
                "capabilities": ["mail"],
            },
        )
    ]


async def test_our_own_vocabulary_tells_everything_as_it_is(store: Store):
    event = await one(store, Story().attempted())
    assert translate(event, "tool_call") == [(event.type, event.payload)]
    assert all(understands(Vocabulary.OWN, name) for name in vocabulary.KINDS)


async def test_an_erased_event_is_still_told_by_its_name(store: Store):
    event = await one(store, Story().unknown())
    await store.write(lambda tx: tx.erase_payloads([event.id]))
    erased = (await store.read(lambda reader: reader.events()))[-1]
    assert names([erased], Vocabulary.EXECUTOR) == ["tool.call.failure"]
    assert translate(erased, "tool.call")[0][1]["tool_name"] is None


async def test_an_error_without_a_shape_is_still_told(store: Store):
    event = await one(store, Story().draft(vocabulary.FAILED, error="plain words"))
    assert translate(event, "tool")[0][1]["error"] == "plain words"
    bare = await one(store, Story().draft(vocabulary.TIMED_OUT))
    assert translate(bare, "tool")[0][1]["timeout_ms"] is None
    assert translate(bare, "tool.call")[0][1]["error_message"] == "Timed out"


def test_an_unknown_vocabulary_is_refused_by_name():
    with pytest.raises(ValueError, match="klingon"):
        Vocabulary("klingon")


async def test_every_word_gives_only_names_its_vocabulary_has(store: Store):
    for words, table in WORDS.items():
        for kind in table:
            event = await one(store, Story().draft(kind))
            assert {name for name, _ in translate(event, words)} <= NAMES[words]
