"""What github_read gives and keeps is of one version, and said by GitHub, whatever happens between two requests."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from tests.tools.github.hub import MEGABYTE, TOKEN, VARIABLE, Hub, as_json, gate_for, sha_of
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import Asked, page, redirect, serving

FILE = {"repo": "octo/app", "path": "a.py"}
PLACE = "/repos/octo/app/contents/a.py"
OLD, NEW = b"old " * MEGABYTE, b"new " * MEGABYTE
Opened = tuple[Hub, Callgate]


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Opened]:
    monkeypatch.setenv(VARIABLE, TOKEN)
    async with serving() as site, gate_for(site, tmp_path, store=f"sqlite:///{tmp_path}/callgate.db") as gate:
        yield Hub(site), gate


def kept_in(folder: Path) -> int:
    [file] = folder.rglob("github.db")
    with closing(sqlite3.connect(file)) as shelf:
        return shelf.execute("SELECT count(*) FROM entries").fetchone()[0]


def is_raw(asked: Asked) -> bool:
    return "raw" in asked.headers["accept"]


async def test_a_large_file_that_is_changed_between_two_requests_is_one_version(opened: Opened) -> None:
    hub, gate = opened
    hub.file("octo/app", "a.py", OLD)

    def change(_: Asked) -> None:
        hub.file("octo/app", "a.py", NEW)

    hub.before(PLACE, change)
    told = (await gate.call("github_read", FILE)).unwrap()
    assert (told["sha"], told["content"], told["source"]) == (sha_of(NEW), NEW.decode(), "raw")
    assert [is_raw(asked) for asked in hub.site.asked] == [False, True, False, True]
    hub.file("octo/app", "a.py", OLD)
    told = (await gate.call("github_read", FILE)).unwrap()
    assert (told["sha"], told["content"], told["from_cache"]) == (sha_of(OLD), OLD.decode(), False)
    told = (await gate.call("github_read", FILE)).unwrap()
    assert (told["sha"], told["content"], told["from_cache"]) == (sha_of(OLD), OLD.decode(), True)


async def test_content_that_is_never_what_is_said_of_it_is_an_error_and_is_not_kept(
    opened: Opened, tmp_path: Path
) -> None:
    hub, gate = opened
    hub.file("octo/app", "a.py", OLD)
    hub.before(PLACE, lambda asked: page(NEW) if is_raw(asked) else None)
    outcome = await gate.call("github_read", FILE)
    assert category_of(outcome) is Category.RESOURCE
    assert "changed while it is read" in str(outcome)
    assert len(hub.site.asked) == 4
    assert kept_in(tmp_path) == 0


@pytest.mark.parametrize("status", ["404 Not Found", "401 Unauthorized", "403 Forbidden"])
async def test_whoever_is_refused_the_content_of_a_large_file_keeps_nothing(
    opened: Opened, tmp_path: Path, status: str
) -> None:
    hub, gate = opened
    hub.file("octo/app", "a.py", OLD)
    assert (await gate.call("github_read", FILE)).ok
    assert kept_in(tmp_path) == 1
    hub.file("octo/app", "a.py", NEW)
    hub.before(PLACE, lambda asked: as_json({"message": "no"}, status=status) if is_raw(asked) else None)
    assert not (await gate.call("github_read", FILE)).ok
    assert kept_in(tmp_path) == 0


UNCHANGED = b"HTTP/1.1 304 Not Modified\r\n\r\n"


async def test_only_github_itself_says_that_nothing_changed(opened: Opened, tmp_path: Path) -> None:
    hub, gate = opened
    hub.file("octo/app", "a.py", b"a private text")
    async with serving() as other:
        other.answers["/x"] = UNCHANGED
        other.answers["/back"] = redirect(hub.site.url("/back"))
        hub.site.answers["/back"] = UNCHANGED
        there = hub.site.answers[PLACE]
        for leads_to in ("/x", "/back"):
            hub.site.answers[PLACE] = there
            assert (await gate.call("github_read", FILE)).ok
            hub.site.answers[PLACE] = redirect(other.url(leads_to))
            outcome = await gate.call("github_read", FILE)
            assert category_of(outcome) is Category.API
            assert "127.0.0.1, where GitHub leads to, answered 304" in str(outcome)
            assert "private" not in str(outcome)
            assert kept_in(tmp_path) == 0
        assert [asked.target for asked in other.asked] == ["/x", "/back"]
        assert not any({"authorization", "if-none-match"} & set(asked.headers) for asked in other.asked)


async def test_a_repository_that_moved_is_still_unchanged(opened: Opened) -> None:
    hub, gate = opened
    hub.file("octo/new", "a.py", b"moved")
    hub.site.answers[PLACE] = redirect("/repos/octo/new/contents/a.py?ref=main", "301 Moved Permanently")
    assert [(await gate.call("github_read", FILE)).unwrap()["from_cache"] for _ in range(2)] == [False, True]


async def test_what_another_place_answers_is_not_kept(opened: Opened) -> None:
    """Its tag could be the one that GitHub knows the true content by."""
    hub, gate = opened
    sha = hub.file("octo/app", "a.py", b"true")
    there = hub.site.answers[PLACE]
    told = {"type": "file", "size": 5, "sha": sha, "encoding": "base64", "content": "d3Jvbmc="}
    async with serving() as other:
        other.answers["/x"] = as_json(told, more=f'etag: W/"{sha}"\r\n')
        hub.site.answers[PLACE] = redirect(other.url("/x"))
        assert (await gate.call("github_read", FILE)).unwrap()["content"] == "wrong"
    hub.site.answers[PLACE] = there
    told = (await gate.call("github_read", FILE)).unwrap()
    assert (told["content"], told["from_cache"]) == ("true", False)


@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden"])
async def test_what_another_place_says_of_limits_is_not_githubs_limit(opened: Opened, status: str) -> None:
    hub, gate = opened
    hub.file("octo/app", "a.py", b"x")
    there = hub.site.answers[PLACE]
    more = "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 9999999999\r\nretry-after: 86400\r\n"
    async with serving() as other:
        other.answers["/x"] = as_json({}, status=status, more=more)
        hub.site.answers[PLACE] = redirect(other.url("/x"))
        assert not (await gate.call("github_read", FILE)).ok
        assert len(other.asked) == 1
    hub.site.answers[PLACE] = there
    assert (await gate.call("github_read", FILE)).ok
