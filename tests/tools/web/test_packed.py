"""Packed answers: all of them is given, within the bounds, and one that breaks off is told as such. TOOL-02."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import Site, page, serving

CONFIG = """scopes: {net: {private_addresses: true}}
builtin_tools: {enable: [web], web: {search: [{kind: searxng, url: "SITE/search"}]}}
"""
LINES = b"".join(b"line %d\n" % number for number in range(5000))
ARTICLE = "<html><body><article>" + "".join(f"<p>Paragraph {number} of the text.</p>" for number in range(60))


def bare(content: bytes) -> bytes:
    """Deflate without the head that the standard wants."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


PACKINGS = [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", bare)]
packings = pytest.mark.parametrize(("coding", "pack"), PACKINGS, ids=["gzip", "x-gzip", "deflate", "bare"])


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    async with serving() as served:
        yield served


@pytest.fixture
async def gate(tmp_path: Path, site: Site) -> AsyncGenerator[Callgate]:
    config = tmp_path / "callgate.yaml"
    config.write_text(CONFIG.replace("SITE", site.url("")))
    async with Callgate.open("memory://", config) as opened:
        yield opened


def packed(content: bytes, coding: str = "gzip", kind: str = "text/plain") -> bytes:
    return page(content, kind, more=f"content-encoding: {coding}\r\n")


async def told_of(gate: Callgate, site: Site, answer: bytes) -> dict[str, Any]:
    site.answers["/x"] = answer
    return (await gate.call("http_get", {"url": site.url("/x")})).unwrap()


@packings
async def test_what_is_whole_is_given_as_whole(gate: Callgate, site: Site, coding: str, pack: Any) -> None:
    told = await told_of(gate, site, packed(pack(LINES), coding))
    assert (told["body"], told["truncated"]) == (LINES.decode(), False)


@packings
@pytest.mark.parametrize("missing", [1, 5000], ids=["its last byte", "half of it"])
async def test_what_breaks_off_is_not_told_as_whole(
    gate: Callgate, site: Site, coding: str, pack: Any, missing: int
) -> None:
    """The server's own length says that this is all; only the packing knows better."""
    told = await told_of(gate, site, packed(pack(LINES)[:-missing], coding))
    assert told["truncated"]
    assert LINES.decode().startswith(told["body"])


async def test_a_connection_that_ends_in_the_middle_is_not_told_as_the_end(gate: Callgate, site: Site) -> None:
    """Without a length the end of the connection would be the end of the answer."""

    async def breaks_off(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n\r\n")
        writer.write(gzip.compress(LINES)[:5000])
        await writer.drain()

    site.answers["/x"] = breaks_off
    told = (await gate.call("http_get", {"url": site.url("/x")})).unwrap()
    assert told["truncated"]


@pytest.mark.parametrize("name", ["web_fetch", "fetch_docs"])
async def test_a_page_that_breaks_off_is_given_in_part(gate: Callgate, site: Site, name: str) -> None:
    whole = gzip.compress(ARTICLE.encode())
    site.answers["/x"] = packed(whole[: len(whole) // 2], kind="text/html")
    told = (await gate.call(name, {"url": site.url("/x")})).unwrap()
    assert told["truncated"]
    assert "Paragraph 1 of the text" in told["content"]


async def test_results_of_a_search_that_break_off_are_not_taken(gate: Callgate, site: Site) -> None:
    site.answers["/search"] = packed(gzip.compress(b'{"results": []}')[:-1], kind="application/json")
    assert "broke off" in str(await gate.call("web_search", {"query": "call gate"}))


@pytest.mark.parametrize("at_once", [1, 7, 100_000])
async def test_all_members_of_a_packed_answer_are_given_however_they_come(
    gate: Callgate, site: Site, at_once: int
) -> None:
    members = b"".join(gzip.compress(b"part %d, " % number) for number in range(3))

    async def drips(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n\r\n")
        for at in range(0, len(members), at_once):
            writer.write(members[at : at + at_once])
            await writer.drain()
            await asyncio.sleep(0)

    site.answers["/x"] = drips
    told = (await gate.call("http_get", {"url": site.url("/x")})).unwrap()
    assert (told["body"], told["truncated"]) == ("part 0, part 1, part 2, ", False)


@pytest.mark.parametrize("behind", [b"\0" * 512, b"some words", b"\x1f"], ids=["zeros", "words", "a beginning"])
async def test_what_stands_behind_the_last_member_is_no_part_of_it(gate: Callgate, site: Site, behind: bytes) -> None:
    told = await told_of(gate, site, packed(gzip.compress(b"all there is") + behind))
    assert (told["body"], told["truncated"]) == ("all there is", behind == b"\x1f")


@pytest.mark.parametrize("pack", [zlib.compress, bare])
@pytest.mark.parametrize("behind", [zlib.compress(b"two"), b"\x1f", b"\0"], ids=["another", "a stray byte", "a zero"])
async def test_what_stands_behind_the_end_of_deflate_is_no_part_of_it(
    gate: Callgate, site: Site, pack: Any, behind: bytes
) -> None:
    told = await told_of(gate, site, packed(pack(b"one") + behind, "deflate"))
    assert (told["body"], told["truncated"]) == ("one", False)


async def test_a_later_member_that_is_packed_wrongly_is_an_error(gate: Callgate, site: Site) -> None:
    site.answers["/x"] = packed(gzip.compress(b"one") + b"\x1f\x8bthis is no gzip")
    outcome = await gate.call("http_get", {"url": site.url("/x")})
    assert category_of(outcome) is Category.RESOURCE
    assert "packed its answer wrongly" in str(outcome)


async def test_nothing_at_all_is_a_whole_answer(gate: Callgate, site: Site) -> None:
    """Some servers say of every answer that it is packed, also of an empty one."""
    told = await told_of(gate, site, packed(b""))
    assert (told["body"], told["truncated"]) == ("", False)


async def test_a_bomb_of_many_members_is_unpacked_only_to_the_bound(gate: Callgate, site: Site) -> None:
    """None of them is large."""
    members = gzip.compress(b"x" * 50_000) * 2000
    assert len(members) < 400_000
    told = await told_of(gate, site, packed(members))
    assert (len(told["body"]), told["truncated"]) == (100_000, True)


async def test_members_without_content_hold_nobody_up(gate: Callgate, site: Site) -> None:
    told = await told_of(gate, site, packed(gzip.compress(b"") * 19_000 + gzip.compress(b"at last")))
    assert (told["body"], told["truncated"]) == ("at last", False)
    assert told["elapsed_ms"] < 5000
