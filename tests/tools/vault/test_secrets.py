"""What is secret in a note is told by no tool, neither whole, nor marked, nor by halves where a text was cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate import Callgate, Context, ToolContext, tool
from callgate.model.levels import Autonomy
from callgate.settings.load import parse_settings
from callgate.testing import ScriptedApprover
from tests.journeys.gates import gate_of
from tests.tools.vault.calling import done, home, opened, put

SECRET = "hunter2-alpha-bravo-charlie"
CONFIG = "autonomy: A4\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}"


@tool(effects="read_only", scopes=["secrets:read"])
async def unlock(ctx: ToolContext) -> int:
    """Take it out."""
    return len(ctx.get_secret("archive", "word"))


def _with_secret(folder: Path, monkeypatch: pytest.MonkeyPatch, *, value: str = SECRET) -> Callgate:
    monkeypatch.setenv("CALLGATE_SECRET_ARCHIVE_WORD", value)
    return gate_of(
        unlock,
        config=parse_settings(CONFIG, file="callgate.yaml"),
        ask=ScriptedApprover("approve"),
        working_directory=folder,
        builtin_tools=["vault"],
        store="memory://",
    )


@pytest.mark.parametrize("query", ["alpha", "charlie", "hunter2 bravo"])
async def test_a_search_tells_no_secret_with_marks_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    put(tmp_path, {"a.md": f"the password is {SECRET} today\n"})
    async with _with_secret(tmp_path, monkeypatch) as gate:
        assert (await gate.call("unlock", {})).ok
        [hit] = (await gate.call("vault_search", {"query": query})).unwrap()["results"]
    assert "password" in hit["snippet"]
    assert "bravo" not in hit["snippet"]


@pytest.mark.parametrize("words", range(18, 26))
async def test_a_snippet_tells_no_half_of_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: int) -> None:
    around = " ".join(f"w{at}" for at in range(words))
    put(tmp_path, {"a.md": f"{SECRET} {around} needle {around} {SECRET}" + " x" * 60})
    async with _with_secret(tmp_path, monkeypatch) as gate:
        assert (await gate.call("unlock", {})).ok
        [hit] = (await gate.call("vault_search", {"query": "needle w0"})).unwrap()["results"]
    assert "w0" in hit["snippet"]
    assert not [part for part in SECRET.split("-") if part in hit["snippet"]]


@pytest.mark.parametrize("key", ["sk-ant-api03-" + "Ab3dE5gH1jK" * 8 + "-AA", "ghp_" + "a1B2c3D4e5F6" * 3])
async def test_a_search_tells_no_token_of_a_known_shape(tmp_path: Path, key: str) -> None:
    put(tmp_path, {"a.md": f"my key is {key} keep it\n"})
    async with opened(tmp_path) as gate:
        for query in ("api03", "ant", "key"):
            for hit in (await done(gate, "vault_search", query=query))["results"]:
                assert key not in hit["snippet"].replace("**", "")


async def test_a_preview_that_is_cut_tells_no_half_of_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with _with_secret(tmp_path, monkeypatch) as gate:
        assert (await gate.call("unlock", {})).ok
        for more in range(190, 240, 4):
            text = "x" * 90 + "\n" + "y" * (19_650 + more) + SECRET + "\n" + "z" * 500 + "\n"
            put(tmp_path, {"a.md": text})
            asked = Context(autonomy=Autonomy.A1, session=f"{more}")
            await gate.call("vault_write", {"path": "a.md", "body": "new\n"}, asked)
        shown = [repr(approval) for approval in await gate.approvals(states=None)]
    assert any("more characters" in text for text in shown)
    assert not [text for text in shown if SECRET[:8] in text]


def _halves(told: object) -> list[str]:
    """Which parts of the secret can be read."""
    return [part for part in SECRET.replace("__", "-").split("-") if part in str(told)]


@pytest.mark.parametrize("known", ["before", "afterwards"])
@pytest.mark.parametrize("form", ["heading", "front", "linked"])
async def test_a_title_that_is_cut_tells_no_half_of_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, known: str
) -> None:
    """Also where it was put into the index before anybody knew that it is secret."""
    filled = "x" * 100 + " " + ("[y](z.md)" * 30 if form == "linked" else "") + "x" * 340
    before = {"heading": "# ", "linked": "# ", "front": "---\ntitle: "}[form]
    put(
        tmp_path,
        {f"{at}.md": f"{before}{filled + 'x' * at} {SECRET} and so on\n---\nneedle\n" for at in range(0, 60, 5)},
    )
    async with _with_secret(tmp_path, monkeypatch) as gate:
        if known == "afterwards":
            assert (await gate.call("vault_list", {})).ok
        assert (await gate.call("unlock", {})).ok
        listed = (await gate.call("vault_list", {}, Context(session="later"))).unwrap()
        told: list[object] = [note["title"] for note in listed["notes"]]
        assert [len(str(title)) for title in told].count(500) > 1
        told += (await gate.call("vault_search", {"query": "needle", "limit": 20})).unwrap()["results"]
        for at in range(0, 60, 5):
            told.append((await gate.call("vault_read", {"path": f"{at}.md"})).unwrap()["title"])
            body = (home(tmp_path) / f"{at}.md").read_text().replace("needle", "more")
            told.append((await gate.call("vault_write", {"path": f"{at}.md", "body": body})).unwrap()["title"])
    assert not _halves(told)


@pytest.mark.parametrize("form", ["plain", "links", "later-line"])
async def test_a_summary_that_is_cut_tells_no_half_of_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """In the note that lists others, which is read by whoever comes later."""
    filled = {
        "plain": ["y" * at for at in range(205, 245, 3)],
        "links": [f"[a]({'b' * 951}) " * 4 + "c" * at for at in range(0, 60, 3)],
        "later-line": [f"first\n{'y' * at}" for at in range(200, 240, 3)],
    }[form]
    put(tmp_path, {f"{at}.md": f"{text} {SECRET}\n{'z ' * 30_000}" for at, text in enumerate(filled)})
    async with _with_secret(tmp_path, monkeypatch) as gate:
        assert (await gate.call("vault_list", {})).ok
        assert (await gate.call("unlock", {})).ok
        made = (await gate.call("vault_create_index", {"folder": "/"}, Context(autonomy=Autonomy.A4))).unwrap()
        assert made["entries"] == len(filled)
    listed = (home(tmp_path) / "index.md").read_text()
    assert len(listed) > 20 * len(filled)
    assert not _halves(listed)


async def test_a_secret_with_marks_in_it_is_struck_before_they_are_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"a.md": "# The word is al__pha**bra**vo\n\nIt is al__pha**bra**vo again.\n"})
    async with _with_secret(tmp_path, monkeypatch, value="al__pha**bra**vo") as gate:
        assert (await gate.call("vault_list", {})).ok
        assert (await gate.call("unlock", {})).ok
        [note] = (await gate.call("vault_list", {}, Context(session="later"))).unwrap()["notes"]
        await gate.call("vault_create_index", {"folder": "/"}, Context(autonomy=Autonomy.A4))
    listed = (home(tmp_path) / "index.md").read_text()
    assert "The word is" in note["title"]
    assert "The word is" in listed
    assert not [text for text in (note["title"], listed) if "pha" in text]
