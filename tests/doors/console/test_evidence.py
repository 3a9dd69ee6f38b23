"""The whole record, at both doors: read for one at a time, and nothing of it stays behind."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from callgate.serve.whole_record import WholeRecord
from tests.doors.console.conftest import AGENT, Console


async def test_however_many_ask_by_either_door_the_record_is_read_for_one_at_a_time(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    now, most, seen = 0, 0, 0
    verify, export = console.gate.verify_audit, console.gate.export_evidence

    async def counted(work: Any) -> Any:
        nonlocal now, most, seen
        now, seen = now + 1, seen + 1
        most = max(most, now)
        try:
            await asyncio.sleep(0)
            return await work
        finally:
            now -= 1

    def packing(*given: Any, **more: Any) -> Any:
        return counted(export(*given, **more))

    monkeypatch.setattr(console.gate, "verify_audit", lambda: counted(verify()))
    monkeypatch.setattr(console.gate, "export_evidence", packing)
    _, token = await console.gate.admit_person("bob", by="operator")
    api = {"Authorization": f"Bearer {token}"}
    async with console.signed_in() as client:
        form = {"stamp": await console.stamp(client)}
        answers = await asyncio.gather(
            client.post("/evidence", data=form),
            client.post("/evidence/export", data=form),
            client.post("/api/v1/audit/verify", headers=api),
            client.get("/api/v1/evidence", headers=api),
        )
    assert [answer.status_code for answer in answers] == [200] * 4
    assert (seen, most) == (4, 1)


def _left(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_nothing_of_a_package_stays_behind_whether_or_not_it_is_fetched(
    console: Console, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    await console.gate.call("word_count", {"text": "a"}, AGENT)
    async with console.signed_in() as client:
        form = {"stamp": await console.stamp(client), "span": "day"}
        async with client.stream("POST", "/evidence/export", data=form) as answer:
            assert answer.headers["content-disposition"] == 'attachment; filename="callgate-evidence.zip"'
            assert _left(tmp_path) == []
        packed = await client.post("/evidence/export", data=form)
    assert packed.content.startswith(b"PK")
    assert int(packed.headers["content-length"]) == len(packed.content)


async def test_a_package_is_let_go_when_nobody_takes_its_first_part(console: Console):
    def held() -> list[Path]:
        links = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
        return [link for link in links if "callgate-evidence" in str(link.readlink())]

    async def leave(_: Any) -> None:
        raise OSError

    async def nothing() -> Any:
        return {"type": "http.disconnect"}

    package = await WholeRecord(console.gate).packed()
    assert len(held()) == 1
    with pytest.raises(ClientDisconnect):
        await package({"type": "http", "asgi": {"spec_version": "2.4"}}, nothing, leave)
    assert held() == []
