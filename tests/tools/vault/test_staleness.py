"""A note that changed since it was read is told as stale; what one wrote oneself is no surprise."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.events.staleness import content_hash
from callgate.tools.file_facts import digest_of
from tests.journeys.gates import parts_of
from tests.tools.vault.calling import asker, home, opened, put


async def noted(
    gate: Callgate, content: str, *, path: str = "a.md", user: str = "ann", project: str = "default"
) -> None:
    """Wait until this is noted: that comes after the call, which does not wait for it."""
    digest = content_hash(digest_of(content.encode()))
    async with asyncio.timeout(30):
        while True:
            last = await parts_of(gate).store.read(lambda reader: reader.reading(user, project, path))
            if last is not None and last.digest == digest:
                return
            await asyncio.sleep(0.002)  # nobody tells of a note


async def told(gate: Callgate) -> list[dict[str, Any]]:
    return [
        {**(event.payload or {}), "severity": event.severity} async for event in gate.events(types=["source.stale"])
    ]


@pytest.mark.requirement("STL-01", "STL-02", "STL-03", "STL-04")
async def test_another_content_at_the_next_reading_is_told_once(tmp_path: Path) -> None:
    file = home(tmp_path, "ann") / "a.md"
    file.parent.mkdir(parents=True)
    file.write_text("one\n")
    async with opened(tmp_path) as gate:
        for _ in range(2):
            assert (await gate.call("vault_read", {"path": "a.md"}, asker("ann"))).ok
            await noted(gate, "one\n")
        file.write_text("one\n")  # another time, and the same content
        assert (await gate.call("vault_read", {"path": "a.md"}, asker("ann"))).ok
        await noted(gate, "one\n")
        assert await told(gate) == []
        file.write_text("---\nonly: the front matter\n---\none\n")
        for _ in range(2):
            assert (await gate.call("vault_read", {"path": "a.md"}, asker("ann"))).ok
            await noted(gate, "---\nonly: the front matter\n---\none\n")
        [event] = await told(gate)
        assert (event["path"], event["project_id"]) == ("a.md", "default")
        assert str(event["severity"]).upper().endswith("WARNING")
        assert re.fullmatch("[0-9a-f]{8}", event["previous_hash"])
        assert re.fullmatch("[0-9a-f]{8}", event["current_hash"])
        assert event["previous_hash"] != event["current_hash"]
        assert "a.md" in event["message"]


@pytest.mark.requirement("STL-03")
async def test_other_users_and_projects_read_for_themselves(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        for user, project, body in (("ann", "default", "1"), ("bob", "default", "2"), ("ann", "other", "3")):
            given = {"path": "a.md", "body": body, "project_id": project}
            assert (await gate.call("vault_write", given, asker(user))).ok
            await noted(gate, body, user=user, project=project)
        for user, project, body in (("bob", "default", "2"), ("ann", "other", "3"), ("ann", "default", "1")):
            assert (await gate.call("vault_read", {"path": "a.md", "project_id": project}, asker(user))).ok
            await noted(gate, body, user=user, project=project)
        assert await told(gate) == []


@pytest.mark.requirement("STL-05")
async def test_what_one_wrote_moved_or_listed_oneself_is_no_surprise(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate:
        for body in ("one", "two"):
            assert (await gate.call("vault_write", {"path": "a.md", "body": body}, asker("ann"))).ok
            await noted(gate, body)
            assert (await gate.call("vault_read", {"path": "a.md"}, asker("ann"))).ok
            await noted(gate, body)
        given = {"old_path": "a.md", "new_path": "b.md"}
        assert (await gate.call("vault_move", given, asker("ann"))).ok
        await noted(gate, "two", path="b.md")
        index = (await gate.call("vault_create_index", {"folder": "/"}, asker("ann"))).unwrap()
        text = (home(tmp_path, "ann") / index["path"]).read_text()
        await noted(gate, text, path="index.md")
        for path, content in (("b.md", "two"), ("index.md", text)):
            assert (await gate.call("vault_read", {"path": path}, asker("ann"))).ok
            await noted(gate, content, path=path)
        assert await told(gate) == []


async def test_nothing_of_a_note_is_in_the_events(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": "what-stays-in-the-note"})
    async with opened(tmp_path) as gate:
        assert (await gate.call("vault_read", {"path": "a.md"}, asker())).ok
        await noted(gate, "what-stays-in-the-note", user="agent")
        (home(tmp_path) / "a.md").write_text("what-stays-there-too")
        assert (await gate.call("vault_read", {"path": "a.md"}, asker())).ok
        await noted(gate, "what-stays-there-too", user="agent")
        events = [str(event.payload) async for event in gate.events(types=["source.stale"])]
    assert len(events) == 1
    assert "what-stays" not in "".join(events)


async def test_links_that_a_move_of_ones_own_rewrote_are_no_surprise(tmp_path: Path) -> None:
    """STL-05: the agent's own write through the runtime refreshes the record."""
    async with opened(tmp_path) as gate:
        for path, body in (("tea.md", "tea"), ("today.md", "drank [[tea]]")):
            assert (await gate.call("vault_write", {"path": path, "body": body}, asker("ann"))).ok
            await noted(gate, body, path=path)
        arguments = {"old_path": "tea.md", "new_path": "chai.md"}
        moved = (await gate.call("vault_move", arguments, asker("ann"))).unwrap()
        assert list(moved["updated"]) == ["today.md"]
        await noted(gate, "drank [[chai]]", path="today.md")
        read = (await gate.call("vault_read", {"path": "today.md"}, asker("ann"))).unwrap()
        assert (read["content"], read["digest"]) == ("drank [[chai]]", moved["updated"]["today.md"])
        assert await told(gate) == []


async def test_that_links_followed_is_no_surprise_in_any_of_hundreds_of_notes(tmp_path: Path) -> None:
    """STL-05: the answer names some of them, and the record has all."""
    paths = [f"{at}.md" for at in range(620)]
    top = home(tmp_path, "ann")
    top.mkdir(parents=True)
    for path in ("tea.md", *paths):
        (top / path).write_text("drank [[tea]]")
    async with opened(tmp_path) as gate:
        for path in ("1.md", "619.md", "99.md"):
            assert (await gate.call("vault_read", {"path": path}, asker("ann"))).ok
            await noted(gate, "drank [[tea]]", path=path)
        arguments = {"old_path": "tea.md", "new_path": "chai.md"}
        outcome = await gate.call("vault_move", arguments, asker("ann"), timeout=300)
        moved = outcome.unwrap()
        assert (moved["notes_updated"], len(moved["updated"])) == (621, 99)
        assert outcome.metadata["artifact"].keys() == set(paths)
        for path in (*paths, "chai.md"):
            await noted(gate, "drank [[chai]]", path=path)
        (top / "99.md").write_text("drank nothing")
        for path in ("1.md", "619.md", "99.md"):
            assert (await gate.call("vault_read", {"path": path}, asker("ann"))).ok
        await noted(gate, "drank nothing", path="99.md")
        assert [event["path"] for event in await told(gate)] == ["99.md"]
