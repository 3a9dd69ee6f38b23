"""`callgate tools`: what can be called, by whom, and what it declares. The store is left alone."""

from pathlib import Path

import pytest

from callgate.tools.catalogue import CATEGORIES, SHIPPED
from tests.doors.running import ODD_TOOLS, TOOLS, Cli

ROLES = "version: 1\nroles:\n  reader: {allow: [group:read]}\n  nobody: {allow: []}\n"


def test_the_list_has_every_tool_with_its_risk_and_effects(cli: Cli):
    done = cli("tools", "list", "--module", TOOLS)
    assert done.code == 0
    head, first, *_ = done.out.splitlines()
    assert head.split() == ["NAME", "RISK", "EFFECTS", "DESCRIPTION"]
    assert first.split(maxsplit=3) == ["word_count", "low", "read_only", "Count the words in a text."]
    assert "pay " in done.out


def test_a_role_sees_what_it_may_call(cli: Cli):
    Path("callgate.yaml").write_text(ROLES)
    names = [
        tool["name"] for tool in cli("tools", "list", "--role", "reader", "--module", TOOLS, "--json").body["tools"]
    ]
    assert "word_count" in names
    assert "pay" not in names
    nothing = cli("tools", "list", "--role", "nobody", "--module", TOOLS)
    assert (nothing.code, nothing.out) == (0, "")
    assert "may call none" in nothing.err
    for words in (["list"], ["search", "x"]):
        unknown = cli("tools", *words, "--role", "raeder", "--module", TOOLS)
        assert (unknown.code, unknown.err) == (2, "callgate: there is no role raeder; there is nobody, reader\n")


def test_nothing_is_written_by_looking_at_tools(cli: Cli):
    for words in (["list"], ["show", "pay"], ["search", "pay"]):
        assert cli("tools", *words, "--module", TOOLS).code == 0
    assert list(cli.folder.iterdir()) == []


def test_a_tool_is_shown_with_its_arguments(cli: Cli):
    done = cli("tools", "show", "pay", "--module", TOOLS)
    assert "Pay somebody." in done.out
    assert "network_access" in done.out
    assert "preview, verify" in done.out
    assert any(line.split() == ["to", "string", "yes", "Who", "gets", "it."] for line in done.out.splitlines())


def test_a_tool_as_json_has_everything_it_declares(cli: Cli):
    body = cli("tools", "show", "pay", "--module", TOOLS, "--json").body
    assert body["risk"] == "high"
    assert body["parameters"]["required"] == ["to", "amount"]
    assert body["egress"] is True
    assert body["hooks"] == ["preview", "verify"]


def test_what_cannot_be_called_says_so_in_the_list(cli: Cli):
    assert "refused, nothing declared" in cli("tools", "list", "--module", ODD_TOOLS).out
    assert "refused, nothing declared" in cli("tools", "show", "undeclared", "--module", ODD_TOOLS).out


def test_an_unknown_tool_names_the_near_one(cli: Cli):
    done = cli("tools", "show", "word_cont", "--module", TOOLS)
    assert done.code == 2
    assert "word_cont" in done.err


def test_search_finds_by_words_and_says_when_nothing_fits(cli: Cli):
    found = cli("tools", "search", "count", "the", "words", "--module", TOOLS, "--json").body["tools"]
    assert found[0]["name"] == "word_count"
    nothing = cli("tools", "search", "zebra", "--module", TOOLS)
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "no tool fits: zebra\n")


def test_search_may_be_limited_to_a_role(cli: Cli):
    Path("callgate.yaml").write_text(ROLES)
    found = cli("tools", "search", "pay", "somebody", "--role", "reader", "--module", TOOLS, "--json").body["tools"]
    assert "pay" not in [tool["name"] for tool in found]


def test_without_a_configuration_every_built_in_tool_is_there(cli: Cli):
    listed = cli("tools", "list", "--json").body["tools"]
    made = [name for each in CATEGORIES.values() for name in each.tools]
    assert [tool["name"] for tool in listed] == [*made, *(name for tools in SHIPPED.values() for name in tools)]
    done = cli("call", "json_query", '{"data": [{"name": "Ann"}], "query": "[0].name"}')
    assert (done.code, done.out) == (0, "Ann\n")


def test_without_modules_the_list_says_how_to_name_them(cli: Cli):
    Path("callgate.yaml").write_text("version: 1\n")
    done = cli("tools", "list")
    assert (done.code, done.out) == (0, "")
    assert "--module NAME" in done.err
    assert cli("tools", "list", "--json").body == {"tools": []}


def test_a_module_may_be_a_file(cli: Cli):
    Path("in_a_file.py").write_text(
        "from callgate import tool\n\n@tool(effects='read_only')\ndef from_a_file() -> int:\n    return 1\n"
    )
    done = cli("tools", "list", "--module", "in_a_file.py", "--module", "./in_a_file.py")
    assert done.out.count("from_a_file") == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("def broken(:", "SyntaxError"),
        ("raise RuntimeError('it broke')", "RuntimeError: it broke"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("from callgate import tool\n@tool(effects='nonsense')\ndef x(): ...", "nonsense"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(cli: Cli, code: str, said: str):
    Path("bad_module.py").write_text(code)
    done = cli("tools", "list", "--module", "bad_module.py")
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("words", [("tools", "list"), ("policy", "check")])
def test_two_modules_that_bring_the_same_name_are_told_apart(cli: Cli, words: tuple[str, ...]):
    one, other = f"{words[0]}_one", f"{words[0]}_other"  # what was imported once keeps its name in this process
    for name in (one, other):
        Path(f"{name}.py").write_text("from callgate import tool\n@tool(effects='read_only')\ndef both(): ...\n")
    told = f"tool 'both' of the module {other} is already registered by the module {one}; rename one of them"
    done = cli(*words, "--module", f"{one}.py", "--module", f"{other}.py")
    assert (done.code, done.err.startswith(f"callgate: {told}")) == (2, True)
    Path("callgate.yaml").write_text(f"modules:\n  - {one}.py\n  - {other}.py\n")
    done = cli(*words)
    assert (done.code, f"callgate.yaml:3: modules[1]: {told}" in done.err) == (2, True)


def test_a_file_never_takes_the_place_of_a_module_that_is_loaded(cli: Cli):
    Path("json.py").write_text("raise RuntimeError")
    done = cli("tools", "list", "--module", "json.py")
    assert done.code == 2
    assert "rename the file" in done.err


@pytest.mark.parametrize("words", [["show"], ["search"], ["list", "extra"], ["search", "x", "--limit", "0"]])
def test_missing_and_surplus_words_are_usage_errors(cli: Cli, words: list[str]):
    done = cli("tools", *words)
    assert done.code == 2
    assert f"see: callgate tools {words[0]} --help" in done.err


def test_types_of_arguments_are_told_in_words(cli: Cli):
    Path("many_types.py").write_text(
        "from typing import Literal\nfrom callgate import tool\n\n@tool(effects='read_only', timeout=5, tags=['x'])\n"
        "def many(a: Literal['b', 'c'], d: list[int], e: str | None = None, f: float = 1.5) -> int:\n"
        "    return 1\n"
    )
    done = cli("tools", "show", "many", "--module", "many_types.py")
    rows = {line.split()[0]: line for line in done.out.splitlines() if line}
    assert '"b" or "c"' in rows["a"]
    assert "list of integer" in rows["d"]
    assert "string or null" in rows["e"]
    assert "no, 1.5" in rows["f"]
    assert "5 seconds" in rows["timeout"]


def test_a_tool_without_arguments_says_so(cli: Cli):
    assert "It takes no arguments." in cli("tools", "show", "hidden", "--module", TOOLS).out


def test_a_tool_whose_code_is_missing_says_why(cli: Cli):
    Path("missing_code.py").write_text(
        "from callgate import tool\n\n@tool(effects='read_only', unavailable='install the extra')\n"
        "def absent() -> int:\n    return 1\n"
    )
    assert "unavailable (install the extra)" in cli("tools", "list", "--module", "missing_code.py").out
