"""Guess: no text that a tool on files is given leads it astray, whatever the argument is called."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.policy.guess import may_be_path, points_somewhere
from callgate.policy.policy import Policy
from callgate.policy.reach import reach_of
from tests.policy.making import authorize, in_folder, make, reading, saying, schema

NAMES = [
    "file_name", "log_file_name", "path_str", "output", "save_to", "location", "document", "config", "name",
    "x", "content", "outputfile", "saveTo", "uri",
]  # fmt: skip
OWN = "one of Callgate's own files"
OUTSIDE = "and fs allows"
TEXT = {"type": "string"}


def saver(*names: str, **facts: Any) -> Tool:
    return make("save", "modifies_files", **{"scopes": {"fs:write"}, "input_schema": schema(*names), **facts})


@pytest.fixture
def house(tmp_path: Path) -> Path:
    house = tmp_path / "house"
    (house / ".callgate").mkdir(parents=True)
    (house / "sub" / "deep").mkdir(parents=True)
    (house / "out").symlink_to(tmp_path)
    (house / "alias").symlink_to(".callgate")
    (house / "sub" / "up").symlink_to("..")
    return house


@pytest.fixture
def policy(house: Path) -> Policy:
    return in_folder(house, own=[house / ".callgate", house / "callgate.yaml"])


def refusal(policy: Policy, tool: Tool, **arguments: Any) -> str:
    found = authorize(policy, tool, arguments).refusal
    return "" if found is None else found.text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "path",
    [
        ".callgate/c.db",
        "{house}/.callgate/c.db",
        "callgate.yaml",
        " callgate.yaml ",
        "sub/../callgate.yaml",
        "alias/key",
        "file://{house}/callgate.yaml",
        "file:{house}/callgate.yaml",
        "file:\\\\\\{house}/callgate.yaml",
        "file://elsewhere{house}/callgate.yaml",
        "fi\tle://{house}/callgate.yaml",
        "\x01file://{house}/callgate.yaml",
        "%2ecallgate/c.db",
        "CALLGATE.yaml",
    ],
)
def test_own_files_are_out_of_reach_under_any_name(policy: Policy, house: Path, name: str, path: str):
    assert OWN in refusal(policy, saver(name), **{name: path.format(house=house)})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x",
        "sub/../../x",
        " /etc/passwd",
        "~/x",
        "~",
        "file:///etc/passwd",
        "fil\te:etc/x",
        "file:\\etc\\x",
    ],
)
def test_what_points_somewhere_is_confined_under_any_name(policy: Policy, home: Path, name: str, path: str):
    assert home.exists()
    said = refusal(policy, saver(name), **{name: path})
    assert OUTSIDE in said
    assert "says what it touches with `resources`, or gives the argument a `format`" in said


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"name", "x", "content", "uri"}])
def test_a_name_with_a_word_for_files_anywhere_is_confined_also_through_links(policy: Policy, name: str):
    assert OUTSIDE in refusal(policy, saver(name), **{name: "out/x"})
    assert "read-only to tools" in refusal(policy, saver(name), **{name: ".git/config"})


@pytest.mark.parametrize("effects", ["local_exec", "modifies_files"])
@pytest.mark.parametrize("scopes", [{"fs:read"}, {"shell:execute"}, {"*"}, {"other:x"}])
def test_it_holds_for_every_tool_that_works_on_files(policy: Policy, effects: str, scopes: set[str]):
    tool = make("x", effects, scopes=scopes, input_schema=schema("name"))
    assert OWN in refusal(policy, tool, name="callgate.yaml")
    assert OUTSIDE in refusal(policy, tool, name="/etc/passwd")
    assert OWN in refusal(policy, reading("r", scopes={"fs:read"}, input_schema=schema("name")), name="callgate.yaml")


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": ["a", ["/etc/passwd"]]},
        {"x": {"y": {"z": "/etc/passwd"}}},
        {"x": {"/etc/passwd": "content"}},
        {"x": [{"/etc/passwd": 1}]},
        {"x": [{"name": "a", "value": "/etc/passwd"}]},
        {"/etc/passwd": 1},
    ],
)
def test_texts_are_found_however_deep_and_as_keys(policy: Policy, arguments: dict[str, Any]):
    for shape in ({"type": "object"}, schema(x=True), schema(x={"type": ["array", "object"]})):
        assert OUTSIDE in refusal(policy, saver(input_schema=shape), **arguments)


def test_a_list_of_anything_is_looked_into(policy: Policy):
    tool = saver(input_schema=schema(x={"type": "array"}))
    assert OUTSIDE in refusal(policy, tool, x=["/etc/passwd"])


def test_a_text_is_followed_in_every_directory_the_call_names(policy: Policy):
    tool = reading("look", scopes={"fs:read"}, input_schema=schema("directory", "name"))
    assert OWN in refusal(policy, tool, directory="sub", name="up/callgate.yaml")
    assert refusal(policy, tool, name="up/callgate.yaml") == ""
    assert refusal(policy, tool, directory="sub/deep", name="plain.txt") == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("name", "report"),
        ("name", "a sentence, with words."),
        ("name", "~5 items"),
        ("name", "1/2"),
        ("name", "https://example.com/a/../b"),
        ("name", "so ... or so"),
        ("output", "json"),
        ("output", "https://example.com/x"),
        ("output", "x" * 5000),
        ("document", "# Title\n\nWords, and/or words.\n"),
        ("document", "word " * 500),
        ("content", "/* a comment */\nint x;\n"),
        ("content", "// ends with a line break\n"),
        ("new_string", "/**\n * Words.\n */"),
        ("file_content", "~/x\n/etc/passwd\n"),
        ("text", ".callgate/\n*.pyc\n"),
        ("content", "/" + "x" * 300),
        ("content", "/a\0b"),
        ("content", ""),
        ("data", "\ud800"),
    ],
)
def test_what_is_no_path_is_let_through(policy: Policy, name: str, text: str):
    assert refusal(policy, saver(name), **{name: text}) == ""


def test_a_text_of_one_line_that_begins_like_a_path_is_refused_and_told_how_to_pass(policy: Policy):
    assert "`format`" in refusal(policy, saver("content"), content="/* a comment */")
    settled = saver(input_schema=schema(content={"type": "string", "format": "text"}))
    assert refusal(policy, settled, content="/* a comment */") == ""
    telling = saver("content", resources=saying({"paths": ["sub"]}))
    assert refusal(policy, telling, content="/* a comment */") == ""


def test_a_name_with_a_line_break_in_it_is_still_a_name(policy: Policy, house: Path):
    assert OWN in refusal(policy, saver("name"), name=".callgate/a\nb")
    assert OWN in refusal(policy, saver("name"), name="callgate.yaml\n")
    assert OUTSIDE in refusal(policy, saver("name"), name="/etc/a\nb")
    assert OWN in refusal(policy, saver("path_string"), path_string=f"{house}/.callgate/a\nb")


def test_a_format_of_a_foreign_schema_settles_nothing(policy: Policy):
    shape = schema(name={"type": "string", "format": "uuid"})
    assert OUTSIDE in refusal(policy, saver(input_schema=shape, source=Origin.MCP), name="/etc/passwd")
    assert OWN in refusal(policy, saver(input_schema=shape, source=Origin.MCP), name="callgate.yaml")
    assert refusal(policy, saver(input_schema=shape), name="6f1c2b1e-1d3a-4f5e-9c0b-2a7d8e9f0a1b") == ""
    assert OUTSIDE in refusal(policy, saver(input_schema=shape), name="/etc/passwd")
    assert reach_of(saver(input_schema=schema(name={"type": "string", "format": "sql"}))) is None
    listed = schema(name={"enum": ["/etc/passwd"]})
    assert OUTSIDE in refusal(policy, saver(input_schema=listed, source=Origin.MCP), name="/etc/passwd")


def test_formats_settle_the_texts_of_lists_and_mappings(policy: Policy):
    coded = {"type": "string", "format": "regex"}
    shape = schema(x={"type": "array", "items": coded}, y={"type": "object", "additionalProperties": coded})
    assert refusal(policy, saver(input_schema=shape), x=["/a"], y={"k": "/b"}) == ""
    loose = schema(y={"type": "object", "additionalProperties": {"anyOf": [coded, TEXT]}})
    assert OUTSIDE in refusal(policy, saver(input_schema=loose), y={"k": "/b"})


def test_what_a_program_is_started_with_is_only_kept_away_from_own_files(policy: Policy, house: Path):
    for facts in ({"scopes": {"shell:execute"}}, {"scopes": ()}):
        shell = make("run", "local_exec", input_schema=schema("command", "cwd", "name"), **facts)
        assert refusal(policy, shell, command="/usr/bin/env python", cwd=".") == ""
        assert OWN in refusal(policy, shell, command=f"{house}/.callgate/run")
        assert OUTSIDE in refusal(policy, shell, name="/usr/bin/env")
    assert OUTSIDE in refusal(policy, saver("command"), command="/usr/bin/env")


def test_other_tools_may_be_given_any_text(policy: Policy):
    api = reading("get", "network_access", input_schema={"type": "object"})
    assert refusal(policy, api, name="/v1/items", output="callgate.yaml", x=["/etc/passwd"]) == ""


def test_many_texts_are_looked_at_and_too_many_refused(policy: Policy):
    tool = saver(input_schema=schema(rows={"type": "array", "items": {"type": "array", "items": TEXT}}))
    assert refusal(policy, tool, rows=[[f"cell {row}", "same"] for row in range(5000)]) == ""
    assert OUTSIDE in refusal(policy, tool, rows=[[f"cell {row}"] for row in range(5000)] + [["/etc/passwd"]])
    assert "says it with `resources`" in refusal(policy, tool, rows=[[f"cell {row}"] * 5 for row in range(5000)])
    assert "more than 1000 paths" in refusal(policy, tool, rows=[[f"/etc/{row}"] for row in range(1001)])


@pytest.mark.parametrize("name", ["file", "FILE", "path", "directory", "file_name"])
@pytest.mark.parametrize("around", [" {}", "{} ", "\t{}", " {}\n"])
def test_spaces_around_a_path_open_no_way(policy: Policy, name: str, around: str):
    assert OWN in refusal(policy, saver(name), **{name: around.format("callgate.yaml")})
    assert OUTSIDE in refusal(policy, saver(name), **{name: around.format("/etc/passwd")})


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(min_size=1, max_size=20), lead=st.sampled_from(["", " ", "./", "sub/../", "x/.././"]))
def test_no_name_of_an_argument_opens_a_way_to_own_files(policy: Policy, name: str, lead: str):
    assert OWN in refusal(policy, saver(name), **{name: f"{lead}callgate.yaml"})


@given(st.text())
def test_what_cannot_be_opened_is_the_only_thing_not_looked_at(text: str):
    if text and "\0" not in text and not may_be_path("name", text):
        parts = text.encode(errors="replace").split(b"/")
        assert len(text) > 4096 or any(len(part) > 255 for part in parts)
    if text.startswith("/"):
        assert points_somewhere(text)
