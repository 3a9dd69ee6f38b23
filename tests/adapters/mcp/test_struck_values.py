"""What a server is handed in headers or variables and says back: nothing that may be a credential leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callgate.adapters.mcp import McpServers
from callgate.adapters.mcp.values import strike_credentials
from tests.adapters.mcp.processes import come, free_port, running_script
from tests.adapters.mcp.servers import FREE, READS, gate_of, witnessed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "token"),
    [("battery-staple-7781", "battery-staple-7781"), ("${MY_TOKEN}", "correct-horse-4242")],
    ids=["literal", "variable"],
)
async def test_a_credential_of_another_clients_file_is_struck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, token: str
) -> None:
    monkeypatch.setenv("MY_TOKEN", token)
    port = free_port()
    entry = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Plain": written}}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"srv": entry}}))
    with running_script("http_server.py", tmp_path, port):
        await come(port)
        async with gate_of(config=FREE) as gate:
            assert (await gate.attach(McpServers.from_file(file, declare={"srv": {"*": READS}}).get("srv"))).ok
            outcome = await gate.call("srv.header", {"text": "x"})
            await gate.flush()
            events = [str(event.payload) async for event in gate.events()]
    assert witnessed(tmp_path, "headers") == [f"None {token}"]
    assert outcome.ok
    assert events
    assert token not in str(outcome.to_machine()) + str(events)


@pytest.mark.parametrize(
    ("name", "value", "struck"),
    [
        ("X-Plain", "correct-horse-7781", "correct-horse-7781"),
        ("Authorization", "Bearer abcd", "abcd"),
        ("X-Whatever", "token abcd1", "abcd1"),
        ("API_KEY", "letters", "letters"),
        ("HOOK", "https://example.com/services/T1/abc", "https://example.com/services/T1/abc"),
        ("DATABASE", "postgres://me:word@example.com", "postgres://me:word@example.com"),
        ("LOOKS_LIKE_A_PATH", "/9j4AAQSkZJRgABAQ", "/9j4AAQSkZJRgABAQ"),
        ("API_KEY", "abc", None),
        ("LEVEL", "info", None),
        ("PORT", "8080", None),
        ("NODE_ENV", "production", None),
        ("Accept", "application/json", None),
        ("HOST_URL", "https://github.com/", None),
        ("API_URL", "https://example.com/api/v3", None),
        ("FILE", f"{Path(__file__).parent}/not-there-yet.json", None),
        ("FOLDER", str(Path(__file__).parent), None),
        ("TOKEN", "secret:srv/token", None),
    ],
)
def test_which_of_the_values_count_as_credentials(name: str, value: str, struck: str | None) -> None:
    found: list[tuple[str, str]] = []
    strike_credentials({name: value}, lambda text, key: found.append((text, key)))
    assert found == ([] if struck is None else [(struck, name)])
