"""The JSON Schema for editors says what the reader says."""

import json
from collections.abc import Iterator
from typing import Any, cast

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.errors import ConfigurationError
from callgate.model.levels import Assurance, Autonomy, Origin, Risk
from callgate.settings.durations import PATTERN as DURATION
from callgate.settings.load import parse_settings
from callgate.settings.matrix import PRESETS
from callgate.settings.schema import json_schema
from callgate.settings.selectors import GROUPS
from callgate.settings.values import DEFAULT_FAMILIES
from tests.settings.described import KEYS
from tests.settings.reading import FILE, NOW, complaints_of, read

VALIDATOR = jsonschema_rs.Draft202012Validator(json_schema())

Document = dict[str, Any]


def some(fields: dict[str, Any], **required: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    """Mappings with some of the fields, and all that are required."""
    return st.fixed_dictionaries(required, optional=fields)


words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda word: word not in {"y", "n", "no", "on"})
selectors = (
    words
    | st.sampled_from(["*", "a.*", "get_?", "category:web"])
    | st.sampled_from(sorted(GROUPS)).map("group:{}".format)
)
durations = st.integers(1, 86_400) | st.sampled_from(["45s", "10m", "1h", "1.5h"])
autonomies = st.sampled_from([level.label for level in Autonomy])
risks = st.sampled_from([risk.label for risk in Risk])
scopes = st.just("*") | st.builds("{}:{}".format, st.sampled_from(sorted(DEFAULT_FAMILIES)), words | st.just("*"))
by = st.sampled_from(["user", "other", "two"])
rules = some(
    {
        "when": st.just("args.amount > 1"),
        "verdict": st.just("confirm"),
        "by": by,
        "assurance": st.sampled_from([assurance.label for assurance in Assurance]),
        "on_expiry": st.sampled_from(["reject", "proceed"]),
        "why": words,
    },
    match=selectors,
    risk=risks,
)
layer: dict[str, Any] = {
    "allow": st.lists(selectors, max_size=3),
    "deny": st.lists(selectors, max_size=3),
    "rules": st.lists(rules, max_size=2),
    "max_risk": risks,
    "max_autonomy": autonomies,
}
families = some(
    {
        "requires_approval": st.booleans(),
        "paths": st.lists(st.sampled_from([".", "/srv", "data/x"]), max_size=2),
        "hosts": st.lists(st.sampled_from(["*", "example.com", "*.example.com", "10.0.0.1", "::1"]), max_size=2),
        "private_addresses": st.booleans(),
    }
)
sources = st.just("*") | st.sampled_from(list(Origin)).map("source:{}".format)
observed = some({}, source=sources, since=st.just("2026-01-05"), by=words, **{"for": durations})
declared = some(
    {
        "scopes": scopes | st.lists(scopes, max_size=2),
        "risk": risks,
        "idempotent": st.booleans(),
        "timeout": durations,
        "allowed_callers": st.sampled_from(["direct", "chain"]),
    },
    effects=st.sampled_from(["read_only", ["network_access"], ["modifies_files", "local_exec"]]),
)
server: dict[str, Any] = {
    "prefix": words.filter(lambda word: not word.endswith("_") and "__" not in word),
    "startup": st.integers(1, 3600) | st.sampled_from(["45s", "10m", "1h"]),
    "declare": st.dictionaries(words | st.just("get_*"), declared, max_size=2),
    "mode": st.just("enforce"),
    "trust": st.just("pinned"),
}
servers = some(
    {**server, "env": st.dictionaries(words, words, max_size=2), "cwd": words},
    command=st.lists(words, min_size=1, max_size=3),
) | some({**server, "headers": st.dictionaries(words, words, max_size=2)}, url=st.just("https://example.com/mcp"))
hours = {"from": st.just("22:00"), "to": st.just("06:00")}
documents = some(
    {
        "version": st.just(1),
        "store": st.sampled_from(["memory://", "sqlite:///x.db"]),
        "autonomy": autonomies,
        "matrix": st.sampled_from(list(PRESETS)),
        "scopes": st.dictionaries(st.sampled_from(sorted(DEFAULT_FAMILIES)), families, max_size=3),
        "global": some(layer),
        "roles": st.dictionaries(words, some({**layer, "scopes": st.lists(scopes, max_size=3)}), max_size=2),
        "modules": st.lists(words, max_size=2),
        "mcp_servers": st.dictionaries(words, servers, max_size=2),
        "timeout": durations,
        "timeouts": some({"tools": st.dictionaries(words, durations, max_size=2)}),
        "require_keys": st.booleans(),
        "quiet_hours": some({"timezone": st.just("UTC")}, **hours),
        "risk": some({"many_targets": st.integers(1, 100), "repeat_window": durations}),
        "approvals": some({"expires": durations, "confirm": by}),
        "observe": st.lists(observed, max_size=2),
        "secrets": some({"backend": st.sampled_from(["env", "file", "keyring"])}),
        "threads_per_connector": st.integers(1, 1024),
        "batch_concurrency": st.integers(1, 10_000),
        "retention_days": st.just("forever") | st.integers(1, 365),
    }
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)


def is_accepted(document: Any) -> bool:
    """Whether the reader takes it; JSON is YAML."""
    try:
        parse_settings(json.dumps(document), file=FILE, now=NOW)
    except ConfigurationError:
        return False
    return True


def places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every mapping and list with each of its keys or positions."""
    if isinstance(value, dict | list):
        container = cast("Any", value)
        for place in list(container) if isinstance(value, dict) else range(len(container)):
            yield container, place
            yield from places_of(container[place])


@given(documents)
def test_the_reader_and_the_schema_accept_what_is_right(document: Document):
    parse_settings(json.dumps(document), file=FILE, now=NOW)
    VALIDATOR.validate(document)


@given(documents, st.data())
def test_what_the_schema_refuses_the_reader_refuses(document: Document, data: st.DataObject):
    places = list(places_of(document))
    if places:
        container, place = data.draw(st.sampled_from(places))
        container[place] = data.draw(anything)
    if not VALIDATOR.is_valid(document):
        assert not is_accepted(document)


@given(documents, words)
def test_an_unknown_key_is_refused_by_both(document: Document, word: str):
    changed = document | {f"un_{word}": 1}
    assert not VALIDATOR.is_valid(changed)
    assert not is_accepted(changed)


def test_every_key_tells_its_meaning():
    assert len(KEYS) > 60
    assert all(body["description"].endswith((".", "…")) for body in KEYS.values())


_NEEDED: dict[str, Document] = {
    "quiet_hours": {"from": "22:00", "to": "06:00"},
    "serve.oauth": {"issuer": "https://issuer.example", "jwks": "https://issuer.example/keys"},
}
"""What a block has to have besides."""


def _within(block: str, inner: Document) -> Document:
    for name in reversed(block.split(".") if block else []):
        inner = {name: inner}
    return inner


@pytest.mark.parametrize(
    "key", [key for key, body in KEYS.items() if "default" in body and "*" not in key and "[]" not in key]
)
def test_a_stated_default_is_what_leaving_the_key_out_means(key: str):
    block, _, name = key.rpartition(".")
    needed = _NEEDED.get(block, {})
    written = _within(block, {**needed, name: KEYS[key]["default"]})
    stated, left_out = read(json.dumps(written)), read(json.dumps(_within(block, needed)))
    if key in {"store", "timeout"}:
        # What these are by default is decided where they are used; the file's silence stays visible as None.
        assert getattr(left_out, key) is None
    else:
        assert stated == left_out


@pytest.mark.parametrize("key", [key for key, body in KEYS.items() if body.get("not") == {}])
def test_what_is_not_built_is_refused_by_both(key: str):
    block, _, name = key.rpartition(".")
    inner: Document = {name: []}
    document: Document = {"roles": {"a": inner}} if "*" in block else {block: inner} if block else inner
    assert not VALIDATOR.is_valid(document)
    assert "does not have" in complaints_of(json.dumps(document))[0]


def test_the_schema_is_json_and_each_time_the_same():
    assert json.dumps(json_schema()) == json.dumps(json_schema())
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert DURATION in json.loads(json.dumps(json_schema()))["properties"]["timeout"]["anyOf"][1]["pattern"]
