"""The page about the configuration: its examples load, and it has every key with its default."""

import json
import re
from pathlib import Path

import pytest
import yaml

from callgate.errors import ConfigurationError
from callgate.policy.conditions import compile_condition
from callgate.policy.misspelt import FIELDS
from callgate.settings.load import parse_settings
from callgate.settings.selectors import GROUPS
from callgate.settings.values import Settings
from tests.settings.described import KEYS

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
ROWS = dict(re.findall(r"^\| `([^`]+)` \|.*\| (.*) \|$", PAGE, flags=re.MULTILINE))
REPEATED = ("roles.*.rules[].", "matrix.A")
"""Keys that the page explains once, elsewhere."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.partition("\n")[0])
def test_every_example_loads(example: str):
    assert isinstance(parse_settings(example, file="configuration.md"), Settings)


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize(
    "key", [key for key, body in KEYS.items() if "type" in body or "anyOf" in body or "enum" in body]
)
def test_every_key_is_explained(key: str):
    if key.startswith(REPEATED) or any(other.startswith((f"{key}.", f"{key}[")) for other in ROWS):
        return
    assert key in ROWS


@pytest.mark.parametrize("key", [key for key, body in KEYS.items() if body.get("not") == {}])
def test_every_key_that_is_not_built_is_named(key: str):
    assert f"`{key}`" in PAGE or key.endswith(".limits")


def test_the_page_names_no_key_that_does_not_exist():
    selectors = {"pay", "group:read", "category:web", "source:mcp"}
    assert {key for key in ROWS if key not in selectors} <= KEYS.keys()


@pytest.mark.parametrize("key", [key for key, body in KEYS.items() if "default" in body and key in ROWS])
def test_the_page_states_the_default(key: str):
    default = KEYS[key]["default"]
    assert ROWS[key] == f"`{default if isinstance(default, str) else json.dumps(default)}`"


def test_the_page_names_every_group():
    listed = re.search(r"The groups are (.*?)\. A selector", PAGE, flags=re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed.group(1))) == GROUPS


@pytest.mark.parametrize("variable", FIELDS)
def test_the_page_names_every_field_that_a_condition_sees(variable: str):
    listed = re.search(rf"^- `{variable}`: (.*?)[.;]$", PAGE.replace("\n  ", " "), flags=re.MULTILINE)
    assert listed is not None
    named = re.findall(r"`([\w.]+)`", listed.group(1))
    assert [name.removeprefix(f"{variable}.") for name in named if name != "null"] == list(FIELDS[variable])


def test_the_complaints_shown_are_real():
    shown = re.search(r"^```text\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert shown is not None
    scopes = "scopes:\n  shell: {requires_approval: yes}\n"
    roles = "roles:\n  assistant: {allow: ['group:raed']}\n"
    rules = "global:\n  rules: [{match: pay, when: 'args.amount >', verdict: deny}]\n"
    text = f"version: 1\natuonomy: A2\n\n\n{scopes}\n{roles}\n{rules}"
    with pytest.raises(ConfigurationError) as caught:
        parse_settings(text, file="callgate.yaml", check_condition=compile_condition)
    assert str(caught.value) + "\n" == shown.group(1)


def test_a_plain_reader_of_yaml_reads_the_examples_alike():
    """Nothing in the examples hangs on our reader being stricter than others."""
    for example in EXAMPLES:
        again = json.dumps(yaml.safe_load(example))
        first, second = (parse_settings(text, file="configuration.md") for text in (example, again))
        assert first == second
