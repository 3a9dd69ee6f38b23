"""Paths and hosts of a call are judged however its schema says that they are there, and however they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate import build_tool, tool
from callgate.settings.load import parse_settings
from tests.journeys.gates import gate_of

HOSTS = 'version: 1\nautonomy: A4\nscopes:\n  net: {hosts: ["good.example"]}\n'
EVIL = "https://evil.example/"
OLD = {"$schema": "http://json-schema.org/draft-07/schema#"}


def holder(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "additionalProperties": False}


def closed(part: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"t": part}, "additionalProperties": False, **more}


def ways(name: str) -> dict[str, dict[str, Any]]:
    inner = holder(name)
    return {
        "pointer": closed({"$ref": "#/$defs/x"}, **{"$defs": {"x": inner}}),
        "escaped": closed({"$ref": "#/$defs/%78"}, **{"$defs": {"x": inner}}),
        "anchor": closed({"$ref": "#x"}, **{"$defs": {"x": inner | {"$anchor": "x"}}}),
        "dynamic": closed({"$dynamicRef": "#x"}, **{"$defs": {"x": inner | {"$dynamicAnchor": "x"}}}),
        "id": closed({"$ref": "https://s.example/x"}, **{"$defs": {"x": inner | {"$id": "https://s.example/x"}}}),
        "tuple": closed({"type": ["array", "object"], "items": [inner], **inner}, **OLD),
        "described": closed({"description": "What to do."}),
        "not": closed({"not": {"type": "string"}}),
        "circle": closed({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"$ref": "#/$defs/x"}}}),
    }


def declared(name: str, schema: dict[str, Any], seen: Path, **fields: Any) -> Any:
    def run(arguments: dict[str, Any], _context: Any) -> str:
        seen.write_text(str(arguments))
        return "ok"

    return build_tool({"name": name, "description": "Do it.", "input_schema": schema, "execute": run, **fields})


@pytest.mark.parametrize("way", ways(""))
async def test_a_host_is_judged(tmp_path: Path, way: str):
    seen = tmp_path / "seen"
    fetch = declared("fetch", ways("url")[way], seen, effects=["read_only", "network_access"], scopes=["net:outbound"])
    async with gate_of(fetch, config=parse_settings(HOSTS, file="callgate.yaml")) as gate:
        refused = await gate.call("fetch", {"t": {"url": EVIL}})
        assert not seen.exists()
        assert refused.error is not None
        assert refused.error.code == "policy_denied"
        assert (await gate.call("fetch", {"t": {"url": "https://good.example/"}})).ok


@pytest.mark.parametrize("way", ways(""))
async def test_a_path_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str):
    work, seen = tmp_path / "work", tmp_path / "seen"
    work.mkdir()
    monkeypatch.chdir(work)
    config = work / "callgate.yaml"
    config.write_text("version: 1\nautonomy: A4\n")
    look = declared("look", ways("path")[way], seen, effects="read_only", scopes=["fs:read"])
    async with gate_of(look, config=config, store="memory://") as gate:
        for path in (tmp_path / "outside.txt", config):
            await gate.call("look", {"t": {"path": str(path)}})
        assert not seen.exists()
        assert (await gate.call("look", {"t": {"path": "inside.txt"}})).ok


async def test_an_argument_that_may_be_anything_is_judged_also_where_it_is_described(tmp_path: Path):
    seen = tmp_path / "seen"

    @tool(effects=["read_only", "network_access"], scopes={"net:outbound"})
    async def fetch(request: Any) -> str:
        """Fetch.

        Args:
            request: What to fetch.
        """
        seen.write_text(str(request))
        return "ok"

    async with gate_of(fetch, config=parse_settings(HOSTS, file="callgate.yaml")) as gate:
        await gate.call("fetch", {"request": {"url": EVIL}})
    assert not seen.exists()


@pytest.mark.parametrize("urls", [{"a": EVIL}, {"a": [EVIL]}, {"a": {"b": EVIL}}, {EVIL: 1}], ids=str)
async def test_a_mapping_under_the_name_of_hosts_is_of_hosts(tmp_path: Path, urls: Any):
    seen = tmp_path / "seen"

    @tool(effects=["read_only", "network_access"], scopes={"net:outbound"})
    async def fetch(urls: dict[str, Any]) -> str:
        """Fetch."""
        seen.write_text(str(urls))
        return "ok"

    async with gate_of(fetch, config=parse_settings(HOSTS, file="callgate.yaml")) as gate:
        await gate.call("fetch", {"urls": urls})
        assert not seen.exists()
        assert (await gate.call("fetch", {"urls": {"a": "https://good.example/"}})).ok


@pytest.mark.parametrize("kind", ["uuid", "date-time", "email", "uri", "ipv4"])
async def test_a_format_is_believed_of_texts_that_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    seen = tmp_path / "seen"
    schema = {"type": "object", "properties": {"file": {"type": "string", "format": kind}}}
    look = declared("look", schema, seen, effects="read_only", scopes=["fs:read"])
    async with gate_of(look, config=parse_settings("version: 1\n", file="callgate.yaml")) as gate:
        await gate.call("look", {"file": "../private.txt"})
    assert not seen.exists()
