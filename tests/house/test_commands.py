"""Every command that a text of ours names exists: nobody is sent to a door that is not there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from callgate.cli.entry import root

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = sorted((ROOT / "src" / "callgate").rglob("*.py"))
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

NAMED = re.compile(r"(?<![\w./-])(?<!from )callgate ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)\b(?! 1\b| \w+ 1\b)")
PROSE = frozenset({"itself"})
"""What may stand behind the name of the program without being a command."""


def named(text: str) -> Iterator[list[str]]:
    """The words behind every `callgate` of a text; a format with its version, `callgate evidence 1`, is none."""
    for found in NAMED.findall(text):
        words = found.split()
        if words[0] not in PROSE:
            yield words


def fault_of(words: list[str]) -> str | None:
    """Why there is no such command; the words behind it may be arguments."""
    command: click.Command = root
    for at, word in enumerate(words):
        if not isinstance(command, click.Group):
            return None
        inner = command.get_command(click.Context(command), word)
        if inner is None:
            return f"there is no callgate {' '.join(words[: at + 1])}"
        command = inner
    return None


def texts(tree: ast.AST) -> Iterator[str]:
    """What a module says to people: its texts, and the commands it puts together word by word."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"proposed", "place.command"}:
            words = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            yield f"callgate {' '.join(words[:2])}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_every_command_that_the_code_names_exists(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [fault for text in texts(tree) for words in named(text) if (fault := fault_of(words))] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(path: Path):
    text = path.read_text(encoding="utf-8")
    assert [fault for words in named(text) if (fault := fault_of(words))] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("see `callgate tools polish`", "there is no callgate tools polish"),
        ("run callgate fetch", "there is no callgate fetch"),
        ("callgate audit verify, then go on", None),
        ("callgate call pay '{}'", None),
        ("from callgate import tool", None),
        ("a fault in callgate itself", None),
        ("callgate checkpoint 1", None),
        ("callgate root key 1", None),
    ],
)
def test_what_names_a_command_is_told_from_what_does_not(text: str, fault: str | None):
    assert [found for words in named(text) if (found := fault_of(words))] == ([] if fault is None else [fault])
