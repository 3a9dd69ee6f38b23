"""github_read, against a GitHub of our own. TOOL-19."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.errors import ConfigurationError
from callgate.flows.trees.contracts import CONTRACTS
from callgate.model.levels import Category
from callgate.settings.load import parse_settings
from callgate.settings.values import GithubSettings
from tests.tools.examples import run_examples
from tests.tools.github.hub import MEGABYTE, TOKEN, VARIABLE, Hub, as_json, hub_open
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import page, redirect, serving

FILE = {"repo": "octo/app", "path": "src/main.py"}
PLACE = "/repos/octo/app/contents/src/main.py"
Opened = tuple[Hub, Callgate]


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Opened]:
    monkeypatch.setenv(VARIABLE, TOKEN)
    async with hub_open(tmp_path) as both:
        yield both


async def test_a_file_is_read_with_the_token(opened: Opened) -> None:
    hub, gate = opened
    sha = hub.file("octo/app", "src/main.py", "print('grüße')\n".encode())
    told = (await gate.call("github_read", FILE)).unwrap()
    assert told == {
        "success": True,
        "content": "print('grüße')\n",
        "path": "src/main.py",
        "repo": "octo/app",
        "branch": "main",
        "size": 17,
        "sha": sha,
        "from_cache": False,
        "source": "api",
    }
    [asked] = hub.site.asked
    assert (asked.method, asked.target) == ("GET", f"{PLACE}?ref=main")
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"


async def test_what_a_tree_needs_of_it_is_there(opened: Opened) -> None:
    """BT-03."""
    hub, gate = opened
    hub.file("octo/app", "src/main.py", b"x")
    contract = CONTRACTS["github_read"]
    told = (await gate.call("github_read", FILE)).unwrap()
    assert contract.fault(told) is None
    assert contract.outputs(told) == {"github_file_content": "x"}


@pytest.mark.parametrize(
    ("path", "place"),
    [("a b/ü?#%2e.md", "/repos/octo/app/contents/a%20b/%C3%BC%3F%23%252e.md"), ("...", "/repos/octo/app/contents/...")],
    ids=["odd", "dots"],
)
async def test_odd_names_are_still_one_file(opened: Opened, path: str, place: str) -> None:
    hub, gate = opened
    hub.file("octo/app", path, b"x", branch="feature/a+b")
    assert (await gate.call("github_read", {"repo": "octo/app", "path": path, "branch": "feature/a+b"})).ok
    assert hub.site.asked[0].target == f"{place}?ref=feature%2Fa%2Bb"


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            {"repo": repo}
            for repo in ("octo", "octo/app/x", "octo/..", "../app", "https://github.com/octo/app", "a b/c")
        ),
        *({"repo": repo} for repo in ("octo/app?x=1", "octo/app#x", "octo/", "/app", "octo/a\nb", "-o/app", "")),
        *({"path": path} for path in ("", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\0b", "a\nb")),
        {"path": "x" * 1025},
        *({"branch": name} for name in ("", "a b", "-x", "a..b", "a:b", "x?ref=y", "a\x00", "/a", "a.lock", "x" * 256)),
    ],
    ids=lambda wrong: "-".join(f"{key}-{value[:12]!r}" for key, value in wrong.items()),
)
async def test_names_that_are_none_are_an_input_error_and_nothing_is_sent(
    opened: Opened, wrong: dict[str, str]
) -> None:
    hub, gate = opened
    outcome = await gate.call("github_read", {**FILE, **wrong})
    assert category_of(outcome) is Category.USER_INPUT
    assert hub.site.asked == []


async def test_a_large_file_comes_raw_and_one_that_is_too_large_not_at_all(opened: Opened) -> None:
    hub, gate = opened
    hub.file("octo/app", "src/main.py", b"0123456789abcdef" * (2 * MEGABYTE // 16))
    told = (await gate.call("github_read", FILE)).unwrap()
    assert (told["size"], told["source"], len(told["content"])) == (2 * MEGABYTE, "raw", 2 * MEGABYTE)
    assert [asked.headers["accept"] for asked in hub.site.asked][1] == "application/vnd.github.raw+json"
    hub.file("octo/app", "src/main.py", b"x" * (5 * MEGABYTE + 1))
    outcome = await gate.call("github_read", FILE)
    assert category_of(outcome) is Category.RESOURCE
    assert "5242881 bytes" in str(outcome)
    assert len(hub.site.asked) == 3


async def test_a_file_that_grew_meanwhile_is_not_read_without_an_end(opened: Opened) -> None:
    hub, gate = opened
    answers = iter([as_json({"type": "file", "size": 2 * MEGABYTE, "sha": "0" * 40, "encoding": "none"})])

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers, b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n" + b"x" * (6 * MEGABYTE)))
        await writer.drain()

    hub.site.answers[PLACE] = speak
    assert "longer answer" in str(await gate.call("github_read", FILE))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x89PNG\r\n\x1a\n\xde\xad"], ids=["bytes", "picture"])
async def test_what_is_no_text_is_told(opened: Opened, content: bytes) -> None:
    hub, gate = opened
    hub.file("octo/app", "src/main.py", content)
    outcome = await gate.call("github_read", FILE)
    assert category_of(outcome) is Category.RESOURCE
    assert "no text in UTF-8" in str(outcome)


async def test_an_empty_file_is_a_file(opened: Opened) -> None:
    hub, gate = opened
    hub.file("octo/app", "src/main.py", b"")
    told = (await gate.call("github_read", FILE)).unwrap()
    assert (told["content"], told["size"], told["source"]) == ("", 0, "api")


ENTRY = {"type": "file", "size": 1, "sha": "0" * 40, "encoding": "base64", "content": "eA=="}


@pytest.mark.parametrize(
    ("told", "category", "said"),
    [
        (as_json([{"type": "file", "name": "a"}]), Category.USER_INPUT, "a directory"),
        (as_json({"type": "submodule", "size": 0}), Category.USER_INPUT, "a submodule"),
        (as_json({"type": "symlink", "target": "../x"}), Category.USER_INPUT, "a link"),
        (as_json({"message": "x"}, status="404 Not Found"), Category.API, "master instead of main"),
        (as_json({"message": "x"}, status="401 Unauthorized"), Category.CONFIGURATION, "github/token"),
        (as_json({"message": "no"}, status="403 Forbidden"), Category.API, "may not read that"),
        (as_json({}, status="403 No", more="x-github-sso: required; url=x\r\n"), Category.API, "the organisation"),
        (page("<html>", status="403 Forbidden"), Category.API, "may not read that"),
        (as_json({}, status="409 Conflict"), Category.API, "is empty"),
        (as_json({}, status="451 Legal"), Category.API, "451"),
        (as_json({}, status="503 Down"), Category.API, "503"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", Category.API, "304"),
        (page("<html>"), Category.RESOURCE, "no JSON"),
        (page(b"[" * 5000, "application/json"), Category.RESOURCE, "no JSON"),
        (page(b" " * (4 * MEGABYTE), "application/json"), Category.RESOURCE, "longer answer"),
        (as_json("text"), Category.RESOURCE, "something else"),
        (as_json({}), Category.RESOURCE, "something else"),
        (as_json({**ENTRY, "size": True}), Category.RESOURCE, "something else"),
        (as_json({**ENTRY, "size": -1}), Category.RESOURCE, "something else"),
        (as_json({**ENTRY, "sha": None}), Category.RESOURCE, "something else"),
        (as_json({**ENTRY, "content": "*"}), Category.RESOURCE, "no base64"),
        (as_json({**ENTRY, "content": {"a": 1}}), Category.RESOURCE, "not known"),
        (as_json({**ENTRY, "encoding": "rot13"}), Category.RESOURCE, "not known"),
        (b"no HTTP at all\r\n\r\n", Category.NETWORK, ""),
    ],
    ids=[
        *(
            "directory",
            "submodule",
            "link",
            "absent",
            "token",
            "forbidden",
            "sign-on",
            "page",
            "empty",
            "legal",
            "down",
        ),
        *("unasked-304", "html", "deep", "huge", "text", "nothing", "odd-size", "negative", "no-sha", "no-base64"),
        *("odd-content", "odd-form", "no-http"),
    ],
)
async def test_answers_that_are_no_file_are_told_apart(
    opened: Opened, told: bytes, category: Category, said: str
) -> None:
    """TOOL-19."""
    hub, gate = opened
    hub.site.answers[PLACE] = told
    outcome = await gate.call("github_read", FILE)
    assert category_of(outcome) is category
    assert said in str(outcome)
    assert TOKEN not in str(outcome)


async def test_without_a_token_nothing_is_sent_and_the_advice_says_where_to_keep_one(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TOOL-19."""
    hub, gate = opened
    monkeypatch.delenv(VARIABLE)
    calls: list[tuple[str, dict[str, Any]]] = [("github_read", FILE), ("github_search", {"query": "x"})]
    for tool, arguments in calls:
        outcome = await gate.call(tool, arguments)
        assert category_of(outcome) is Category.CONFIGURATION
        assert "github/token" in str(outcome)
        assert VARIABLE in str(outcome)
    assert hub.site.asked == []


@pytest.mark.parametrize(
    ("token", "said"),
    [("ghp_01234 56789abcdefghij", "no key that can be sent"), ("ghp_0123456789äöü", "no key"), ("x", "cannot use")],
    ids=["space", "letters", "short"],
)
async def test_a_token_that_is_none_is_a_fault_of_the_configuration(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, token: str, said: str
) -> None:
    """TOOL-19."""
    hub, gate = opened
    monkeypatch.setenv(VARIABLE, token)
    outcome = await gate.call("github_read", FILE)
    assert category_of(outcome) is Category.CONFIGURATION
    assert said in str(outcome)
    assert hub.site.asked == []


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('api: "http://github.example.com"', "anybody on the way"),
        ('api: "https://github.example.com/?x=1"', "without a user"),
        ("secret: ghp_012345", "the key itself is never here"),
        ("token: ghp_012345", "unknown key"),
    ],
    ids=["in-clear", "query", "the-token-itself", "unknown"],
)
def test_settings_that_cannot_be_are_told(said: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as told:
        parse_settings(f"builtin_tools: {{github: {{{said}}}}}\n", file="callgate.yaml")
    assert "ghp_012345" not in str(told.value)


def test_settings_are_read() -> None:
    text = 'builtin_tools: {github: {api: "https://a.example/api/v3/", secret: a/b}}\n'
    read = parse_settings(text, file="callgate.yaml").builtin_tools.github
    assert read == GithubSettings(api="https://a.example/api/v3", secret="a/b")
    local = parse_settings('builtin_tools: {github: {api: "http://localhost:1"}}\n', file="callgate.yaml")
    assert local.builtin_tools.github.api == "http://localhost:1"


async def test_the_token_stays_with_its_origin(opened: Opened) -> None:
    """A repository that moved is followed with the token; elsewhere nobody gets it."""
    hub, gate = opened
    hub.file("octo/new", "src/main.py", b"moved")
    hub.site.answers[PLACE] = redirect("/repos/octo/new/contents/src/main.py?ref=main", "301 Moved Permanently")
    assert (await gate.call("github_read", FILE)).unwrap()["content"] == "moved"
    async with serving() as other:
        other.answers["/raw"] = as_json(ENTRY)
        hub.site.answers[PLACE] = redirect(other.url("/raw"))
        await gate.call("github_read", FILE)
        assert [asked.target for asked in other.asked] == ["/raw"]
        assert TOKEN not in str(other.asked)
        assert "if-none-match" not in other.asked[0].headers


async def test_the_token_is_in_no_output_error_or_event(opened: Opened) -> None:
    hub, gate = opened
    hub.file("octo/app", "src/main.py", f"token = {TOKEN}".encode())
    outcomes = [await gate.call("github_read", FILE)]
    hub.site.answers[PLACE] = as_json({"message": TOKEN}, status="500 Error")
    outcomes.append(await gate.call("github_read", FILE))
    events = [event async for event in gate.events(follow=False)]
    assert outcomes[0].ok
    assert len(events) > 3
    assert TOKEN not in str(outcomes)
    assert TOKEN not in str(events)


async def test_a_scope_that_is_missing_and_a_host_that_is_not_allowed_send_nothing(opened: Opened) -> None:
    hub, gate = opened
    assert (await gate.call("github_read", FILE, Context(scopes=frozenset({"fs:read"})))).status == "refused"
    assert (await gate.call("github_read", FILE, Context(no_web=True))).status == "refused"
    assert hub.site.asked == []


async def test_the_proxy_of_the_configuration_is_used(opened: Opened, tmp_path: Path) -> None:
    hub, _ = opened
    hub.file("octo/app", "src/main.py", b"x")
    config = tmp_path / "callgate.yaml"
    proxied = config.read_text().replace("enable: [github]", 'enable: [github], web: {proxy: "http://127.0.0.1:1"}')
    config.write_text(proxied)
    async with Callgate.open("memory://", config) as gate:
        assert category_of(await gate.call("github_read", FILE)) is Category.NETWORK
    assert hub.site.asked == []


async def test_the_examples_run(opened: Opened) -> None:
    hub, gate = opened
    hub.file("octocat/Hello-World", "README", b"Hello World!\n", branch="master")
    hub.found()
    await run_examples(gate, "github_read", "github_search")
