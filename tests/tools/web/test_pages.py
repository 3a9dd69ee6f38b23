"""web_fetch, fetch_docs and fetch_wikipedia, against servers of our own. TOOL-01, TOOL-02."""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.outbound.troubles import AnswerUnfit
from callgate.tools.web.apart import read_apart
from callgate.tools.web.pages import read_page
from tests.tools.outbound.site import Site, page, redirect, serving

ARTICLE = """<html><head><title>Call  gates
explained</title><style>p {color: red}</style></head><body>
<nav><a href="/home">Home</a><a href="/about">About</a></nav>
<article><h1>Call gates</h1>
<p>A call gate is the one checked door through which less trusted code may call <b>more trusted</b>
code, and nothing else.</p>
<h2>Where</h2><p>Processors had them first; see <a href="https://example.com/gates">their history</a> for all the
details.</p>
<ul><li>first point of the list</li><li>second point of the list</li></ul>
<pre><code>lcall $7, $0</code></pre></article>
<script>alert("no text of this")</script><footer>All rights reserved by nobody</footer></body></html>"""
LONG = "".join(f"<p>Paragraph {number} says something that is long enough to be text.</p>" for number in range(300))


@pytest.fixture
async def site() -> AsyncGenerator[Site]:
    async with serving() as served:
        yield served


@pytest.fixture
async def gate(tmp_path: Path, site: Site) -> AsyncGenerator[Callgate]:
    config = tmp_path / "callgate.yaml"
    config.write_text(
        "scopes: {net: {private_addresses: true}}\n"
        f'builtin_tools: {{enable: [web], web: {{wikipedia: "{site.url("/w/api.php")}", trusted_docs: [127.0.0.1]}}}}\n'
    )
    async with Callgate.open("memory://", config) as opened:
        yield opened


async def fetch(gate: Callgate, url: str, **more: Any) -> dict[str, Any]:
    return (await gate.call("web_fetch", {"url": url, **more})).unwrap()


async def test_a_page_becomes_markdown_without_what_stands_around_it(gate: Callgate, site: Site) -> None:
    site.answers["/gates"] = page(ARTICLE)
    told = await fetch(gate, site.url("/gates"))
    assert told["title"] == "Call gates explained"
    content = told["content"]
    for part in ("# Call gates", "## Where", "**more trusted**", "[their history](https://example.com/gates)"):
        assert part in content
    for part in ("- first point of the list", "lcall $7, $0"):
        assert part in content
    for part in ("alert", "color", "Home"):
        assert part not in content
    assert (told["url"], told["truncated"]) == (site.url("/gates"), False)
    assert datetime.fromisoformat(told["extracted_at"]).tzinfo is not None
    assert "redirected_from" not in told


async def test_text_is_cut_at_four_characters_a_token_and_the_number_is_clamped(gate: Callgate, site: Site) -> None:
    """TOOL-02."""
    site.answers["/long"] = page(f"<html><body><article>{LONG}</article></body></html>")
    told = await fetch(gate, site.url("/long"), max_tokens=200)
    assert (len(told["content"]), told["truncated"]) == (800, True)
    assert len((await fetch(gate, site.url("/long"), max_tokens=1))["content"]) == 400
    whole = await fetch(gate, site.url("/long"), max_tokens=1_000_000)
    assert not whole["truncated"]
    assert "Paragraph 299" in whole["content"]


async def test_a_redirect_is_told(gate: Callgate, site: Site) -> None:
    """TOOL-02."""
    site.answers |= {"/old": redirect("/new"), "/new": page(ARTICLE)}
    told = await fetch(gate, site.url("/old"))
    assert (told["url"], told["redirected_from"]) == (site.url("/new"), site.url("/old"))


@pytest.mark.parametrize(
    ("status", "said", "retryable"),
    [
        ("404 Not Found", "no such page", False),
        ("403 Forbidden", "refuses access", False),
        ("401 Unauthorized", "sign in", False),
        ("418 Teapot", "did not take", False),
        ("302 Found", "does not say where", False),
        ("300 Multiple Choices", "did not take", False),
        ("304 Not Modified", "nothing has changed", False),
    ],
)
@pytest.mark.parametrize("name", ["web_fetch", "fetch_docs"])
async def test_statuses_give_errors_of_their_own(
    gate: Callgate, site: Site, name: str, status: str, said: str, retryable: bool
) -> None:
    """TOOL-02."""
    site.answers["/x"] = page("no", status=status)
    outcome = await gate.call(name, {"url": site.url("/x")})
    assert outcome.error is not None
    assert (outcome.error.category, outcome.error.retryable) == (Category.API, retryable)
    assert said in outcome.error.message


@pytest.mark.parametrize(("status", "said"), [("429 Too Many", "fewer requests"), ("503 Down", "trouble of its own")])
async def test_a_server_that_wants_a_pause_or_fails_may_be_asked_again(
    gate: Callgate, site: Site, status: str, said: str
) -> None:
    """TOOL-02: the server says when, and that is longer than the call may take."""
    site.answers["/x"] = page("later", status=status, more="retry-after: 3600\r\n")
    outcome = await gate.call("web_fetch", {"url": site.url("/x")})
    assert outcome.error is not None
    assert outcome.error.retryable
    assert said in outcome.error.message
    assert len(site.asked) == 1


@pytest.mark.parametrize("status", ["429 Too Many", "503 Down", "404 Not Found"])
@pytest.mark.parametrize("name", ["web_fetch", "fetch_docs"])
async def test_a_page_that_wants_a_pause_stops_no_call_to_others(
    gate: Callgate, site: Site, name: str, status: str
) -> None:
    site.answers |= {"/x": page("later", status=status, more="retry-after: 86400\r\n"), "/good": page(ARTICLE)}
    assert not (await gate.call(name, {"url": site.url("/x")})).ok
    assert (await gate.call(name, {"url": site.url("/good")})).ok
    assert site.targets() == ["/x", "/good"]


@pytest.mark.parametrize("kind", ["application/pdf", "text/plain", "application/json", "image/png", ""])
async def test_what_is_no_html_is_refused(gate: Callgate, site: Site, kind: str) -> None:
    """TOOL-02."""
    site.answers["/x"] = page("%PDF-1.7", kind)
    outcome = await gate.call("web_fetch", {"url": site.url("/x")})
    assert "is no HTML page" in str(outcome)
    leads_on = "use fetch_docs for it" in str(outcome)
    assert leads_on == (await gate.call("fetch_docs", {"url": site.url("/x")})).ok


@pytest.mark.parametrize("name", ["web_fetch", "fetch_docs"])
async def test_a_page_in_which_no_text_is_found_says_so(gate: Callgate, site: Site, name: str) -> None:
    site.answers |= {"/app": page('<div id="root"></div><script src="app.js"></script>'), "/good": page(ARTICLE)}
    told = (await gate.call(name, {"url": site.url("/app")})).unwrap()
    assert (told["content"], "no text was found" in told["note"]) == ("", True)
    assert "note" not in (await gate.call(name, {"url": site.url("/good")})).unwrap()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=iso-8859-1", "<p>caf\xe9</p>".encode("latin-1")),
        ("text/html", b'<meta charset="windows-1251"><p>caf\xc3\xa9</p>'.replace(b"\xc3\xa9", "é".encode("cp1252"))),
        ("text/html; charset=unicode_escape", "<p>café \\u0041</p>".encode()),
        ("text/html; charset=nonsense", "<p>café</p>".encode()),
        ("text/html", "<p>café</p>".encode()),
    ],
    ids=["header", "meta", "no-characters", "unknown", "none"],
)
async def test_characters_are_read_as_the_server_or_the_page_says(
    gate: Callgate, site: Site, kind: str, body: bytes
) -> None:
    site.answers["/x"] = page(body, kind)
    content = (await fetch(gate, site.url("/x")))["content"]
    assert content.startswith("cafй" if b"1251" in body else "café")
    assert "A" not in content


@pytest.mark.parametrize(
    ("kind", "body", "read"),
    [
        ("text/html", b'<meta charset="utf-16"><p>' + "café".encode(), "café"),
        ("text/html; charset=nonsense", b'<meta charset="gb2312"><p>' + "朱镕基".encode("gbk"), "朱镕基"),
        ("text/plain; charset=iso-8859-1", codecs.BOM_UTF8 + "café".encode(), "café"),
        ("text/plain; charset=utf-8", "café".encode("utf-16"), "café"),
        ("text/html", codecs.BOM_UTF16_BE + "<p>café".encode("utf-16-be"), "café"),
        ("text/plain; charset=utf-16", "café".encode("utf-16-le"), "café"),
        ("text/plain; charset=utf-16be", "café".encode("utf-16-be"), "café"),
        ("text/plain; charset=gb2312", "朱镕基".encode("gbk"), "朱镕基"),
        ("text/plain; charset=x-gbk", "𠀀".encode("gb18030"), "𠀀"),
        ("text/plain; charset=euc-kr", "똠방각하".encode("cp949"), "똠방각하"),
        ("text/plain; charset=Shift_JIS", "①髙﨑".encode("cp932"), "①髙﨑"),
        ("text/plain; charset=x-sjis", "①髙﨑".encode("cp932"), "①髙﨑"),
        ("text/plain; charset=big5", "嘅".encode("big5hkscs"), "嘅"),
        ("text/plain; charset=iso-8859-9", "“ğ”".encode("cp1254"), "“ğ”"),
        ("text/plain; charset=windows-874", "กขค".encode("cp874"), "กขค"),
        ("text/plain; charset=us-ascii", "“café”".encode("cp1252"), "“café”"),
        ("text/plain; charset=X-CP1251", "чай".encode("cp1251"), "чай"),
        ("text/plain; charset=iso88592", "čaj".encode("iso8859-2"), "čaj"),
        ("text/plain; charset=unicode", "café".encode("utf-16-le"), "café"),
        ("text/plain; charset=cn-big5", "嘅".encode("big5hkscs"), "嘅"),
    ],
)
async def test_characters_are_read_as_browsers_read_them(
    gate: Callgate, site: Site, kind: str, body: bytes, read: str
) -> None:
    site.answers["/x"] = page(body, kind)
    assert (await gate.call("fetch_docs", {"url": site.url("/x")})).unwrap()["content"] == read


FEED = '<?xml version="1.0" encoding="windows-1251"?><rss><title>чай</title></rss>'.encode("cp1251")
XHTML = (
    b'<?xml version="1.0" encoding="iso-8859-1"?><html xmlns="http://www.w3.org/1999/xhtml"><body>caf\xe9</body></html>'
)


@pytest.mark.parametrize(
    ("kind", "body", "read"),
    [
        ("application/rss+xml", FEED, "чай"),
        ("text/xml", FEED.replace(b'"windows-1251"', b"'windows-1251'"), "чай"),
        ("application/xml", FEED.replace(b"windows-1251", b"utf-16"), "\N{REPLACEMENT CHARACTER}"),
        ("text/xml; charset=utf-8", FEED.decode("cp1251").encode(), "чай"),
        ("application/xml", b"<rss>caf\xc3\xa9 encoding='windows-1251'</rss>", "café"),
        ("application/xhtml+xml", XHTML, "café"),
        ("application/xhtml+xml", '<html><meta charset="shift_jis"/>café</html>'.encode(), "café"),
        ("text/html", XHTML, "café"),
    ],
)
async def test_xml_is_read_by_its_declaration(gate: Callgate, site: Site, kind: str, body: bytes, read: str) -> None:
    site.answers["/x"] = page(body, kind)
    assert read in (await gate.call("http_get", {"url": site.url("/x")})).unwrap()["body"]


async def test_a_page_in_xhtml_is_read_by_its_declaration(gate: Callgate, site: Site) -> None:
    site.answers["/x"] = page(XHTML, "application/xhtml+xml")
    assert (await fetch(gate, site.url("/x")))["content"] == "café"


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="description" content="What charset=shift_jis is">',
        '<meta data-charset="shift_jis">',
        '<a title="<meta charset=shift_jis>">',
        '<!-- <meta charset="shift_jis"> -->',
        "<script>old = '<meta charset=shift_jis>'</script>",
        "<style>/* <meta charset=shift_jis> */</STYLE >",
        '<meta charset="no-such">',
    ],
)
async def test_words_about_characters_do_not_change_how_they_are_read(gate: Callgate, site: Site, head: str) -> None:
    site.answers["/x"] = page(
        f'<!doctype html><html><head>{head}<meta charset="windows-1252">'.encode() + b"caf\xe9", "text/html"
    )
    assert "café" in (await gate.call("http_get", {"url": site.url("/x")})).unwrap()["body"]


@pytest.mark.parametrize(
    "meta",
    [
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        "<META CONTENT='text/html;charset = windows-1251' id=a HTTP-EQUIV=content-type />",
        '<meta/charset=" windows-1251 ">',
        '<!--> <meta name="x" charset=windows-1251 charset=utf-8>',
        "<title>a > b</title><meta charset='windows-1251'>",
    ],
)
async def test_a_page_says_its_characters_in_several_ways(gate: Callgate, site: Site, meta: str) -> None:
    site.answers["/x"] = page(meta.encode() + "чай".encode("cp1251"), "text/html")
    assert "чай" in (await gate.call("http_get", {"url": site.url("/x")})).unwrap()["body"]


async def test_links_lead_where_those_of_the_page_do(gate: Callgate, site: Site) -> None:
    links = (
        "/x.html",
        "y.html?a=1",
        "../z",
        "#part",
        "//example.com/w",
        "https://example.com/v",
        "mailto:a@b.c",
        "//[bad",
    )
    text = " ".join(f'some words before <a href="{link}">link {at}</a>' for at, link in enumerate(links))
    site.answers["/docs/deep/page"] = page(f"<html><body><article><p>{text}</p></article></body></html>")
    content = (await fetch(gate, site.url("/docs/deep/page")))["content"]
    here = site.url("/docs/deep/page")
    leads = site.url("/x.html"), site.url("/docs/deep/y.html?a=1"), site.url("/docs/z"), f"{here}#part"
    for at, link in enumerate((*leads, "http://example.com/w", "https://example.com/v", "mailto:a@b.c", "//[bad")):
        assert f"[link {at}]({link})" in content
    based = f'<html><head><base href="/docs/2/"></head><body><article><p>{text}</p></article></body></html>'
    assert (
        "[link 1](https://example.com/docs/2/y.html?a=1)" in read_page(based, "https://example.com/docs/1/")["content"]
    )


@pytest.mark.parametrize("base", ["http://[", "data:text/plain,x", "javascript:0", "mailto:a@b.c", ""])
def test_links_of_a_page_whose_base_is_no_address_of_a_page_lead_from_its_own(base: str) -> None:
    text = "some words before " * 9 + '<a href="x">the link</a>'
    html = f'<html><head><base href="{base}"></head><body><article><p>{text}</p></article></body></html>'
    assert "[the link](https://example.com/docs/x)" in read_page(html, "https://example.com/docs/1")["content"]
    assert "[the link](x)" in read_page(html)["content"]


@pytest.mark.parametrize("link", [" /z ", "\t/z\n", "\f/z\f"])
def test_blanks_around_a_link_are_no_part_of_it(link: str) -> None:
    text = "some words before " * 9 + f'<a href="{link}">the link</a>'
    for head in ("", "<base href=' https://example.com/docs/ '>"):
        html = f"<html><head>{head}</head><body><article><p>{text}</p></article></body></html>"
        assert "[the link](https://example.com/z)" in read_page(html, "https://example.com/docs/1")["content"]


async def test_a_page_without_an_article_gives_what_can_be_seen() -> None:
    seen = read_page("<html><body><script>x()</script><div><button>Press</button><span>me</span></div></body></html>")
    assert (seen["title"], "x()" in seen["content"]) == ("", False)
    assert "Press" in seen["content"]
    assert read_page("") == {"title": "", "content": ""}


async def test_a_page_too_large_is_read_in_part(gate: Callgate, site: Site) -> None:
    body = f"<html><body><article>{LONG}</article><!--{'x' * 3_000_000}--></body></html>"
    site.answers["/x"] = page(body)
    told = await fetch(gate, site.url("/x"), max_tokens=10_000)
    assert told["truncated"]
    assert "Paragraph 5 " in told["content"]


@pytest.mark.slow
async def test_a_page_that_keeps_its_reader_busy_is_stopped_with_the_call(gate: Callgate, site: Site) -> None:
    """Read in a process of its own, which is gone when the call is over."""
    attributes = " ".join(f"a{number}=1" for number in range(120_000))
    site.answers["/x"] = page(f"<html><body><p {attributes}>x</p></body></html>")
    outcome = await gate.call("web_fetch", {"url": site.url("/x")}, timeout=3)
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT
    assert readers() == []


def readers() -> list[str]:
    """Processes of this one that read a page, as the system lists them."""
    children = Path(f"/proc/{Path('/proc/self').resolve().name}/task")
    ids = [word for task in children.iterdir() for word in (task / "children").read_text().split()]
    lines = [Path(f"/proc/{one}/cmdline").read_bytes() for one in ids if Path(f"/proc/{one}/cmdline").exists()]
    return [line.decode() for line in lines if b"callgate.tools.web.apart" in line]


@pytest.mark.slow
async def test_a_page_that_takes_too_much_computing_is_told_as_unreadable() -> None:
    with pytest.raises(AnswerUnfit, match="cannot be read"):
        await read_apart(read_page, "<html><body>" + "<div>" * 200_000 + "deep" + "</body></html>", seconds=1)


async def test_documentation_is_fetched_as_text_of_several_kinds(gate: Callgate, site: Site) -> None:
    site.answers |= {
        "/html": page(ARTICLE),
        "/md": page("# Title\n\nText.", "text/markdown"),
        "/json": page('{"a": 1}', "application/json"),
        "/long": page("x" * 500, "text/plain"),
        "/pdf": page("%PDF", "application/pdf"),
    }

    async def docs(path: str, **more: Any) -> Any:
        return await gate.call("fetch_docs", {"url": site.url(path), **more})

    assert "# Call gates" in (await docs("/html")).unwrap()["content"]
    told = (await docs("/md")).unwrap()
    # Its host is among the trusted ones, and by http anybody could have written it.
    assert (told["content"], told["trust_level"], told["truncated"]) == ("# Title\n\nText.", "unknown", False)
    assert (await docs("/json", check_trust=False)).unwrap()["trust_level"] == "unchecked"
    cut = (await docs("/long", max_length=100)).unwrap()
    assert (len(cut["content"]), cut["truncated"]) == (100, True)
    assert "is no text" in str(await docs("/pdf"))


def article(**more: Any) -> bytes:
    found = {
        "title": "Call gate (Intel)",
        "extract": "A call gate is a mechanism. It has a level.",
        "canonicalurl": "https://en.wikipedia.org/wiki/Call_gate_(Intel)",
        "categories": [{"ns": 14, "title": "Category:X86 architecture"}],
    }
    return page(orjson.dumps({"query": {"pages": [{**found, **more}]}}), "application/json")


async def test_an_article_of_the_encyclopedia(gate: Callgate, site: Site) -> None:
    site.answers["/w/api.php"] = article()
    told = (await gate.call("fetch_wikipedia", {"title": " Call gate ", "sentences": 2})).unwrap()
    assert told == {
        "title": "Call gate (Intel)",
        "summary": "A call gate is a mechanism. It has a level.",
        "url": "https://en.wikipedia.org/wiki/Call_gate_(Intel)",
        "categories": ["X86 architecture"],
    }
    [asked] = site.asked
    question = parse_qs(urlsplit(asked.target).query)
    assert (question["titles"], question["exsentences"]) == (["Call gate"], ["2"])


@pytest.mark.parametrize(
    ("answer", "arguments", "category", "said"),
    [
        (article(missing=True), {"title": "Nope"}, Category.USER_INPUT, "there is no article Nope"),
        (article(), {"title": "A|B"}, Category.USER_INPUT, "one at a time"),
        (article(), {"title": " "}, Category.USER_INPUT, "title"),
        (article(), {"title": "A", "sentences": 0}, Category.USER_INPUT, "sentences"),
        (page("<html>", status="200 OK"), {"title": "A"}, Category.RESOURCE, "something else"),
        (page('{"query": {"pages": ["x"]}}'), {"title": "A"}, Category.RESOURCE, "something else"),
        (page('{"query": []}'), {"title": "A"}, Category.RESOURCE, "something else"),
        (page("gone", status="404 Not Found"), {"title": "A"}, Category.API, "404"),
    ],
    ids=["missing", "several", "empty", "none", "no-json", "odd-json", "odder-json", "status"],
)
async def test_articles_that_are_none(
    gate: Callgate, site: Site, answer: bytes, arguments: dict[str, Any], category: Category, said: str
) -> None:
    site.answers["/w/api.php"] = answer
    outcome = await gate.call("fetch_wikipedia", arguments)
    assert outcome.error is not None
    assert outcome.error.category is category
    assert said in str(outcome)
