"""thread_push, thread_read, thread_seek, thread_list: entries kept for a user, in order, and found again. TOOL-17."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Category
from callgate.runtime.clock import SystemClock
from callgate.secrets.strike import process_striker
from callgate.settings.values import BuiltinToolsSettings
from callgate.stores.memory import MemoryStore
from callgate.tools.catalogue import make_builtin
from callgate.tools.documents import whose
from callgate.tools.threads.threads import Threads
from callgate.tools.threads.words import Indexed, WordIndex
from tests.tools.examples import run_examples

ANN = Context(user="ann")


def gate_with_threads(store: str = "memory://") -> Callgate:
    return Callgate.open(store, builtin_tools=["threads"])


async def push(gate: Callgate, thread_id: str, content: str, context: Context = ANN, **more: Any) -> dict[str, Any]:
    return (await gate.call("thread_push", {"thread_id": thread_id, "content": content, **more}, context)).unwrap()


async def read(gate: Callgate, thread_id: str, context: Context = ANN, **more: Any) -> dict[str, Any]:
    return (await gate.call("thread_read", {"thread_id": thread_id, **more}, context)).unwrap()


async def listed(gate: Callgate, context: Context = ANN, **more: Any) -> list[str]:
    answer = (await gate.call("thread_list", more, context)).unwrap()
    assert answer["total"] >= len(answer["threads"])
    return [thread["thread_id"] for thread in answer["threads"]]


async def sought(gate: Callgate, query: str, context: Context = ANN, **more: Any) -> list[str]:
    answer = (await gate.call("thread_seek", {"query": query, **more}, context)).unwrap()
    assert answer["query"] == query
    return [result["content"] for result in answer["results"]]


async def test_pushing_to_an_absent_thread_creates_it_and_numbers_rise_from_0() -> None:
    """TOOL-17: sequence numbers rise by one from 0, also beside other threads."""
    async with gate_with_threads() as gate:
        first = await push(gate, "plans", "one", project_id="p")
        await push(gate, "other", "elsewhere")
        second = await push(gate, "plans", "two", entry_type="decision")
        assert (first["status"], first["thread_id"], first["sequence_id"], second["sequence_id"]) == (
            "ok",
            "plans",
            0,
            1,
        )
        thread = await read(gate, "plans")
        assert {name: thread[name] for name in ("thread_id", "project_id", "name", "status", "entry_count")} == {
            "thread_id": "plans",
            "project_id": "p",
            "name": "plans",
            "status": "active",
            "entry_count": 2,
        }
        assert [(entry["content"], entry["entry_type"], entry["author"]) for entry in thread["entries"]] == [
            ("one", "thought", "agent"),
            ("two", "decision", "agent"),
        ]
        assert [entry["entry_id"] for entry in thread["entries"]] == [first["entry_id"], second["entry_id"]]


async def test_the_newest_entries_are_read_in_their_order() -> None:
    async with gate_with_threads() as gate:
        for number in range(12):
            await push(gate, "plans", f"entry {number}")
        thread = await read(gate, "plans", limit=3)
        assert [entry["sequence_id"] for entry in thread["entries"]] == [9, 10, 11]
        assert thread["entry_count"] == 12
        assert len((await read(gate, "plans"))["entries"]) == 10


async def test_reading_an_absent_thread_is_an_error_that_names_it() -> None:
    """TOOL-17: the error has the thread_id."""
    async with gate_with_threads() as gate:
        outcome = await gate.call("thread_read", {"thread_id": "nowhere"}, ANN)
    assert not outcome.ok
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT
    assert outcome.error.to_json()["thread_id"] == "nowhere"
    assert "nowhere" in outcome.error.message


async def test_archived_threads_are_listed_where_they_are_asked_for() -> None:
    """TOOL-17: status all lists archived threads too."""
    store = MemoryStore(clock=SystemClock())
    await store.open()
    threads, owner = Threads(store, SystemClock()), whose(ANN)
    for name in ("old", "new"):
        await threads.push(owner, name, "something", project_id="p")
    await threads.archive(owner, "old")

    async def names(**how: Any) -> list[str]:
        found, total = await threads.list_threads(owner, **how)
        assert total == len(found)
        return sorted(thread["thread_id"] for thread in found)

    assert await names() == ["new"]
    assert await names(status="archived") == ["old"]
    assert await names(status=None) == ["new", "old"]
    assert (await threads.read(owner, "old"))[0]["status"] == "archived"
    assert len((await threads.seek(owner, "something"))[0]) == 2
    await threads.push(owner, "old", "again")
    assert await names() == ["new", "old"]
    with pytest.raises(ValueError, match="nowhere"):
        await threads.archive(owner, "nowhere")
    await store.close()


async def test_threads_are_listed_by_project_newest_first_and_in_pages() -> None:
    async with gate_with_threads() as gate:
        for number in range(5):
            await push(gate, f"t{number}", "x", project_id=f"p{number % 2}")
        await push(gate, "t0", "again")
        assert await listed(gate) == ["t0", "t4", "t3", "t2", "t1"]
        assert await listed(gate, project_id="p1") == ["t3", "t1"]
        assert await listed(gate, limit=2, offset=1) == ["t4", "t3"]
        assert await listed(gate, status="archived") == []


async def test_a_thread_is_of_one_project() -> None:
    async with gate_with_threads() as gate:
        await push(gate, "plans", "one", project_id="p")
        outcome = await gate.call("thread_push", {"thread_id": "plans", "content": "x", "project_id": "q"}, ANN)
        assert outcome.error is not None
        assert outcome.error.category is Category.USER_INPUT
        assert "the project 'p'" in outcome.error.message
        assert (await read(gate, "plans"))["entry_count"] == 1


@pytest.mark.parametrize(
    "other",
    [
        Context(user="bob"),
        Context(user="an"),
        Context(user="ann/plans"),
        Context(user="ann%2Fplans"),
        Context(principal="ann"),
        Context(principal="user/ann"),
        Context(user="principal/ann"),
        Context(),
    ],
    ids=["bob", "beginning", "path", "encoded", "agent", "agent-path", "user-path", "nobody"],
)
async def test_nobody_sees_the_threads_of_another(other: Context) -> None:
    async with gate_with_threads() as gate:
        await push(gate, "plans", "the secret plan")
        assert await listed(gate, other, status="all") == []
        assert await sought(gate, "secret plan", other) == []
        for thread_id in ("plans", "../user/ann/plans", "ann/plans", "%2e%2e/ann/plans"):
            assert not (await gate.call("thread_read", {"thread_id": thread_id}, other)).ok
        assert (await push(gate, "plans", "mine", other))["sequence_id"] == 0
        assert (await read(gate, "plans"))["entry_count"] == 1


async def test_an_agent_of_the_same_user_goes_on_with_the_thread() -> None:
    async with gate_with_threads() as gate:
        await push(gate, "plans", "one")
        await push(gate, "plans", "two", Context(user="ann", principal="other", session="later"))
        assert [entry["author"] for entry in (await read(gate, "plans"))["entries"]] == ["agent", "other"]


async def test_entries_are_found_by_their_words_best_first() -> None:
    async with gate_with_threads() as gate:
        await push(gate, "a", "The parser reads tokens; the lexer makes them.", project_id="p")
        await push(gate, "b", "Parsers, parsers, parsers: parsing is what parsers do.", project_id="q")
        await push(gate, "c", "Bananas are yellow.")
        assert await sought(gate, "parser") == [
            "Parsers, parsers, parsers: parsing is what parsers do.",
            "The parser reads tokens; the lexer makes them.",
        ]
        assert await sought(gate, "lexer parser", limit=1) == ["The parser reads tokens; the lexer makes them."]
        assert await sought(gate, "parser", project_id="p") == ["The parser reads tokens; the lexer makes them."]
        assert await sought(gate, "aubergine") == []
        assert await sought(gate, "the") == []
        await push(gate, "c", "An aubergine is not.")
        assert await sought(gate, "aubergine") == ["An aubergine is not."]
        answer = (await gate.call("thread_seek", {"query": "parser", "limit": 1}, ANN)).unwrap()
        assert answer["total"] == 2
        assert answer["results"][0]["score"] > 0


async def test_many_entries_are_searched_in_pages() -> None:
    store = MemoryStore(clock=SystemClock())
    await store.open()
    threads, owner = Threads(store, SystemClock()), ("user", "ann")
    for number in range(2600):
        await threads.push(owner, f"t{number % 7}", f"entry number{number} about everything")
    found, total = await threads.seek(owner, "everything number2599")
    assert total == 2600
    assert found[0]["content"] == "entry number2599 about everything"
    assert (await threads.seek(owner, "number3"))[0][0]["sequence_id"] == 0
    await store.close()


def test_words_are_remembered_up_to_a_bound_the_newest_last() -> None:
    index = WordIndex(entries=10)
    index.add(Indexed(number, None, f"{chr(97 + number)}{chr(97 + number)}x shared") for number in range(25))
    index.add([Indexed(3, None, "old"), Indexed(24, None, "again")])
    hits, total = index.find("shared", limit=3)
    assert [hit.number for hit in hits] == [24, 23, 22]
    assert total == len(index) <= 10
    assert index.find("aax again", limit=5) == ([], 0)
    assert [hit.number for hit in index.find("vvx", limit=5)[0]] == [21]
    index = WordIndex(words=100)
    index.add(Indexed(number, None, "many words " * 20) for number in range(50))
    assert (len(index), index.last) == (2, 49)
    index.add([Indexed(50, "p", "few")])
    assert [hit.number for hit in index.find("few", limit=5, project="p")[0]] == [50]


async def test_repeated_under_its_key_a_push_happens_once() -> None:
    async with gate_with_threads() as gate:
        asker = Context(user="ann", idempotency_key="k1")
        first = await push(gate, "plans", "one", asker)
        assert await push(gate, "plans", "one", asker) == first
        assert (await read(gate, "plans"))["entry_count"] == 1
        # Without a key of the caller's, saying something twice is saying it twice.
        await push(gate, "plans", "one")
        assert (await read(gate, "plans"))["entry_count"] == 2


async def test_a_push_whose_record_was_lost_is_not_made_again() -> None:
    """What the ledger does not know, the push itself does: under its names it is where it was."""
    store = MemoryStore(clock=SystemClock())
    await store.open()
    threads, owner = Threads(store, SystemClock()), whose(ANN)
    first = await threads.push(owner, "plans", "one", once=("agent", "s", "k"))
    assert await threads.push(owner, "plans", "one", once=("agent", "s", "k")) == first
    assert (await threads.push(owner, "plans", "one", once=("agent", "s", "k2"))).sequence_id == 1
    await store.close()


async def test_the_last_word_of_the_longest_entry_is_found() -> None:
    async with gate_with_threads() as gate:
        text = "filler words here " * 5000 + "zebrafish"
        await push(gate, "t", text)
        await push(gate, "t", "short")
        assert await sought(gate, "zebrafish") == [text]


async def test_a_secret_is_struck_before_an_entry_is_kept(tmp_path: Path) -> None:
    value = "tiger-lily-9041-parade"
    process_striker().remember(value, connector="bank", key="token")
    file = tmp_path / "callgate.db"
    async with gate_with_threads(f"sqlite:///{file}") as gate:
        await push(gate, "plans", f"the token is {value}")
        assert value not in str(await read(gate, "plans"))
        named = await gate.call("thread_push", {"thread_id": f"x {value}", "content": "y"}, ANN)
        assert named.error is not None
        assert named.error.category is Category.USER_INPUT
        for query in ("thread_read", "thread_push"):
            missing = await gate.call(query, {"thread_id": f"{value}", "content": "y"}, ANN)
            assert value not in str(missing)
    kept = file.read_bytes()
    assert b"the token is" in kept
    assert value.encode() not in kept


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("thread_push", {"thread_id": "", "content": "x"}),
        ("thread_push", {"thread_id": "a", "content": ""}),
        ("thread_push", {"thread_id": "a" * 201, "content": "x"}),
        ("thread_push", {"thread_id": "a", "content": "x" * 100_001}),
        ("thread_push", {"thread_id": "a", "content": "x", "entry_type": "rumour"}),
        ("thread_read", {"thread_id": "a", "limit": 51}),
        ("thread_seek", {"query": "a", "limit": 21}),
        ("thread_seek", {"query": ""}),
        ("thread_list", {"status": "gone"}),
        ("thread_list", {"offset": -1}),
    ],
    ids=["no-id", "no-content", "long-id", "long-content", "type", "read", "seek", "no-query", "status", "offset"],
)
async def test_what_is_out_of_bounds_is_refused(name: str, arguments: dict[str, Any]) -> None:
    async with gate_with_threads() as gate:
        outcome = await gate.call(name, arguments, ANN)
    assert outcome.status == "refused"


async def test_odd_names_are_names_like_others() -> None:
    async with gate_with_threads() as gate:
        for number, name in enumerate(["../x", "a/b", "a%2Fb", "\0", "☂", " ", "'; DROP TABLE documents; --"]):
            await push(gate, name, "x" * (number + 1))
            assert (await read(gate, name))["entries"][0]["content"] == "x" * (number + 1)
        assert len(await listed(gate)) == 7


PUSHING = """
import asyncio, sys
from callgate import Callgate, Context

async def main():
    async with Callgate.open(sys.argv[1], builtin_tools=["threads"]) as gate:
        print("ready", flush=True)
        sys.stdin.readline()
        calls = (
            gate.call("thread_push", {"thread_id": "shared", "content": f"{sys.argv[2]} {n}"}, Context(user="ann"))
            for n in range(30)
        )
        print(sorted(outcome.unwrap()["sequence_id"] for outcome in await asyncio.gather(*calls)))

asyncio.run(main())
"""


@pytest.mark.slow
def test_two_processes_push_at_once_and_no_number_is_given_twice_or_left_out(tmp_path: Path) -> None:
    """TOOL-17: numbers rise by one from 0, also under concurrent pushes from two processes."""
    store = f"sqlite:///{tmp_path / 'callgate.db'}"
    pushing = [
        subprocess.Popen(
            [sys.executable, "-c", PUSHING, store, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("left", "right")
    ]
    for process in pushing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in pushing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    numbers = [number for process in pushing for number in json.loads(process.communicate(timeout=60)[0])]
    assert sorted(numbers) == list(range(60))

    async def look() -> None:
        async with gate_with_threads(store) as gate:
            thread = await read(gate, "shared", limit=50)
            assert thread["entry_count"] == 60
            assert [entry["sequence_id"] for entry in thread["entries"]] == list(range(10, 60))
            assert len(await sought(gate, "left", limit=20)) == 20

    asyncio.run(look())


DYING = """
import asyncio, os, signal, sys
from callgate import Callgate, Context
from callgate.tools.threads.threads import Threads

push = Threads.push

async def dies(self, *arguments, **more):
    await push(self, *arguments, **more)
    os.kill(os.getpid(), signal.SIGKILL)

Threads.push = dies

async def main():
    async with Callgate.open(sys.argv[1], builtin_tools=["threads"]) as gate:
        asker = Context(user="ann", session="s", idempotency_key="k")
        await gate.call("thread_push", {"thread_id": "plans", "content": "once"}, asker)

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.slow
def test_a_push_of_a_process_that_was_killed_before_it_was_recorded_is_not_made_twice(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'callgate.db'}"
    done = subprocess.run([sys.executable, "-c", DYING, store], capture_output=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL

    async def again() -> None:
        async with gate_with_threads(store) as gate:
            asker = Context(user="ann", session="s", idempotency_key="k")
            assert (await push(gate, "plans", "once", asker))["sequence_id"] == 0
            assert (await read(gate, "plans"))["entry_count"] == 1
            assert (await push(gate, "plans", "twice"))["sequence_id"] == 1

    asyncio.run(again())


async def test_without_a_gate_they_say_what_they_need() -> None:
    gate = Callgate.open("memory://")
    gate.add(*make_builtin(["threads"], BuiltinToolsSettings()))
    async with gate:
        outcome = await gate.call("thread_list", {}, ANN)
    assert outcome.error is not None
    assert outcome.error.category is Category.CONFIGURATION


async def test_only_pushing_is_an_effect_and_no_flow_pushes() -> None:
    async with gate_with_threads() as gate:
        tools = {tool.name: tool for tool in gate.tools()}
        assert {name for name, tool in tools.items() if tool.effectful} == {"thread_push"}
        previewed = await gate.call("thread_push", {"thread_id": "a", "content": "x"}, Context(autonomy="A0"))  # pyright: ignore[reportArgumentType]
        assert previewed.status == "previewed"
        assert "the thread 'a'" in str(previewed)
        assert await listed(gate, Context()) == []
        chained = Context(user="ann", caller="chain")  # pyright: ignore[reportArgumentType]
        assert not (await gate.call("thread_push", {"thread_id": "a", "content": "x"}, chained)).ok


async def test_the_examples_run() -> None:
    async with gate_with_threads() as gate:
        await run_examples(gate, "thread_push", "thread_read", "thread_seek", "thread_list")
