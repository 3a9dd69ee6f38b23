"""Searching ranks by words, finds other forms of them, and stays quick over thousands."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.tool import Tool
from callgate.registry.search import Index
from callgate.registry.snapshot import Snapshot
from tests.registry.making import make

TOOLS = [
    make("gmail.send", "Send an email through Gmail.", tags=("mail",)),
    make("gmail.search", "Search emails by words."),
    make("slack.post_message", "Send a message to a channel.", tags=("chat",)),
    make("files.delete", "Delete a file for good."),
    make("files.copy", "Copies files to another folder."),
    make("github_create_issue", "Opens an issue in a repository.", capabilities=("tracking",)),
    make("calendar.list", "Events of a day.", category="schedule"),
]
WORDS = (
    "send read write delete create update list search file email " * 2 + "channel event issue branch commit"
).split()


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return Snapshot().with_tools(TOOLS)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("send an email", "gmail.send"),
        ("sending e-mails", "gmail.send"),
        ("I want to search my emails", "gmail.search"),
        ("post a message", "slack.post_message"),
        ("deleting files", "files.delete"),
        ("copy a file", "files.copy"),
        ("copied", "files.copy"),
        ("create issue", "github_create_issue"),
        ("GitHub", "github_create_issue"),
        ("repositories", "github_create_issue"),
        ("tracking", "github_create_issue"),
        ("schedule", "calendar.list"),
        ("chat", "slack.post_message"),
        ("cal", "calendar.list"),
    ],
)
def test_the_tool_that_was_meant_comes_first(snapshot: Snapshot, query: str, best: str):
    assert snapshot.search(query)[0].name == best


@pytest.mark.parametrize("query", ["", "   ", "the of an", "zzz", "zz", "!?", "\x00"])
def test_what_says_nothing_finds_nothing(snapshot: Snapshot, query: str):
    assert snapshot.search(query) == ()


def test_an_empty_snapshot_has_nothing_to_find():
    assert Snapshot().search("send") == ()


def test_the_limit_bounds_and_only_admitted_tools_count(snapshot: Snapshot):
    assert len(snapshot.search("send message email file", limit=2)) == 2
    assert snapshot.search("send", limit=0) == snapshot.search("send", limit=-1) == ()
    found = snapshot.search("send", limit=1, admits=lambda tool: tool.name != "gmail.send")
    assert [tool.name for tool in found] == ["slack.post_message"]


def test_a_tool_added_later_is_found_in_the_later_snapshot_only(snapshot: Snapshot):
    snapshot.search("anything")
    later = snapshot.with_tools([make("weather.today", "Forecast.")])
    assert [tool.name for tool in later.search("forecast")] == ["weather.today"]
    assert snapshot.search("forecast") == ()


@given(st.permutations(TOOLS), st.text(alphabet="sendfileamg -.", max_size=20))
def test_the_order_of_registration_does_not_change_the_ranking(shuffled: list[Tool], query: str):
    expected = [tool.name for tool in Index(TOOLS).search(query)]
    assert [tool.name for tool in Snapshot().with_tools(shuffled).search(query)] == expected


def test_words_of_other_scripts_are_words_too():
    tool = make("a", "Berechnet die Größe einer Datei_Liste. 天気 予報")
    snapshot = Snapshot().with_tools([tool, make("b")])
    for query in ("größe", "GRÖSSE", "予報", "liste"):
        assert snapshot.search(query) == (tool,)


def test_a_huge_query_costs_no_more_than_a_long_one(snapshot: Snapshot):
    """A million words find what one does: the test would not come back if each of them were looked up."""
    assert snapshot.search("send " * 1_000_000) == snapshot.search("send")
    snapshot.search(" ".join(f"s{number}" for number in range(100_000)))


def test_ten_thousand_tools_are_searched():
    chance = random.Random(1)
    tools = [
        make(f"{chance.choice(WORDS)}.{chance.choice(WORDS)}_{number}", " ".join(chance.choices(WORDS, k=30)))
        for number in range(10_000)
    ]
    snapshot = Snapshot().with_tools(tools)
    for _ in range(40):
        query = " ".join(chance.choices(WORDS, k=4))
        assert len(snapshot.search(query)) == 10
