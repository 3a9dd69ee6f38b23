"""People who are not looking are told that somebody has to decide: by a signed request, or by a program."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from callgate import Call, Callgate, Pending, tool
from callgate.runtime.notifying import Notifier
from callgate.settings.values import ApprovalSettings, NotifySettings, Settings

_KEY = "a-key-for-signatures"


@tool(effects="system_state", risk="high")
def pay(amount: int, note: str = "") -> str:
    """Pay somebody."""
    return f"paid {amount} {note}"


@dataclass
class Hook:
    """A server that is told; the witness."""

    url: str = ""
    statuses: list[int] = field(default_factory=list[int])
    """What it answers, one after the other; 200 when they are used up."""
    heard: asyncio.Queue[tuple[dict[str, str], bytes]] = field(default_factory=asyncio.Queue)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether it answers."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
            if name
        }
        body = await reader.readexactly(int(headers["content-length"]))
        self.heard.put_nowait((headers, body))
        await self.goes_on.wait()
        status = self.statuses.pop(0) if self.statuses else 200
        writer.write(f"HTTP/1.1 {status} Fine\r\nLocation: {self.url}/elsewhere\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def hook() -> AsyncGenerator[Hook]:
    found = Hook()
    found.goes_on.set()
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/told"
    async with server:
        yield found


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CALLGATE_SECRET_HOOK_KEY", _KEY)


def _settings(*notify: NotifySettings) -> Settings:
    return Settings(approvals=ApprovalSettings(notify=notify))


async def test_a_plan_is_told_once_by_the_id_that_decides_it():
    async with hook() as found:
        place = NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True)
        async with Callgate.open("memory://", _settings(place)) as gate:
            gate.add(pay)
            plan = await gate.plan([Call("pay", {"amount": amount}) for amount in (1, 2, 3)], ask=True)
            alone = await gate.call("pay", {"amount": 9})
            assert isinstance(alone, Pending)
            both = [await asyncio.wait_for(found.heard.get(), 30) for _ in range(2)]
        assert found.heard.empty()
    told = {each["approval_id"]: each for each in (json.loads(body)["data"] for _, body in both)}
    assert told.keys() == {plan.approval_id, alone.approval_id}
    assert told[plan.approval_id or ""]["calls"] == 3
    assert "calls" not in told[alone.approval_id]


@pytest.mark.parametrize(
    ("written", "key"),
    [(_KEY, _KEY.encode()), ("whsec_" + base64.b64encode(b"\x00\xffkey").decode(), b"\x00\xffkey")],
    ids=["text", "as the standard writes it"],
)
async def test_a_webhook_is_told_signed_and_without_the_arguments(
    monkeypatch: pytest.MonkeyPatch, written: str, key: bytes
):
    monkeypatch.setenv("CALLGATE_SECRET_HOOK_KEY", written)
    async with hook() as found:
        place = NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True)
        async with Callgate.open("memory://", _settings(place)) as gate:
            gate.add(pay)
            gate.served_at("https://gate.example")
            outcome = await gate.call("pay", {"amount": 3, "note": "hunter2"})
            headers, body = await asyncio.wait_for(found.heard.get(), 30)
    told = json.loads(body)
    which = told["data"]["approval_id"]
    assert told["type"] == "approval.required"
    assert told["data"]["tool"] == "pay"
    assert told["data"]["url"] == f"https://gate.example/approvals/{which}"
    assert getattr(outcome, "approval_id", None) == which == headers["webhook-id"]
    assert b"hunter2" not in body
    signed = b".".join((which.encode(), headers["webhook-timestamp"].encode(), body))
    proof = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{proof}"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("whsec_not base64", "its key begins with whsec_, and what follows is no base64"),
        ("whsec_", "its key is whsec_ with no bytes behind it"),
    ],
    ids=["no base64", "no bytes"],
)
async def test_a_key_that_is_none_is_told_in_the_record_and_signs_nothing(
    monkeypatch: pytest.MonkeyPatch, written: str, why: str
):
    monkeypatch.setenv("CALLGATE_SECRET_HOOK_KEY", written)
    async with hook() as found, Callgate.open("memory://") as gate:
        gate.add(pay)
        recorded = _recorded(gate)
        _start(gate, NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True))
        await gate.call("pay", {"amount": 3})
        await asyncio.wait_for(recorded.wait(), 30)
        (event,) = await gate.newest_events(1, types=["notification.failed"])
    assert found.heard.empty()
    assert event.payload is not None
    assert event.payload["reason"] == why


async def test_a_notice_that_fails_is_tried_again_under_the_same_id():
    async with hook() as found:
        found.statuses += [500, 302]
        place = NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True)
        async with Callgate.open("memory://") as gate:
            gate.add(pay)
            _start(gate, place)
            await gate.call("pay", {"amount": 3})
            ids = [(await asyncio.wait_for(found.heard.get(), 30))[0]["webhook-id"] for _ in range(3)]
            assert found.heard.empty()
    assert len(set(ids)) == 1


async def test_what_nobody_takes_is_recorded():
    async with hook() as found:
        found.statuses += [500] * 5
        place = NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True)
        async with Callgate.open("memory://") as gate:
            gate.add(pay)
            recorded = _recorded(gate)
            _start(gate, place)
            await gate.call("pay", {"amount": 3})
            await asyncio.wait_for(recorded.wait(), 30)
        assert found.heard.qsize() == 5


async def test_a_private_address_is_not_spoken_to_unless_the_operator_says_so():
    async with hook() as found:
        place = NotifySettings(webhook=found.url, secret="hook/key")
        async with Callgate.open("memory://") as gate:
            gate.add(pay)
            recorded = _recorded(gate)
            _start(gate, place)
            await gate.call("pay", {"amount": 3})
            await asyncio.wait_for(recorded.wait(), 30)
        assert found.heard.empty()


async def test_a_program_is_told_on_its_standard_input_and_sees_no_secret(tmp_path: Path):
    said, seen = tmp_path / "said", tmp_path / "seen"
    place = NotifySettings(command=("sh", "-c", f"env > {seen}; cat > {said}.new; mv {said}.new {said}"))
    async with Callgate.open("memory://", _settings(place)) as gate:
        gate.add(pay)
        await gate.call("pay", {"amount": 3})
        async with asyncio.timeout(30):
            while not said.exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.01)  # nobody tells of a file
    assert json.loads(said.read_text())["data"]["tool"] == "pay"
    assert _KEY not in seen.read_text()


async def test_a_gate_that_closes_at_once_tells_first():
    async with hook() as found:
        place = NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True)
        async with Callgate.open("memory://", _settings(place)) as gate:
            gate.add(pay)
            await gate.call("pay", {"amount": 3})
        assert found.heard.qsize() == 1


async def test_a_notice_that_was_not_taken_when_the_gate_closed_is_recorded_with_its_reason(tmp_path: Path):
    store = f"sqlite:///{tmp_path / 'callgate.db'}"
    async with hook() as found:
        found.statuses += [503]
        place = NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True)
        async with Callgate.open(store, _settings(place)) as gate:
            gate.add(pay)
            await gate.call("pay", {"amount": 3})
    async with Callgate.open(store) as gate:
        (failed,) = [event async for event in gate.events(types=["notification.failed"])]
    assert failed.payload is not None
    assert failed.payload["tries"] == 1
    assert failed.payload["reason"] == "the webhook answered 503; the process ended before it was tried again"


async def test_a_program_that_does_not_end_is_ended_with_the_gate_and_what_it_started_too(tmp_path: Path):
    pids = tmp_path / "pids"
    place = NotifySettings(command=("sh", "-c", f"sleep 600 & echo $! > {pids}.new; mv {pids}.new {pids}; wait"))
    store = f"sqlite:///{tmp_path / 'callgate.db'}"
    async with Callgate.open(store, _settings(place)) as gate:
        gate.add(pay)
        await gate.call("pay", {"amount": 3})
        async with asyncio.timeout(30):
            while not pids.exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.01)  # nobody tells of a file
    assert not _lives(int(pids.read_text()))
    async with Callgate.open(store) as gate:
        assert [event.type async for event in gate.events(types=["notification.failed"])] == ["notification.failed"]


async def test_of_what_is_decided_already_nobody_is_told_again():
    async with hook() as found:
        found.statuses += [500]
        found.goes_on.clear()
        place = NotifySettings(webhook=found.url, secret="hook/key", private_addresses=True)
        async with Callgate.open("memory://") as gate:
            gate.add(pay)
            recorded = _recorded(gate)
            _start(gate, place)
            await gate.call("pay", {"amount": 3})
            await asyncio.wait_for(found.heard.get(), 30)
            (asked,) = await gate.approvals()
            await gate.reject(asked.id, by="ada", why="no")
            found.goes_on.set()
            await asyncio.wait(set(gate._open().work), timeout=30)  # pyright: ignore[reportPrivateUsage]
            assert found.heard.empty()
            assert not recorded.is_set()


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _recorded(gate: Callgate) -> asyncio.Event:
    """Set when it is recorded that nobody could be told."""
    recorded = asyncio.Event()

    def note(_event: object) -> None:
        recorded.set()

    gate.on("notification.failed", note)
    return recorded


def _start(gate: Callgate, place: NotifySettings) -> None:
    """Tell these without waiting between tries."""
    Notifier(gate._open(), (place,), tries=(0.0,) * 4).start()  # pyright: ignore[reportPrivateUsage]
