"""Patterns: judged by all that they could match, by their text and on the disk, however a tool reads them."""

import os
from pathlib import Path
from typing import Any

import pytest

from callgate.model.context import Context
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.policy import looks, patterns
from callgate.policy.policy import Policy
from callgate.settings.values import Family, Settings
from tests.policy.making import authorize, make, reading, saying, schema

OWN = ("callgate.yaml", ".callgate", ".callgate/callgate.db")


def collect(*effects: str, **facts: Any) -> Tool:
    body = {"scopes": {"fs:read"}, "input_schema": schema("pattern", "path", "what", "document")}
    return make("collect", effects or "read_only", **{**body, **facts})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with its configuration and store, a package, and a link out of it."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("s")
    for folder in (".callgate", "package/deep", "links"):
        (root / folder).mkdir(parents=True)
    for file in ("callgate.yaml", ".callgate/callgate.db", "read.md", "package/a.py", "package/deep/b.py"):
        (root / file).write_text("x")
    (root / "links" / "out").symlink_to(outside)
    (root / "links" / "file.md").symlink_to(outside / "secret.md")
    (root / "links" / "round").symlink_to("..")
    return root


def refusal(root: Path, tool: Tool, name: str, text: str, *, granted: str = ".") -> str:
    settings = Settings(families={"fs": Family(paths=(granted,))})
    policy = Policy(settings, working_directory=root, own_paths=[root / name for name in OWN])
    found = authorize(policy, tool, {name: text})
    return "" if found.refusal is None else found.refusal.text


@pytest.mark.parametrize("name", ["pattern", "path", "document", "what"])
@pytest.mark.parametrize(
    "text",
    [
        "callgate.ya?l",
        "CALLGATE.YA?L",
        "*.yaml",
        "./callgate.y*",
        "callgate.y*/.",
        "[c]allgate.yaml",
        "[!x]allgate.yaml",
        "[^C]allgate.yaml",
        "[]c]allgate.yaml",
        "[[:lower:]]allgate.yaml",
        "callgate\\.y?ml",
        "+(c)allgate.yaml",
        "@(callgate|x).yaml",
        "{callgate,x}.yaml",
        "{x,call{x,gate}}.yaml",
        "{a..c}allgate.yaml",
        ".callgat?/callgate.db",
        ".callgat?/callgate.db-w*l",
        "**/callgate.d?",
        "callgate.d?",
        "*/callgate.db",
        "package/../callgate.ya?l",
        ".call*db",
        "[x[:alpha:]]allgate.yaml",
        "[x\\]c]allgate.yaml",
        "callgate.yam\\l",
        "\\callgate.yam[l]",
        ".callgat?/callgate.d\\b",
        "{c,x}{a,x}{l,x}{l,x}{g,x}{a,x}{t,x}{e,x}{.,x}{y,x}aml",
        "{links,x}/round/callgate.yaml",
    ],
)
@pytest.mark.parametrize("there", [True, False], ids=["there", "not there"])
def test_a_pattern_that_could_match_an_own_file_is_refused(root: Path, name: str, text: str, there: bool):
    if not there:
        for file in reversed(OWN):
            (root / file).rmdir() if file == ".callgate" else (root / file).unlink()
    assert refusal(root, collect(), name, text) != ""


@pytest.mark.parametrize("name", ["pattern", "path", "document"])
@pytest.mark.parametrize("text", ["*", "**", "**/*", "*/*", "links/../*", "links/*/read.md", "links/r*/*.yaml"])
def test_a_star_over_an_own_file_that_is_there_or_a_link_that_leads_out_is_refused(root: Path, name: str, text: str):
    assert refusal(root, collect(), name, text) != ""


@pytest.mark.parametrize("name", ["pattern", "path", "document", "what"])
@pytest.mark.parametrize(
    "text",
    [
        "*.md",
        "package/*",
        "package/**",
        "package/**/**/*.py",
        "package/**/deep/*.py",
        "pack*/",
        "p*/*/b.py",
        "{package,x}/*.py",
        "*/nothing.here",
        "links/r*/package/*.py",
        "{a..c}.md",
        "What is this?",
        "SELECT * FROM x",
        '{"a": [1, 2], "b": {"c": 3}}',
        "[0-9]*.md",
        "\\w*",
    ],
)
def test_a_pattern_that_stays_where_it_may_is_not(root: Path, name: str, text: str):
    if name != "what" and text.startswith(("links", "*/")):
        (root / "links" / "out").unlink()
        (root / "links" / "file.md").unlink()
    assert refusal(root, collect(), name, text) == ""


def test_the_reason_says_what_it_would_have_touched(root: Path):
    said = refusal(root, collect(), "pattern", "links/*.md")
    assert "matches what the tool may not touch" in said
    assert "file.md' leads to" in said
    assert "could match one of Callgate's own files" in refusal(root, collect(), "pattern", "callgate.ya?l")
    assert "leads to" in refusal(root, collect(), "pattern", "links/o*/x")


@pytest.mark.parametrize("text", ["/pro[c]/self/environ", "/*/self/environ", "/**/environ", "/p*/[0-9]*/environ"])
def test_no_pattern_goes_through_what_processes_know(root: Path, text: str):
    assert "shows what processes know" in refusal(root, collect(), "pattern", text, granted="/")


def test_what_is_not_written_by_tools_is_not_written_by_a_pattern(root: Path):
    (root / ".git").mkdir()
    (root / "package" / "callgate.yaml").write_text("x")
    writer = collect("modifies_files", scopes={"fs:write"})
    assert ".git" in refusal(root, writer, "pattern", ".gi?")
    assert refusal(root, collect(), "pattern", ".gi?") == ""
    assert "by its name" in refusal(root, writer, "pattern", "package/*")
    assert refusal(root, writer, "pattern", "package/*.py") == ""


def test_a_directory_that_holds_own_files_is_not_moved_by_a_pattern(root: Path):
    mover = collect("modifies_files", scopes={"fs:write"})
    policy = Policy(Settings(), working_directory=root.parent, own_paths=[root / "callgate.yaml"])
    found = authorize(policy, mover, {"pattern": "roo?"})
    assert found.refusal is not None
    assert "could move it away" in found.refusal.text


def test_where_more_lies_than_is_looked_at_a_pattern_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(looks, "MOST_LOOKED_AT", 30)
    for number in range(40):
        (root / "package" / "deep" / f"{number}.txt").write_text("x")
    assert "more than can be looked at" in refusal(root, collect(), "pattern", "package/**")
    assert refusal(root, collect(), "pattern", "package/dee?/b.py") == "", "a fixed name is looked at alone"


def test_what_is_gone_when_it_is_looked_at_is_passed_over(root: Path, monkeypatch: pytest.MonkeyPatch):
    listed = patterns.listed

    def gone(path: str) -> Any:
        for entry in listed(path):
            os.unlink(entry.path) if entry.name == "a.py" else None  # noqa: PTH108
            yield entry

    monkeypatch.setattr(patterns, "listed", gone)
    assert refusal(root, collect(), "pattern", "package/*.py") == ""
    assert not (root / "package" / "a.py").exists()


@pytest.mark.parametrize("source", [Origin.BUILTIN, Origin.HOST])
def test_tools_that_look_at_what_they_meet_may_be_given_everything(root: Path, source: Origin):
    assert refusal(root, collect(source=source), "pattern", "**/*") == ""
    assert refusal(root, collect(source=source), "what", "*.yaml") == ""
    assert refusal(root, collect(source=source), "pattern", "../*") != ""


def test_a_tool_that_says_what_it_touches_is_believed(root: Path):
    said = collect(resources=saying({"paths": ["."]}))
    assert refusal(root, said, "pattern", "**/*") == ""


@pytest.mark.parametrize("name", ["pattern", "path", "document"])
@pytest.mark.parametrize("text", ["\\/etc/passwd", "\\/et?/passwd", "\\.\\./outside", "pack*/\\.\\./\\.\\./x"])
def test_backslashes_hide_no_way_out(root: Path, name: str, text: str):
    assert refusal(root, collect(), name, text) != ""


def test_a_pattern_of_backslashes_is_held_against_the_disk(root: Path):
    assert "leads to" in refusal(root, collect(), "pattern", "links/fil\\e.md")
    assert "leads to" in refusal(root, collect(), "pattern", "links/[x[:alpha:]]ile.md")
    assert refusal(root, collect(), "pattern", "package/[x[:digit:]].md") == ""


@pytest.mark.parametrize("name", ["pattern", "document"])
def test_what_has_too_many_braces_to_be_opened_is_refused(root: Path, name: str):
    assert "too many braces" in refusal(root, collect(), name, "{a,b}" * 12)
    assert "too many braces" in refusal(root, collect(), "pattern", "{a,b}" * 12 + " 'x'")


@pytest.mark.parametrize("text", ["\\{root}/callgate.yaml", "{{{root},x}}/callgate.y*", "{{x,{root}/callgate}}.yaml"])
def test_a_text_that_would_be_absolute_is_kept_off_own_files(root: Path, text: str):
    assert "own files" in refusal(root, collect(), "what", text.format(root=root))


LISTS = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("patterns", ["**/*a/" * 20 + "x"]),
        ("patterns", ["a/" * 20 + "{a,b}" * 3]),
        ("lines", ["{a,b}" * 8 + str(at) for at in range(20)]),
        ("lines", ["x/" + "{a,b}" * 8]),
        ("lines", ["[c" * 100 + str(at) for at in range(20)]),
        ("lines", [f"plain {at}" for at in range(100)] + ["?", "x?", "y?", "z?"]),
    ],
    ids=["stars", "deep braces", "braces", "paths in braces", "classes", "texts"],
)
def test_one_bound_counts_all_that_a_call_gives_to_look_at(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, texts: list[str]
):
    tool = collect(input_schema=schema(patterns=LISTS, lines=LISTS))
    policy = Policy(Settings(), working_directory=root / "package", own_paths=[root / "package" / "callgate.yaml"])
    (root / "package" / "la").symlink_to(".")
    assert authorize(policy, tool, {name: texts}).refusal is None
    monkeypatch.setattr(looks, "MOST_LOOKED_AT", 42)
    found = authorize(policy, tool, {name: texts})
    assert found.refusal is not None
    assert "more" in found.refusal.text
    assert "look" in found.refusal.text
    assert len(found.reasons) == 1, "nothing is looked at after it"


@pytest.mark.parametrize("text", ["*.md", "{a,b}", "a\\b", "%7Ba,b%7D", "a/" * 1500])
def test_what_may_take_long_is_known_before_it_is_looked_at(root: Path, text: str):
    policy = Policy(Settings(), working_directory=root)
    tool = collect()
    standing = policy.standing(tool, Context())
    assert policy.sought({"what": text}, context=Context(), standing=standing).takes_long
    assert not policy.sought({"what": "a/b"}, context=Context(), standing=standing).takes_long


def test_a_text_of_many_braces_that_nobody_calls_a_path_is_no_pattern(root: Path):
    assert refusal(root, collect(), "what", "{}" * 40) == ""
    assert refusal(root, collect(), "document", "{}" * 40) == ""


def test_a_tool_without_files_is_kept_off_own_files_by_patterns_as_well(root: Path):
    tool = reading("ask", input_schema=schema("path"))
    assert "Callgate's own files" in refusal(root, tool, "path", "callgate.ya?l")
    assert refusal(root, tool, "path", "/api/*/x") == ""
