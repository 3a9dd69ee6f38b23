"""What a tool may be called and may say: nothing that hides."""

from collections.abc import Callable
from typing import Any

import pytest

from callgate.errors import ConfigurationError
from callgate.registry.names import check_tool
from callgate.registry.near import near, suggestion
from callgate.registry.snapshot import Snapshot
from tests.registry.making import make


@pytest.mark.parametrize("name", ["a", "gmail.send", "gh.create_issue", "top_10", "n" * 64])
def test_names_of_tools_are_accepted(name: str):
    check_tool(make(name))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", "''"),
        ("a b", "'a b'"),
        ("a.b.c", "'a.b.c'"),
        ("a__b", "'a__b'"),
        ("gh.createIssue", "name='gh.create_issue'"),
        ("send-mail", "name='send_mail'"),
        ("3d.render", "'3d.render'"),
        ("send\n", "<U+000A>"),
        ("gm\u0430il.send", "gm\u0430il"),
        ("gmail\u200b.send", "<U+200B>"),
        ("n" * 65, "longer than 64 characters"),
    ],
)
def test_the_registry_takes_no_name_that_a_declaration_could_not_have(name: str, shown: str):
    with pytest.raises(ConfigurationError) as caught:
        Snapshot().with_tools([make(name)])
    assert shown in str(caught.value)


SMUGGLED = [
    "\u200b",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\u00ad",
    "\U000e0041",
    "\ue000",
    "\u2028",
    "\x1b",
    "\b",
    "\f",
    "\r",
    "\x7f",
    "\u3164",
]


PLACES: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
    ("description", lambda text: {"description": f"Reads a file.{text}"}),
    ("declaration", lambda text: {"tags": ("x", text)}),
    ("declaration", lambda text: {"category": text}),
    ("declaration", lambda text: {"source_name": text}),
    ("input schema", lambda text: {"input_schema": {"properties": {"a": {"enum": [1, text]}}}}),
    ("input schema", lambda text: {"input_schema": {"properties": {text: {}}}}),
    ("output schema", lambda text: {"output_schema": {"description": text}}),
    ("examples", lambda text: {"examples": ({"to": text},)}),
]


@pytest.mark.parametrize("character", SMUGGLED)
@pytest.mark.parametrize(("where", "facts"), PLACES)
def test_hidden_characters_are_refused_wherever_a_model_would_read_them(
    where: str, facts: Callable[[str], dict[str, Any]], character: str
):
    with pytest.raises(ConfigurationError, match=f"its {where} has a hidden character \\(U\\+{ord(character):04X} at"):
        Snapshot().with_tools([make("reader", **facts(character))])


@pytest.mark.parametrize(
    "text",
    [
        "Line one.\n\tLine two.\r\n",
        "Größe, 日本語, العربية, नमस्ते",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "👩\u200d💻 ❤\ufe0f\u200d🔥 ⚠\ufe0f 1\ufe0f\u20e3",
        "a no-break\u00a0space",
        r"an escape spelt out: \u200b",
    ],
)
def test_honest_writing_passes(text: str):
    check_tool(make("a", text, input_schema={"description": text}))


def test_a_deep_schema_is_read_without_recursion():
    schema: dict[str, Any] = {"description": "é"}
    for _ in range(100):
        schema = {"properties": {"a": schema}, "anyOf": [{}], "minimum": 1}
    check_tool(make("deep", input_schema=schema))


def test_near_names_are_found_best_first_and_nothing_far():
    names = ["gmail.send", "gmail.search", "slack.send_message", "calendar.create"]
    assert near("gmail_send", names) == ("gmail.send", "gmail.search")
    assert near("Gmail.Sned", names)[0] == "gmail.send"
    assert near("send_message", names) == ("slack.send_message",)
    assert near("zzz", names) == ()
    assert near("", names) == ()
    assert near("gmail.send", names, limit=1) == ("gmail.send",)


def test_a_suggestion_says_what_to_do_in_either_case():
    assert suggestion("gmail.sen", ["gmail.send", "gmail.seen"]) == "Did you mean gmail.seen or gmail.send?"
    assert suggestion("zzz", ["gmail.send"]) == "List the tools and use one of their names exactly."
