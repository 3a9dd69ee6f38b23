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
from tests.tools.outbound.site import Asked, page, serving

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
