"""What tools on files are given every day passes, however widely patterns and texts are read."""

import pytest

from callgate.model.tool import Tool
from callgate.policy.policy import Policy
from callgate.settings.values import Settings
from tests.policy.making import authorize, make, reading, schema

OWN = (".callgate", "callgate.yaml", "callgate.tools.yaml", ".callgate/callgate.db", "data/key")
NAMES = ("pattern", "path", "document", "name", "text", "query", "separator")

PATTERNS = [
    "*.txt",
    "*.md",
    "*.py",
    "docs/*.md",
    "docs/**",
    "docs/*",
    "./docs/*.md",
    "src/**/*.py",
    "src/**/**/test_*.py",
    "src/*/",
    "**/*.py",
    "**/test_*.py",
    "*/x.py",
    "*.{js,ts,py}",
    "{src,docs}/**/*.{py,md}",
    "[0-9]*.md",
    "[a-z]*.py",
    "[!_]*.py",
    "src/[!_]*.py",
    "test_?.py",
    "*.yml",
    "report-{2024..2026}.csv",
    "my notes*.txt",
    "data-*.csv",
]
REGULAR_EXPRESSIONS = [
    r"\w*",
    r"\d+",
    r"(\d+)-(\d+)",
    r"^\s*def \w+",
    r"\[.*\]",
    r"\[x\]",
    r"[^\]]+x",
    r"^[^#]*$",
    r"[a-z]+[0-9]*",
    r"[[:alpha:]]+",
    r"foo|bar",
    r"^import .*$",
    r"x\.yaml$",
    r"TODO\(.*\)",
    r"a{2,3}b{1,2}",
    r"(?:a|b)?c",
    r"\bcall\b",
    r"'\.\./x'",
]
TEXTS = [
    "What is this?",
    "Is data [1] or *data* meant? (both)",
    "SELECT * FROM x",
    '{"a": [1, 2], "b": {"c": 3}}',
    '{"rows": [' + ", ".join('{"a": 1, "b": [2, 3], "c": 4}' for _ in range(20)) + "]}",
    "{}" * 40,
    "{0}/{1}",
    "f({a, b}, {c, d})",
    f"{{{','.join(map(str, range(300)))}}}",
    "**bold** and *not*",
    "Update callgate.yaml and .gitignore",
    "see docs in callgate.yaml",
    "C:\\Users\\ann\\notes.txt",
    "\\textbf{a}, \\emph{b}",
    "50 % of all",
    "-- x --",
    "x",
    "name",
    "main",
    "notes.txt",
    "ann@example.org",
    ".gitignore",
    ".github",
    "callgate",
    "git",
]
SIGNS = [".", ",", ";", "-", "|", "\\", "\\n", "\t", " ", ":", "::", "->", "...", "?", "!", "()", "[]", "{}", "\\."]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    """A project as many are: its configuration and store, a package, a repository."""
    root = tmp_path_factory.mktemp("root")
    for folder in (".callgate", ".git/hooks", "data", "docs", "src/package"):
        (root / folder).mkdir(parents=True)
    for file in (*OWN[1:], ".git/HEAD", "notes.txt", "docs/a.md", "src/package/a.py", "src/package/test_a.py"):
        (root / file).write_text("x")
    return Policy(Settings(), working_directory=root, own_paths=[root / name for name in OWN])


def reader() -> Tool:
    return reading("collect", scopes={"fs:read"}, input_schema=schema(*NAMES))


def writer() -> Tool:
    return make("keep", "modifies_files", scopes={"fs:write"}, input_schema=schema(*NAMES))


def refusal(policy: Policy, tool: Tool, name: str, text: str) -> str:
    found = authorize(policy, tool, {name: text})
    return "" if found.refusal is None else found.refusal.text


@pytest.mark.parametrize("tool", [reader(), writer()], ids=["reader", "writer"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", PATTERNS)
def test_an_ordinary_pattern_passes(policy: Policy, tool: Tool, name: str, text: str):
    assert refusal(policy, tool, name, text) == ""


@pytest.mark.parametrize("tool", [reader(), writer()], ids=["reader", "writer"])
@pytest.mark.parametrize("name", ["pattern", "name", "text", "query"])
@pytest.mark.parametrize("text", REGULAR_EXPRESSIONS)
def test_an_ordinary_regular_expression_passes(policy: Policy, tool: Tool, name: str, text: str):
    assert refusal(policy, tool, name, text) == ""


@pytest.mark.parametrize("tool", [reader(), writer()], ids=["reader", "writer"])
@pytest.mark.parametrize("name", ["document", "name", "text", "query", "separator"])
@pytest.mark.parametrize("text", TEXTS)
def test_an_ordinary_text_passes(policy: Policy, tool: Tool, name: str, text: str):
    assert refusal(policy, tool, name, text) == ""


@pytest.mark.parametrize("tool", [reader(), writer()], ids=["reader", "writer"])
@pytest.mark.parametrize("text", [*SIGNS, "data", "docs", "*"])
def test_a_separator_or_a_word_in_a_text_passes(policy: Policy, tool: Tool, text: str):
    assert refusal(policy, tool, "separator" if text in SIGNS else "text", text) == ""


@pytest.mark.parametrize("command", [".venv/bin/python -m pytest", "git -C sub log", "cat data/*.csv", "ls data"])
def test_an_ordinary_command_passes(policy: Policy, command: str):
    tool = make("run", ("local_exec", "modifies_files"), scopes={"shell:execute"}, input_schema=schema("command"))
    assert refusal(policy, tool, "command", command) == ""


def test_many_ordinary_lines_pass(policy: Policy):
    lines = {"type": "array", "items": {"type": "string"}}
    tool = make("keep", "modifies_files", scopes={"fs:write"}, input_schema=schema(lines=lines))
    said = [f"call({at}, {{a, b}}) * [x] ? \\n # and/or {{c: {{d, e}}}}" for at in range(3000)]
    assert authorize(policy, tool, {"lines": said}).refusal is None
