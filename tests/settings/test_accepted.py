"""The file of accepted declarations: written as it is read, and every fault of it told with its place."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from callgate.errors import ConfigurationError
from callgate.settings.accepted import AcceptedDeclaration, AcceptedDeclarations, ToolOfSource
from callgate.settings.load_accepted import load_accepted, parse_accepted

FILE = "callgate.tools.yaml"
HASH = "0123456789" * 6 + "0123"
TOOL = ToolOfSource("mcp", "github", "gh.get_issue")


def complaints_of(text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        parse_accepted(textwrap.dedent(text), file=FILE)
    return [line.removeprefix(f"{FILE}:").strip() for line in str(caught.value).splitlines()]


def entry(more: str = "", *, effects: str = "[read_only]") -> str:
    body = f'hash: "{HASH}", effects: {effects}' + (f", {more}" if more else "")
    return f"version: 1\nmcp:\n  github:\n    gh.get_issue: {{{body}}}\n"


def test_an_entry_is_found_by_its_source_and_its_name():
    read = parse_accepted(entry("egress: true, scopes: ['net:outbound'], risk: high, by: ann"), file=FILE)
    found = read.find(TOOL)
    assert found is not None
    assert (found.hash, found.by) == (HASH, "ann")
    assert found.fields == {"effects": ("read_only",), "scopes": ("net:outbound",), "risk": "high", "egress": True}
    assert read.find(TOOL._replace(source_name="other")) is None
    assert read.find(TOOL._replace(source="plugin")) is None
    assert read.find(TOOL._replace(name="gh.other")) is None


def test_no_file_and_an_empty_one_say_nothing(tmp_path: Path):
    assert load_accepted(tmp_path / FILE) == AcceptedDeclarations()
    (tmp_path / FILE).write_text("# nothing yet\n")
    assert load_accepted(tmp_path / FILE) == AcceptedDeclarations()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (entry("egres: true"), "4: mcp.github.'gh.get_issue'.egres: unknown key 'egres'; did you mean egress?"),
        (entry("egress: yes"), "4: mcp.github.'gh.get_issue'.egress: 'yes': could be a truth value or a word"),
        (entry(effects="[reads]"), "4: mcp.github.'gh.get_issue'.effects[0]: 'reads' is not possible"),
        (entry(effects="[]"), "effects is empty"),
        (entry(effects="[read_only, system_state]"), "read_only combines with network_access and calls_llm only"),
        (entry("destructive: true"), "a tool cannot be read_only and destructive"),
        (entry("risk: none"), "risk: 'none' is not possible"),
        (entry("scopes: [net]"), "needs a scope such as fs:read"),
        (entry().replace(HASH, "12"), "needs the definition's hash"),
        (entry().replace("effects", "effect"), "unknown key 'effect'"),
        (entry().replace("gh.get_issue", "'Get Issue'"), "is no tool name"),
        (entry().replace("github", f"'{'x' * 300}'"), "is no name of a source"),
        (entry().replace("mcp:", "function:"), "unknown key 'function'"),
        (entry().replace("version: 1", "version: 2"), "this Callgate reads version 1"),
        (entry().replace("version: 1\n", ""), "lacks version"),
        (entry().replace("{hash", "&a {hash"), "anchors (&name) are not read"),
        ("version: 1\nmcp: [a]\n", "needs a mapping from names to values"),
        ("version: 1\nmcp: {github: {gh.x: 1}}\n", "needs a mapping with keys such as hash"),
        ("version: 1\n# \u200b\n", "has the hidden character U+200B"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_key(text: str, said: str):
    assert any(said in complaint for complaint in complaints_of(text)), complaints_of(text)


def test_all_faults_are_told_at_once():
    assert len(complaints_of(entry("egress: yes, risk: none, by: 5"))) == 3


def test_a_folder_in_its_place_is_refused(tmp_path: Path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(ConfigurationError, match="is a directory"):
        load_accepted(tmp_path / FILE)


names = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z][a-z0-9]{0,8})?", fullmatch=True)
sources = st.sampled_from(["", "github", "no", "my server", 'a"b', "1", "ärger", "- x", "#x", "true", "a: b"])
fields = st.fixed_dictionaries(
    {"effects": st.sampled_from([("read_only",), ("network_access", "system_state"), ("read_only", "calls_llm")])},
    optional={"egress": st.booleans(), "risk": st.sampled_from(["low", "critical"]), "scopes": st.just(("net:get",))},
)
entries = st.builds(AcceptedDeclaration, hash=st.just(HASH), fields=fields, by=st.sampled_from(["", "ann", "Ä. B: c"]))
tools = st.builds(ToolOfSource, st.sampled_from(["mcp", "plugin", "yaml", "langchain"]), sources, names)


@given(st.lists(st.tuples(tools, entries), max_size=6))
def test_what_is_written_is_read_back_the_same_by_us_and_by_others(
    said: list[tuple[ToolOfSource, AcceptedDeclaration]],
):
    accepted = AcceptedDeclarations()
    for tool, declaration in said:
        accepted = accepted.with_entry(tool, declaration)
    text = accepted.to_text()
    again = parse_accepted(text, file=FILE)
    assert again == accepted
    assert again.to_text() == text
    plain = yaml.safe_load(text)
    for tool, declaration in dict(said).items():
        assert plain[tool.source][tool.place[1]][tool.name]["effects"] == list(declaration.fields["effects"])
