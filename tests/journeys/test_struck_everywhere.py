"""Wherever a secret turns up, in whatever a tool, a host, a caller or a person says: it is neither told nor written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from callgate import (
    Call,
    Callgate,
    Context,
    Failed,
    Outcome,
    Pending,
    Refused,
    Succeeded,
    ToolContext,
    Unknown,
    build_tool,
    tool,
)
from callgate.model.artifact import WithArtifact
from callgate.model.levels import Autonomy
from callgate.model.tool import Preview
from callgate.settings.load import parse_settings
from callgate.testing import ScriptedApprover
from tests.journeys.gates import gate_of, parts_of

WITHIN = 10
WORD = "pa55word-of-the-archive"
NUMBER = "4815162342108"
LINES = "-first-line-of-the-archive-key-\n-second-line-of-the-archive-key-"
SECRETS = {"word": WORD, "number": NUMBER, "lines": LINES}
NUMBERED = {"type": "object", "properties": {"number": {"type": "integer"}}, "additionalProperties": False}
OPEN = "autonomy: A4\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}"


class Shown:
    """An object whose own words hide what its JSON tells."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def model_dump(self, **_options: Any) -> Any:
        return {"value": self._value}

    def __str__(self) -> str:
        return "nothing to see"


class Loud(Shown):
    """An object whose JSON hides what its own words tell."""

    def model_dump(self, **_options: Any) -> Any:
        return {"value": "nothing to see"}

    def __str__(self) -> str:
        return f"I know {self._value}"

    __repr__ = __str__


@tool(effects="system_state", risk="low", name="hand", source="host")
async def _hand() -> Any:
    """Give it at the host."""
    raise AssertionError


@dataclass
class Archive:
    """Tools that say whatever they are told to, and know every secret."""

    say: Any = None

    @property
    def tools(self) -> tuple[Any, ...]:
        @tool(effects="read_only", scopes=["secrets:read"])
        async def unlock(ctx: ToolContext) -> str:
            """Take every secret out."""
            return str([ctx.get_secret("archive", key) for key in SECRETS])

        @tool(effects="system_state", risk="low", concurrency_safe=True)
        async def give() -> Any:
            """Give whatever it is."""
            return self.say

        @tool(effects="system_state", risk="low", output_schema=NUMBERED)
        async def number() -> Any:
            """Give something that is not what it says."""
            return self.say

        @tool(effects="system_state", risk="low")
        async def fail(ctx: ToolContext) -> str:
            """Fail with whatever it is."""
            ctx.progress(0.5, str(self.say))
            raise self.say if isinstance(self.say, Exception) else ValueError(str(self.say))

        def preview(arguments: dict[str, Any], context: ToolContext) -> Preview:
            return Preview(text=f"would write {self.say}", details={"text": self.say})

        @tool(effects="modifies_files", risk="high", scopes=["fs:write"], preview=preview)
        async def write(path: str, data: dict[str, Any]) -> str:
            """Write something somewhere."""
            return "written"

        async def execute(payload: dict[str, Any], context: Any) -> str:
            return "kept"

        anything = {"name": "keep", "description": "Keep it.", "input_schema": {"type": "object"}, "execute": execute}
        keep = build_tool(anything, effects="system_state", risk="high")
        return unlock, give, _hand, number, fail, write, keep


@dataclass
class Told:
    """Everything that was said while a gate was open, and the files it left."""

    texts: list[str]
    folder: Path

    def holds(self, secret: str) -> list[str]:
        """Where the secret is."""
        found = [text for text in self.texts if secret in text or json.dumps(secret)[1:-1] in text]
        files = [path for path in self.folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
        return found + [str(path) for path in files]


Story = Callable[[Callgate, Archive], Awaitable[list[Any]]]


async def tell(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Any = None) -> Told:
    """Open the archive, let the story happen, and gather what anybody could read afterwards."""
    for key, secret in SECRETS.items():
        monkeypatch.setenv(f"CALLGATE_SECRET_ARCHIVE_{key.upper()}", secret)
    folder, archive = tmp_path / "store", Archive()
    options = {"config": parse_settings(OPEN, file="callgate.yaml"), "working_directory": tmp_path}
    texts: list[str] = []
    asker = ScriptedApprover("approve")
    async with gate_of(*archive.tools, store=f"sqlite:///{folder / 'callgate.db'}", ask=asker, **options) as gate:
        assert (await gate.call("unlock", {})).ok
        archive.say = say
        for value in await story(gate, archive):
            texts += [repr(value), str(value), *outcome_texts(value)]
        texts += [json.dumps(event.to_json()) async for event in gate.events()]
        texts += [repr(each) for each in (*await gate.approvals(states=None), *asker.seen)]
        texts += [repr(each) for each in (await gate.attempts(), gate.health("give"), gate.health("fail"))]
        assert (await gate.verify_audit()).problems == ()
    return Told(texts, folder)


def outcome_texts(value: Any) -> list[str]:
    if not isinstance(value, Outcome):
        return []
    told = [value.to_human(), json.dumps(value.to_machine(), default=repr), repr(value.metadata), repr(value.decision)]
    return [*told, str(value.error), repr(value.output)]


async def given(gate: Callgate, _archive: Archive) -> list[Any]:
    """What a tool returns, told at once, from the ledger and by another who asks for the key."""
    key = Context(idempotency_key="k")
    return [await gate.call("give", {}, key), await gate.call("give", {}, key), await gate.outcome("k")]


RETURNED: dict[str, Any] = {
    "text": WORD,
    "a number": int(NUMBER),
    "numbers": {"pin": int(NUMBER), "all": [float(NUMBER), (int(NUMBER),)]},
    "keys": {WORD: {"as": {"a": ["key", {WORD: 1}]}}},
    "what JSON tells": Shown(WORD),
    "what JSON tells, deep": [Shown({"deep": [int(NUMBER)]})],
    "what words tell": Loud(WORD),
    "what words tell, deep": {"deep": [Loud(WORD)]},
    "bytes": WORD.encode(),
    "an error": {"error": f"cannot open with {WORD}"},
    "lines": LINES,
    "a line": {"line": f"   2 | {LINES.splitlines()[1]}"},
    "each line": [*LINES.splitlines()],
    "a ready-made piece": orjson.Fragment(orjson.dumps({"piece": WORD})),
    "ready-made pieces": {"ready": orjson.Fragment(f'{{"made": "{WORD}"}}'.encode())},
    "an artifact": WithArtifact("fine", {"raw": WORD}),
    "far behind": "x" * 70_000 + WORD,
    "where it is cut": f"{'x' * 4080}{WORD}{'x' * 70_000}",
}


@pytest.mark.parametrize("what", RETURNED)
async def test_no_secret_is_in_what_a_tool_returns(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = await tell(given, tmp_path, monkeypatch, RETURNED[what])
    assert [told.holds(part) for part in (WORD, NUMBER, *LINES.splitlines())] == [[], [], [], []]


@pytest.mark.parametrize("broken", [b'{"half', b"", b"1 2", b'"\xff"'], ids=["half", "empty", "two", "no text"])
async def test_a_piece_that_is_no_json_makes_no_record_unreadable(
    broken: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(gate: Callgate, archive: Archive) -> list[Any]:
        archive.say = {"piece": orjson.Fragment(broken)}
        first = await given(gate, archive)
        judged = await gate.judge(Call("hand", {}), Context(idempotency_key="host"))
        reported = await gate.report(judged.id, ok=True, output={"piece": orjson.Fragment(broken)})
        archive.say = WithArtifact("fine", orjson.Fragment(broken))
        key = Context(idempotency_key="artifact")
        artifact = [await gate.call("give", {}, key), await gate.call("give", {}, key)]
        refused = await gate.call("write", {"path": "x", "data": orjson.Fragment(broken)})
        assert isinstance(refused, Refused)
        return [*first, reported, await gate.outcome("host"), *artifact, refused]

    # Whatever is unreadable raises where the story's events, rows and outcomes are read.
    assert (await tell(story, tmp_path, monkeypatch)).texts


@pytest.mark.parametrize(
    ("name", "say"),
    [
        ("number", {"number": WORD}),
        ("number", {"number": 1, WORD: 2}),
        ("fail", f"no door opens with {WORD}"),
        ("fail", ConnectionError(f"lost while sending {WORD}")),
        ("fail", KeyError(WORD)),
        ("fail", RuntimeError(LINES)),
    ],
    ids=["a value", "a name", "a mistake", "a lost line", "a key", "many lines"],
)
async def test_no_secret_is_in_what_is_said_of_a_failure(
    name: str, say: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(gate: Callgate, _archive: Archive) -> list[Any]:
        key = Context(idempotency_key="k")
        outcomes = [await gate.call(name, {}, key), await gate.call(name, {}, key), await gate.outcome("k")]
        assert isinstance(outcomes[0], Failed | Unknown)
        for outcome in outcomes:
            # The handler's own exception is for who unwraps it in the same process, and for nobody else.
            assert outcome is not None
            outcome.cause = None
        return outcomes

    told = await tell(story, tmp_path, monkeypatch, say)
    assert [told.holds(part) for part in (WORD, *LINES.splitlines())] == [[], [], []]


async def names(gate: Callgate, _archive: Archive) -> list[Any]:
    """A caller who uses a secret as a name."""
    unknown = [await gate.call(name, {}) for name in (WORD, f"open_{WORD}", f"{'x' * 70}{WORD}", f"{'x' * 240}{WORD}")]
    faults = await gate.call("write", {"path": 5, WORD: 1, "data": {}})
    paths = [await gate.call("write", {"path": f"/etc/{pad}{WORD}", "data": {}}) for pad in ("", "x" * 145)]
    odd = await gate.call("give", {}, timeout=f"{'x' * 40}{WORD}")  # pyright: ignore[reportArgumentType]
    told = [await gate.explain("write", {"path": f"/etc/{WORD}", "data": {}}), await gate.explain(WORD, {})]
    return [*unknown, faults, *paths, odd, *told]


async def questions(gate: Callgate, archive: Archive) -> list[Any]:
    """A caller who asks with a secret, and persons who repeat it."""
    archive.say = WORD
    low = Context(autonomy=Autonomy.A2)
    asked = {"path": f"notes/{WORD}.txt", "data": {WORD: {"note": WORD}}}
    first = await gate.call("write", asked, low)
    assert isinstance(first, Pending)
    await gate.approve(first.approval_id, by="ann", arguments={"path": f"other/{WORD}.txt", "data": {WORD: 1}})
    done = await gate.resume(first.approval_id)
    assert isinstance(done, Succeeded)
    second = await gate.call("write", {"path": "b", "data": {}}, low)
    third = await gate.call("write", {"path": "c", "data": {}}, low)
    assert isinstance(second, Pending)
    assert isinstance(third, Pending)
    said = [await gate.reject(second.approval_id, by="ann", why=f"{WORD} is nobody's business")]
    said += [await gate.respond(third.approval_id, by="ann", text=f"use {WORD}")]
    fourth = await gate.call("keep", {WORD: 1}, low)
    assert isinstance(fourth, Pending)
    said += [await gate.approve(fourth.approval_id, by="ann", arguments={f"{WORD}-2": 1})]
    shown = await gate.call("write", {"path": "d", "data": {}}, Context(autonomy=Autonomy.A0))
    return [first, done, second, third, fourth, *said, shown, await gate.call("write", {"path": "b", "data": {}}, low)]


async def hosts(gate: Callgate, _archive: Archive) -> list[Any]:
    """A host that reports with a secret, and a person who resolves with one."""
    judged = [await gate.judge(Call("hand", {}), Context(idempotency_key=key)) for key in ("a", "b", "c")]
    done = [await gate.report(judged[0].id, ok=True, output={"pin": int(NUMBER), WORD: Shown(WORD)})]
    done += [await gate.report(judged[1].id, ok=False, error=f"no {WORD}")]
    done += [await gate.report(judged[2].id, ok=False)]
    resolved = await gate.resolve("c", happened=True, by="ann", note=f"saw {WORD}", output={"pin": [Shown(WORD)]})
    return [*judged, *done, resolved, *[await gate.outcome(key) for key in ("a", "b", "c")]]


@pytest.mark.parametrize("story", [names, questions, hosts])
async def test_no_secret_is_in_what_callers_persons_and_hosts_say(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = await tell(story, tmp_path, monkeypatch)
    assert [told.holds(part) for part in (WORD, NUMBER)] == [[], []]


@pytest.mark.parametrize("left", range(4, len(WORD)))
async def test_half_a_secret_at_the_end_of_a_cut_text_is_struck(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a text is cut, a caller who pads it decides how much of a secret stays: all but its last letter."""

    async def story(gate: Callgate, _archive: Archive) -> list[Any]:
        told = [await gate.call(f"{'x' * (length - left)}{WORD}", {}) for length in (80, 256)]
        return [*told, await gate.call("write", {"path": f"/etc/{'x' * (155 - left)}{WORD}", "data": {}})]

    assert (await tell(story, tmp_path, monkeypatch)).holds(WORD[:left]) == []


async def test_no_half_of_a_secret_is_left_where_large_arguments_and_outputs_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(gate: Callgate, archive: Archive) -> list[Any]:
        for before in range(4040, 4100, 4):
            archive.say = f"{'x' * before}{WORD}{'x' * 70_000}"
            assert (await gate.call("give", {})).ok
            assert (await gate.call("write", {"path": "a", "data": {"note": archive.say}})).ok
            assert isinstance(await gate.call("nosuch", {"note": archive.say}), Refused)
        return []

    assert (await tell(story, tmp_path, monkeypatch)).holds(WORD[:4]) == []


@pytest.mark.parametrize("held", ["key", "session", "principal"])
@pytest.mark.parametrize("secret", [WORD, "ghp_abcdefghijklmnopqrstuvwxyz0123456789"], ids=["known", "shaped"])
async def test_a_name_that_the_ledger_would_keep_openly_holds_no_secret(
    held: str, secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = {"idempotency_key" if held == "key" else held: f"run-{secret}"}
    context = Context(**({"idempotency_key": "k"} | name))  # pyright: ignore[reportArgumentType]

    async def story(gate: Callgate, archive: Archive) -> list[Any]:
        archive.say = "given"
        refused = await gate.call("give", {}, context)
        assert isinstance(refused, Refused)
        assert refused.error is not None
        assert refused.error.code == "invalid_arguments"
        assert f"the {held} of this call" in refused.error.message
        assert (await gate.call("give", {})).ok
        return [refused.error]

    assert (await tell(story, tmp_path, monkeypatch)).holds(secret) == []


@pytest.mark.parametrize("state", [WORD, f"/orders?token={WORD}", {"etag": WORD}], ids=["text", "path", "mapping"])
async def test_no_secret_is_in_the_state_of_a_preview_and_its_approval_binds_it(
    state: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def preview(_arguments: dict[str, Any], _context: ToolContext) -> dict[str, Any]:
        return {"text": "would", "state": state}

    @tool(effects="system_state", risk="high", preview=preview)
    async def act(ctx: ToolContext) -> str:
        """Act."""
        written = state if isinstance(state, str) else orjson.dumps(state).decode()
        seen.extend(ctx.is_as_shown(text) for text in (written, "another"))
        return "done"

    async def story(gate: Callgate, _archive: Archive) -> list[Any]:
        gate.add(act)
        previewed = await gate.call("act", {}, Context(autonomy=Autonomy.A0))
        assert previewed.status == "previewed"
        asked = await gate.call("act", {}, Context(autonomy=Autonomy.A1))
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        return [previewed, asked, await gate.resume(asked.approval_id)]

    assert (await tell(story, tmp_path, monkeypatch)).holds(WORD) == []
    assert seen == [True, False]


@pytest.mark.parametrize("trace", [WORD, f"run of {WORD}", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"])
async def test_no_secret_is_in_the_name_of_a_trace(trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(gate: Callgate, archive: Archive) -> list[Any]:
        archive.say, context = "given", Context(trace_id=trace, idempotency_key="k")
        plan = await gate.plan([Call("give", {})], Context(trace_id=trace))
        judged = await gate.judge(Call("hand", {}), Context(trace_id=trace, idempotency_key="h"))
        return [
            await gate.call("give", {}, context),
            await gate.call("give", {}, context),
            await gate.call("nosuch", {}, context),
            await gate.call("keep", {"a": 1}, Context(trace_id=trace, autonomy=Autonomy.A1)),
            *await gate.batch([Call("give", {}), 7], Context(trace_id=trace)),
            *await gate.batch(plan, Context(trace_id=trace)),
            await gate.chain("a = give()", Context(trace_id=trace)),
            await gate.report(judged.id, ok=True, output="fine"),
        ]

    assert (await tell(story, tmp_path, monkeypatch)).holds(trace.removeprefix("run of ")) == []


async def test_a_key_that_becomes_a_secret_while_its_call_is_on_its_way_is_not_kept(tmp_path: Path) -> None:
    folder, paid = tmp_path / "store", list[int]()

    def learn(_arguments: dict[str, Any]) -> int:
        # It is asked after the key was looked at, and before that is claimed.
        parts_of(gate).striker.remember(WORD, connector="archive", key="word")
        return 1

    @tool(effects="network_access", risk="medium", blast_radius=learn)
    async def pay(amount: int) -> int:
        """Pay."""
        paid.append(amount)
        return amount

    settings = parse_settings(OPEN, file="callgate.yaml")
    async with gate_of(pay, store=f"sqlite:///{folder / 'callgate.db'}", config=settings) as gate:
        refused = await gate.call("pay", {"amount": 5}, Context(idempotency_key=WORD))
        assert isinstance(refused, Refused)
        assert (await gate.call("pay", {"amount": 6}, Context(idempotency_key="another"))).ok
        texts = [repr(refused.error), *[json.dumps(event.to_json()) async for event in gate.events()]]
        assert (await gate.verify_audit()).problems == ()
    assert refused.error is not None
    assert refused.error.code == "invalid_arguments"
    assert paid == [6]
    assert Told(texts, folder).holds(WORD) == []


async def test_a_tool_that_says_the_same_twice_is_struck_while_others_learn_of_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(gate: Callgate, archive: Archive) -> list[Any]:
        archive.say = [WORD] * 100
        return await asyncio.wait_for(asyncio.gather(*(gate.call("give", {}) for _ in range(20))), WITHIN)

    assert (await tell(story, tmp_path, monkeypatch)).holds(WORD) == []
