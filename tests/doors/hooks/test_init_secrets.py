"""`callgate init`: secrets are moved wherever they stand; of one that cannot be moved you are told. None is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.runtime.configuring import read_configuration
from callgate.runtime.keeping import look_for_secret
from tests.doors.running import Cli, Done

SECRET = "hunter2Xq9vLw3Zt7"
PASSWORD = "correct"
"""It looks like a word: only where it stands says that it is one."""


def init(cli: Cli, entry: dict[str, Any]) -> tuple[str, Done]:
    (cli.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"one": entry}}))
    done = cli("init", "--from", "auto", "--write", "--no-start")
    assert done.code == 0, done
    return (cli.folder / "callgate.yaml").read_text(), done


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", f"redis://:{PASSWORD}@cache.example:6379/0"),
        ("MONGODB_URI", f"mongodb+srv://app:{PASSWORD}@cluster.example/x"),
        ("POSTGRES_URL", f"postgresql://app:{PASSWORD}@db.example/x"),
        ("BROKER", f"amqp://{PASSWORD}@queue.example"),
        ("STORAGE", f"AccountName=a;AccountKey={PASSWORD}=="),
        ("LIBPQ", f"host=db.example password={PASSWORD} user=app"),
        ("HOOK", f"https://hooks.example/services/T00/{SECRET}"),
        ("OPTIONS", f"--level debug --token={PASSWORD}"),
        ("ODD", f"sk-{SECRET}"),
    ],
)
def test_a_secret_in_a_variable_is_moved_whatever_it_is_called(cli: Cli, home: Path, name: str, value: str):
    written, done = init(cli, {"command": "x-mcp", "env": {name: value, "LEVEL": "debug", "URL": "http://a.b/docs/v2"}})
    for text in (written, done.out, done.err):
        assert PASSWORD not in text
        assert SECRET not in text
    settings = read_configuration(cli.folder / "callgate.yaml", required=True)
    env = settings.mcp_servers["one"].env
    assert env == {name: f"secret:one/{name.lower()}", "LEVEL": "debug", "URL": "http://a.b/docs/v2"}
    assert look_for_secret(settings, "one", name.lower()) is None


@pytest.mark.parametrize(
    "url",
    [
        f"https://mcp.example/s/{SECRET}/mcp",
        "https://mcp.example/550e8400-e29b-41d4-a716-446655440000/mcp",
        "https://mcp.example/s/abcdefghijklmnopqrstuvwxyzabcdef",
        f"https://mcp.example/s/%68unter2Xq9vLw3Zt7{SECRET}",
    ],
)
def test_an_address_with_a_secret_in_its_path_is_left_to_its_owner(cli: Cli, home: Path, url: str):
    written, done = init(cli, {"type": "http", "url": url})
    assert "something secret in it" in done.out
    assert url not in written + done.out + done.err


@pytest.mark.parametrize("url", ["https://mcp.example/mcp", "https://a.example/v2/mcp-server-2025-11-25/documentation"])
def test_an_address_of_words_is_taken_over(cli: Cli, home: Path, url: str):
    init(cli, {"type": "http", "url": url})
    assert read_configuration(cli.folder / "callgate.yaml", required=True).mcp_servers["one"].url == url


@pytest.mark.parametrize(
    ("words", "secret"),
    [
        (["serve", "--api-key", PASSWORD], PASSWORD),
        (["serve", f"--api-key={PASSWORD}"], PASSWORD),
        (["run", "-i", "-e", f"GITHUB_TOKEN={PASSWORD}", "ghcr.io/x/y"], PASSWORD),
        (["--header", f"Authorization: Bearer {SECRET}"], SECRET),
        ([f"postgresql://app:{PASSWORD}@db.example/x"], PASSWORD),
        ([f"--url=redis://:{PASSWORD}@cache.example"], PASSWORD),
        ([f"ghp_{SECRET}{SECRET}"], SECRET),
        (["--dsn", PASSWORD], PASSWORD),
    ],
    ids=["after an option", "in an option", "variable", "header", "connection", "option of one", "known", "dsn"],
)
def test_somebody_is_told_of_a_secret_among_arguments_and_it_is_not_shown(
    cli: Cli, home: Path, words: list[str], secret: str
):
    written, done = init(cli, {"command": "some-mcp", "args": words})
    assert secret in written, "a command cannot name a secret"
    assert "looks like a secret" in done.out
    assert secret not in done.out + done.err


def test_plain_arguments_are_nothing_to_be_told_of(cli: Cli, home: Path):
    words = [
        "-y",
        "@scope/server-filesystem@1.2.3",
        "--verbose",
        "/home/ada2/projects-2024/x",
        "--port=8080",
        "https://a.b/docs",
    ]
    _, done = init(cli, {"command": "npx", "args": words})
    assert "looks like a secret" not in done.out
