"""Reach: which arguments of a call name paths and hosts, found by schema, by name, or by the tool itself."""

from pathlib import Path
from typing import Any

import pytest

from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.policy.reach import Unjudged, reach_of
from callgate.policy.scopes import Families
from callgate.policy.survey import Kind, kind_of_name
from callgate.settings.values import Family
from tests.policy.making import authorize, in_folder, make, reading, saying, schema

TEXT = {"type": "string"}
NOTHING: set[tuple[str, str]] = set()


def found(tool: Tool, arguments: dict[str, Any]) -> set[tuple[str, str]]:
    """What counts by schema and by name; what is only guessed is left out."""
    reach = reach_of(tool)
    items = () if reach is None else reach.find(arguments)
    return {(item.kind.value, item.text) for item in items if item.kind is not Kind.TEXT}


def files(**facts: Any) -> Tool:
    return make("work", "modifies_files", **facts)


def typed(**properties: Any) -> dict[str, Any]:
    return schema(**properties)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("path", Kind.PLACE),
        ("file_path", Kind.PLACE),
        ("filePath", Kind.PLACE),
        ("output_folder", Kind.PLACE),
        ("working_directory", Kind.PLACE),
        ("cwd", Kind.PLACE),
        ("file", Kind.PATH),
        ("path2", Kind.PLACE),
        ("destination", Kind.PATH),
        ("glob", Kind.PATTERN),
        ("test_pattern", Kind.PATTERN),
        ("url", Kind.HOST),
        ("baseURL", Kind.HOST),
        ("HTTPUrl", Kind.HOST),
        ("text", None),
        ("profile", None),
        ("123", None),
        ("", None),
    ],
)
def test_a_name_says_what_an_argument_usually_is(name: str, kind: Kind | None):
    assert kind_of_name(name) is kind


def test_a_tool_whose_arguments_name_nothing_has_no_reach():
    assert reach_of(reading("count", input_schema=schema("text"))) is None
    assert reach_of(make("tell", input_schema=schema("text", "url", "name"))) is None
    numbers = schema(count={"type": "integer"}, sizes={"type": "array", "items": {"type": "number"}})
    assert reach_of(files(input_schema=numbers)) is None
    assert reach_of(reading("fetch", "network_access", input_schema=schema("text", "pattern"))) is None


def test_names_count_for_files_where_the_tool_works_on_files_and_for_hosts_where_it_uses_the_network():
    names = schema("path", "pattern", "url")
    arguments = {"path": "p", "pattern": "*", "url": "u"}
    assert found(files(input_schema=names), arguments) == {("place", "p"), ("pattern", "*")}
    for more in ({"effects": "local_exec"}, {"scopes": {"shell:x"}}, {"scopes": {"fs:x"}}, {"scopes": {"*"}}):
        assert ("pattern", "*") in found(make("x", **{"input_schema": names, **more}), arguments)
    on_network = reading("x", "network_access", input_schema=names)
    assert found(on_network, arguments) == {("place", "p"), ("host", "u")}
    for unknown in (
        make("x", [], scopes={"a:b"}, input_schema=names),
        reading("x", scopes={"a:b"}, input_schema=names),
    ):
        assert found(unknown, arguments) == {("place", "p"), ("pattern", "*"), ("host", "u")}


def test_names_count_where_a_declared_family_says_where_its_tools_may_go():
    def kinds(**family: Any) -> set[Kind]:
        tool = reading("x", scopes={"crm:read"}, input_schema=schema("pattern", "url"))
        reach = reach_of(tool, Families({"crm": Family(**family)}))
        return set() if reach is None else {item.kind for item in reach.find({"pattern": "*", "url": "u"})}

    assert kinds() == set()
    assert kinds(paths=["."]) == {Kind.PATTERN, Kind.TEXT}
    assert kinds(hosts=["*"]) == {Kind.HOST}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"type": "string", "format": "path"}, "place"),
        ({"type": "string", "format": "file-path"}, "path"),
        ({"type": "string", "format": "Directory-Path"}, "place"),
        ({"anyOf": [{"type": "string", "format": "path"}, {"type": "null"}]}, "place"),
        ({"$ref": "#/$defs/where"}, "path"),
        ({"allOf": [{"$ref": "#/$defs/where"}]}, "path"),
        ({"type": ["string", "null"], "format": "glob"}, "pattern"),
    ],
)
def test_a_format_says_it_for_any_name_and_any_tool(given: dict[str, Any], kind: str):
    shape = {**typed(x=given), "$defs": {"where": {"type": "string", "format": "file-path"}}}
    assert found(reading("r", input_schema=shape), {"x": "v"}) == {(kind, "v")}


def test_a_format_for_hosts_counts_on_the_network():
    shape = typed(x={"type": "string", "format": "uri"})
    assert found(reading("r", "network_access", input_schema=shape), {"x": "v"}) == {("host", "v")}
    assert reach_of(reading("r", input_schema=shape)) is None


def test_another_format_of_an_own_schema_says_that_a_name_means_something_else():
    shape = typed(pattern={"type": "string", "format": "regex"}, source={"anyOf": [{"type": "string", "format": "x"}]})
    assert reach_of(files(input_schema=shape)) is None
    assert found(files(input_schema=shape, source=Origin.MCP), {"pattern": "^/x", "source": "s"}) == {
        ("pattern", "^/x"),
        ("path", "s"),
    }
    loose = typed(pattern={"anyOf": [{"type": "string", "format": "regex"}, {"type": "string"}]})
    assert found(files(input_schema=loose), {"pattern": "p"}) == {("pattern", "p")}


def test_lists_mappings_and_nested_objects_are_looked_into():
    shape = typed(
        paths={"type": "array", "items": TEXT},
        edits={"type": "array", "items": {"type": "object", "properties": {"path": TEXT, "text": TEXT}}},
        files={"type": "object", "additionalProperties": TEXT},
        named={"type": "object", "additionalProperties": {"type": "string", "format": "path"}},
        grouped={"type": "object", "additionalProperties": {"type": "array", "items": {"format": "path"}}},
    )
    arguments = {
        "paths": ["a", ["b"], 3, None],
        "edits": [{"path": "c", "text": "/etc"}, {"path": "d"}],
        "files": {"e": "/its/content"},
        "named": {"key": "f", "n": 1},
        "grouped": {"key": ["g", 2]},
    }
    seen = {text for _, text in found(files(input_schema=shape), arguments)}
    assert seen == {"a", "b", "c", "d", "e", "f", "g"}


def test_hosts_in_mappings_are_looked_at_on_the_network():
    shape = typed(mirrors={"type": "object", "additionalProperties": {"type": "string", "format": "uri"}})
    arguments = {"mirrors": {"a": "h"}}
    assert found(reading("r", "network_access", input_schema=shape), arguments) == {("host", "h")}
    assert found(reading("r", input_schema=shape), arguments) == set()
    hosts = typed(hosts={"type": "object", "additionalProperties": {"type": "integer"}})
    assert found(reading("r", "network_access", input_schema=hosts), {"hosts": {"a": 1}}) == set()


def test_names_the_schema_does_not_have_are_looked_at_where_it_takes_them():
    shapes: list[dict[str, Any]] = [
        {"type": "object"},
        {},
        {"type": "object", "properties": {"text": TEXT}},
        {**schema("text"), "patternProperties": {"^x": TEXT}},
        schema(more={"type": "object"}),
    ]
    for shape in shapes:
        arguments = {"path": "p", "more": {"path": "q"}}
        assert {text for _, text in found(files(input_schema=shape), arguments)} == {"p", "q"}
    values = {"type": "object", "additionalProperties": {"type": "string", "format": "path"}}
    assert found(reading("r", input_schema=values), {"any": "p"}) == {("place", "p")}
    closed = {"properties": {"text": TEXT}, "unevaluatedProperties": False}
    assert reach_of(make("tell", input_schema=closed)) is None


@pytest.mark.parametrize(
    "shape",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/missing/deep"},
        {"$ref": "https://elsewhere.example/schema"},
        {"$ref": 5},
        {"type": "object", "properties": {"again": {"$ref": "#"}}},
        {"properties": "nonsense", "allOf": "nonsense", "items": [1, 2], "format": 5},
        {"properties": {"x": True, "y": False}},
        {"dependentSchemas": {"a": {"properties": {"path": TEXT}}}},
    ],
)
def test_a_strange_or_circular_schema_is_survived(shape: dict[str, Any]):
    assert {text for _, text in found(files(input_schema={"type": "object", **shape}), {"path": "p"})} == {"p"}


def test_too_many_and_too_deep_arguments_are_refused_and_not_walked_for_ever(tmp_path: Path):
    tool = files(input_schema={"type": "object"})
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    policy = in_folder(tmp_path)
    hostile: list[Any] = [deep, [{} for _ in range(30_000)], {str(n): n for n in range(30_000)}]
    for value in hostile:
        refusal = authorize(policy, tool, {"a": value}).refusal
        assert refusal is not None
        assert "too many or nested too deeply" in refusal.text
    many = authorize(policy, tool, {"paths": [f"f{number}" for number in range(1001)]}).refusal
    assert many is not None
    assert "more than 1000 paths and hosts" in many.text
    assert authorize(policy, tool, {"paths": ["same"] * 5000}).refusal is None
    assert authorize(policy, tool, {"numbers": list(range(30_000))}).refusal is None


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (None, NOTHING),
        ({}, NOTHING),
        ({"paths": ["a", Path("b")], "hosts": "c.example"}, {("path", "a"), ("path", "b"), ("host", "c.example")}),
        ({"paths": Path("a")}, {("path", "a")}),
        ({"paths": None, "hosts": ()}, NOTHING),
    ],
)
def test_a_tool_that_says_what_it_touches_is_believed_and_nothing_is_guessed(answer: Any, seen: set[tuple[str, str]]):
    tool = reading("r", resources=saying(answer), input_schema=schema("path"))
    assert found(tool, {"path": "/etc"}) == seen


async def asynchronous(_arguments: dict[str, Any]) -> dict[str, Any]:
    return {}


class Later:
    def __await__(self) -> Any:
        yield


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        (saying(ValueError("secret words")), "it failed with ValueError"),
        (saying("path"), "must give"),
        (saying({"path": ["a"]}), "and nothing else"),
        (saying({"paths": 5}), "no list but int"),
        (saying({"paths": [b"a"]}), "bytes where a text belongs"),
        (saying({"hosts": [None]}), "NoneType where a text belongs"),
        (asynchronous, "asynchronous"),
        (saying(Later()), "asynchronous"),
    ],
)
def test_a_tool_that_does_not_say_what_it_touches_is_refused(tmp_path: Path, resources: Any, said: str):
    refusal = authorize(in_folder(tmp_path), reading("r", resources=resources)).refusal
    assert refusal is not None
    assert refusal.code == "policy_denied"
    assert said in refusal.text
    assert "secret words" not in refusal.text


def test_what_a_tool_says_it_touches_is_judged_like_any_path_and_host(tmp_path: Path):
    policy = in_folder(tmp_path)

    def resources(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"paths": [arguments["p"]], "hosts": [arguments["h"]]}

    tool = reading("r", resources=resources)
    good = authorize(policy, tool, {"p": "x", "h": "example.com"})
    assert good.resources == (f"path:{tmp_path.resolve()}/x", "host:example.com")
    bad = authorize(policy, tool, {"p": "/etc", "h": "localhost"})
    assert [reason.text.partition(": ")[0] for reason in bad.reasons] == [
        "a path it would touch",
        "the host it would reach",
    ]


def test_what_cannot_be_told_is_an_error_of_its_own():
    reach = reach_of(reading("r", resources=saying(ValueError())))
    assert reach is not None
    with pytest.raises(Unjudged):
        reach.find({})
