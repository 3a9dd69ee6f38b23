"""Files of a Callgate, in a directory that is granted to another one: a project within a project."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.tools.code import enclosure

pytestmark = pytest.mark.usefixtures("bubblewrap")
SETTINGS = "autonomy: A4\nscopes: {shell: {requires_approval: false}}\n"
STRICT = "autonomy: A1\n"
FREE = Context(autonomy=Autonomy.A4)


@pytest.fixture
def inner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    service = tmp_path / "mono" / "service"
    service.mkdir(parents=True)
    (service / "callgate.yaml").write_text(STRICT)
    (service.parent / "callgate.yaml").write_text(SETTINGS)
    monkeypatch.chdir(service)
    return service


@contextlib.asynccontextmanager
async def around(inner: Path) -> AsyncGenerator[Callgate]:
    """The one that may write what is around, after the other has been at work."""
    other = Callgate.open(config=inner / "callgate.yaml", working_directory=inner, builtin_tools=["files"])
    async with other:
        await other.call("list_dir", {"path": "."})
    tools = ["files", "run_shell", "lint_code"]
    outer = inner.parent
    async with Callgate.open(
        "memory://", outer / "callgate.yaml", working_directory=outer, builtin_tools=tools
    ) as gate:
        yield gate


async def test_its_files_are_written_by_no_tool_and_its_store_is_not_read(inner: Path) -> None:
    store = inner / ".callgate" / "callgate.db"
    async with around(inner) as gate:
        for path in (
            "callgate.yaml",
            "Callgate.YAML",
            "callgate.tools.yaml",
            ".callgate/callgate.db",
            "sub/callgate.yaml",
        ):
            told = await gate.call("write_file", {"path": f"service/{path}", "content": SETTINGS}, FREE)
            assert "no tool may change what governs it" in str(told), path
        assert not (await gate.call("read_file", {"path": "service/.callgate/callgate.db"}, FREE)).ok
        assert not (await gate.call("list_dir", {"path": "service/.callgate"}, FREE)).ok
        read = (await gate.call("read_file", {"path": "service/callgate.yaml"}, FREE)).unwrap()
        assert read["content"] == STRICT
    assert (inner / "callgate.yaml").read_text() == STRICT
    assert store.read_bytes().startswith(b"SQLite")
    assert not (inner / "sub").exists()
    assert not (inner / "callgate.tools.yaml").exists()


@pytest.mark.parametrize(
    "command",
    [
        "echo 'autonomy: A4' > service/callgate.yaml; echo x > service/.callgate/callgate.db; rm -rf service/.callgate",
        "mv service old; mkdir service; echo 'autonomy: A4' > service/callgate.yaml",
        "rm -f service/callgate.yaml; mv service/.callgate x; ls -A service/.callgate; head -c 6 service/.callgate/*",
    ],
    ids=["write", "replace-above", "remove"],
)
async def test_a_program_changes_nothing_of_it(inner: Path, command: str) -> None:
    store = inner / ".callgate" / "callgate.db"
    async with around(inner) as gate:
        before = store.stat().st_ino
        ran = (await gate.call("run_shell", {"command": f"{command}; cat service/callgate.yaml"}, FREE)).unwrap()
        assert ran["stdout"] == STRICT
    assert (inner / "callgate.yaml").read_text() == STRICT
    assert (store.stat().st_ino, store.read_bytes()[:6]) == (before, b"SQLite")


async def test_a_policy_that_a_program_made_is_set_aside(inner: Path) -> None:
    async with around(inner) as gate:
        made = "mkdir new; echo 'autonomy: A4' > new/callgate.yaml; echo mine > new/other.yaml"
        ran = (await gate.call("run_shell", {"command": made}, FREE)).unwrap()
    assert "new/callgate.yaml, which tools may not" in ran["note"]
    assert not (inner.parent / "new" / "callgate.yaml").exists()
    assert (inner.parent / "new" / "other.yaml").read_text() == "mine\n"


async def test_files_of_too_many_are_refused(inner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with around(inner) as gate:
        monkeypatch.setattr(enclosure, "_MOST_OTHERS", 0)
        told = await gate.call("run_shell", {"command": "touch ran"}, FREE)
    assert "files of more than 0 Callgates" in str(told)
    assert f"such as {inner}/.callgate" in str(told)
    assert not (inner.parent / "ran").exists()
