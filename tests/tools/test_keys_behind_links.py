"""Keys and anchors stay out of reach where links in Callgate's own folder lead to them, as keepers of dotfiles make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy

pytestmark = pytest.mark.usefixtures("bubblewrap")
FULL = Context(autonomy=Autonomy.A4)
SETTINGS = "autonomy: A4\nscopes: {shell: {requires_approval: false}}\n"
READING: dict[str, dict[str, Any]] = {
    "read_file": {"path": "my-keys/root-0001.key"},
    "search_files": {"pattern": "callgate-root"},
    "run_shell": {"command": "cat my-keys/*"},
}
WRITING: dict[str, dict[str, Any]] = {
    "write_file": {"path": "my-anchors/{}", "content": "{{}}"},
    "run_shell": {"command": "echo '{{}}' > my-anchors/{}"},
}


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ground, own = tmp_path / "ground", tmp_path / "config" / "callgate"
    own.mkdir(parents=True)
    for name in ("keys", "anchors"):
        (ground / f"my-{name}").mkdir(parents=True, mode=0o700)
        (own / name).symlink_to(ground / f"my-{name}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
    monkeypatch.delenv("CALLGATE_KEY", raising=False)
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return ground


def opened(ground: Path) -> Callgate:
    beside = ground.parent
    store = f"sqlite:///{beside}/store/callgate.db"
    return Callgate.open(
        store, beside / "settings.yaml", working_directory=ground, builtin_tools=["files", "run_shell"]
    )


@pytest.mark.parametrize("name", READING)
async def test_no_tool_reads_a_key(ground: Path, name: str) -> None:
    async with opened(ground) as gate:
        said = await gate.call(name, READING[name], FULL)
    [key] = (ground / "my-keys").iterdir()
    assert key.name == "root-0001.key"
    assert key.read_text().split()[-1] not in str(said.to_machine())
    assert "callgate-root-key" not in str(said.to_machine())


@pytest.mark.parametrize("name", WRITING)
async def test_no_tool_writes_an_anchor(ground: Path, name: str) -> None:
    async with opened(ground) as gate:
        await gate.call("list_directory", {"path": "."}, FULL)
    anchor = next((ground / "my-anchors").glob("*.json"))
    call = {key: text.format(anchor.name) for key, text in WRITING[name].items()}
    async with opened(ground) as gate:
        said = await gate.call(name, call, FULL)
        assert json.loads(anchor.read_text())["version"] == 1
    assert not said.ok or said.unwrap()["returncode"] != 0
