"""A plugin's manifest: every fault is told, those of a tool with its index, and nothing strange gets through."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callgate.adapters.plugins.manifest import ManifestFaults, parse_manifest
from callgate.adapters.plugins.template import manifest_template
from callgate.errors import ConfigurationError
from tests.plugin_folders import manifest_of, tool_entry


def faults(body: Any) -> list[str]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        parse_manifest(content, file="hello/manifest.json")
    except ManifestFaults as error:
        return list(error.faults)
    return []


def test_the_file_is_named():
    with pytest.raises(ManifestFaults, match=r"^hello/manifest\.json: name: is missing; version: is missing;"):
        parse_manifest(b"{}", file="hello/manifest.json")


@pytest.mark.requirement("PLG-01")
def test_every_missing_part_is_told_at_once_with_the_index_of_its_tool():
    assert faults({}) == ["name: is missing", "version: is missing", "description: is missing"]
    assert faults(manifest_of(tools=[tool_entry(), {}])) == [
        "tools[1].name: is missing",
        "tools[1].description: is missing",
        "tools[1].module: is missing",
        "tools[1].function: is missing",
    ]


@pytest.mark.requirement("PLG-01")
def test_lists_are_lists_and_mappings_are_mappings():
    wrong = manifest_of(
        tools={"greet": {}}, dependencies="kuzu", settings_schema=[], enabled="yes", version=2, description=" "
    )
    assert faults(wrong) == [
        "version: needs to be text that is not empty, not a number",
        "description: needs to be text that is not empty, not ' '",
        "tools: needs to be a list, not a mapping",
        "dependencies: needs to be a list, not text",
        "settings_schema: needs to be a mapping, not a list",
        "enabled: needs to be true or false, not 'yes'",
    ]
    assert faults(manifest_of(tools=[tool_entry(parameters=["name"]), "greet"])) == [
        "tools[0].parameters: needs to be a mapping, not a list",
        "tools[1]: needs to be an object",
    ]


@pytest.mark.requirement("PLG-02")
def test_what_is_left_out_has_a_default():
    entry = tool_entry()
    del entry["effects"]
    manifest = parse_manifest(json.dumps(manifest_of(tools=[entry])).encode(), file="x")
    assert (manifest.enabled, manifest.dependencies, manifest.settings_schema) == (True, (), None)
    [tool] = manifest.tools
    assert (tool.enabled, tool.category, tool.parameters, dict(tool.claims)) == (True, "specialized", None, {})


@pytest.mark.requirement("PLG-15")
@pytest.mark.parametrize("version", ["2.0", "1", 1.0, None, "1.0 "])
def test_a_format_that_is_not_known_is_refused(version: Any):
    [fault] = faults(manifest_of(schema_version=version))
    assert fault.startswith('schema_version: this Callgate reads "1.0", not ')
    assert faults(manifest_of(schema_version="1.0")) == []


@pytest.mark.requirement("PLG-16")
@pytest.mark.parametrize("name", ["hello", "canvas_tools", "a1"])
def test_the_template_validates(name: str):
    assert faults(manifest_template(name)) == []
    assert parse_manifest(json.dumps(manifest_template(name)).encode(), file="x").name == name


def test_the_template_takes_only_names():
    with pytest.raises(ConfigurationError, match="snake_case"):
        manifest_template("../x")


@pytest.mark.requirement("PLG-12")
@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".", "", "/etc/x", "A", "x" * 65, "a.b", None, "a__b"])
def test_a_name_leads_nowhere(name: Any):
    [fault] = faults(manifest_of(name=name))
    assert fault.startswith("name: needs to be snake_case")


@pytest.mark.parametrize(
    "module", ["../x", "/etc/x.py", "a..b", "", "x;y", "tools.py.py.", ".tools", "tools/", "a\\b", 3, "tools.so"]
)
def test_a_module_is_a_file_of_the_folder(module: Any):
    found = faults(manifest_of(tools=[tool_entry(module=module)]))
    if module == "tools.so":  # reads as the module `so` of a package `tools`, which is then not there
        assert found == []
    else:
        assert [fault.partition(":")[0] for fault in found] == ["tools[0].module"]


def test_what_tools_declare_is_read_as_everywhere_else():
    wrong = tool_entry(effects="read_onyl", risk="huge", timeout=-1, scopes=["everything"], function="a.b", nmae="x")
    told = faults(manifest_of(tools=[wrong]))
    assert [fault.partition(":")[0].removeprefix("tools[0].") for fault in told] == [
        "function",
        "effects",
        "risk",
        "timeout",
        "scopes",
        "nmae",
    ]
    assert told[1].endswith("did you mean 'read_only'?")
    assert told[-1] == "tools[0].nmae: is no key; did you mean 'name'?"


def test_one_name_stands_for_one_tool():
    assert faults(manifest_of(tools=[tool_entry(), tool_entry("other"), tool_entry()])) == [
        "tools[2].name: is the name of tools[0] already"
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "cannot be read: not JSON"),
        (b'{"name": "hello", "vers', "cannot be read: not JSON"),
        (b"[]", "needs to be a JSON object"),
        (b'{"name": "a", "name": "b"}', "key 'name' is given twice"),
        (b'{"version": NaN}', "NaN has no canonical form"),
        (b"\xff\xfe{}", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"keywords": ' + b"[" * 40 + b"]" * 40 + b"}", "is nested deeper than 32 levels"),
        (b'{"name": "a\\u200bb"}', "has the hidden character U+200B; remove it"),
        ('{"na\u202eme": "a"}'.encode(), "has the hidden character U+202E; remove it"),
        (b'{"version": "\\ud800"}', "cannot be read"),
    ],
)
def test_what_has_two_readings_or_none_is_refused(content: bytes, told: str):
    [fault] = faults(content)
    assert told in fault


def test_too_many_tools_are_too_many():
    assert "tools: has 201 tools; 200 at most" in faults(manifest_of(tools=[tool_entry(f"t{n}") for n in range(201)]))


@pytest.mark.parametrize("package", ["kuzu>=1", "../x", "", 3, "a b", "x; import os"])
def test_a_dependency_is_the_name_of_a_package(package: Any):
    [fault] = faults(manifest_of(dependencies=[package]))
    assert "is no name of a Python package" in fault


@pytest.mark.parametrize("parameters", [{"a b": {}}, {"a": "string"}, {"a": {"required": "yes"}}])
def test_parameters_have_names_and_schemas(parameters: Any):
    [fault] = faults(manifest_of(tools=[tool_entry(parameters=parameters)]))
    assert fault.startswith("tools[0].parameters: ")
