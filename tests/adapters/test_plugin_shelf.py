"""Plugins on a shelf: found, loaded and loaded again, each by itself; what runs is what was read."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from callgate.adapters.plugins import code as plugin_code
from callgate.adapters.plugins import snapshot
from callgate.adapters.plugins.shelf import Choices, Shelf
from callgate.adapters.plugins.state import PluginState, differences
from callgate.errors import ConfigurationError
from callgate.model.levels import Origin, Risk
from callgate.model.source import Loaded
from callgate.model.tool import Tool
from tests.plugin_folders import GREET, tool_entry, write_plugin


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "plugins"


def shelf_of(folder: Path, *accept: str, **more: Any) -> Shelf:
    folders = more.pop("folders", (folder,))
    settings = folder.parent / "settings"
    return Shelf(Choices(folders=folders, settings=settings, accept=frozenset(accept), **more))


def failures(loaded: Loaded) -> dict[str, str]:
    return {failure.name: failure.reason for failure in loaded.failures}


def by_name(loaded: Loaded) -> dict[str, Tool]:
    return {tool.name: tool for tool in loaded.tools}


def run(tool: Tool, **arguments: Any) -> Any:
    assert tool.handler is not None
    return tool.handler(tool.validator(arguments), None)


def state_of(shelf: Shelf, name: str = "hello") -> PluginState:
    return next(state for state in shelf.states() if state.name == name)


def private_modules() -> set[str]:
    gc.collect()
    return {name for name in sys.modules if name.startswith("_callgate_plugin_")}


@pytest.mark.requirement("PLG-03")
def test_one_bad_plugin_does_not_stop_the_rest(folder: Path):
    write_plugin(folder, "good")
    write_plugin(folder, "off", enabled=False, tools=[tool_entry("other")])
    (write_plugin(folder, "bad") / "manifest.json").write_text('{"name": "bad", "ver')
    (folder / "no_plugin").mkdir()
    (folder / ".git").mkdir()
    shelf = shelf_of(folder, "good")
    loaded = shelf.load()
    assert list(by_name(loaded)) == ["greet"]
    assert [(state.name, state.enabled) for state in shelf.states()] == [("bad", False), ("good", True), ("off", False)]
    assert failures(loaded).keys() == {"bad"}
    assert "bad/manifest.json: cannot be read" in failures(loaded)["bad"]


@pytest.mark.requirement("PLG-03")
def test_a_folder_that_is_not_there_has_no_plugins_and_is_told(folder: Path):
    loaded = shelf_of(folder).load()
    assert (loaded.tools, failures(loaded)) == ((), {str(folder): "there is no such folder"})


def test_tools_are_foreign_and_belong_to_their_plugin(folder: Path):
    write_plugin(folder)
    [tool] = shelf_of(folder, "hello").load().tools
    assert (tool.source, tool.source_name, tool.connector, tool.category) == (
        Origin.PLUGIN,
        "plugins",
        "hello",
        "specialized",
    )
    assert run(tool, name="you") == "Hello, you!"


def test_what_a_plugin_declares_counts_only_when_it_was_accepted(folder: Path):
    code = (
        "from callgate import tool\n"
        "def check(arguments, context): ...\n"
        "@tool(scopes={'fs:read'}, check=check, idempotent=True, risk='low')\n" + GREET
    )
    entry = tool_entry(untrusted_output=True)
    write_plugin(folder, code=code, tools=[entry])
    [accepted] = shelf_of(folder, "hello").load().tools
    assert (accepted.declared, accepted.read_only, accepted.idempotent, accepted.scopes) == (
        True,
        True,
        True,
        {"fs:read"},
    )
    [other] = shelf_of(folder).load().tools
    assert (other.declared, other.read_only, other.idempotent, other.scopes) == (False, False, False, frozenset())
    assert (other.destructive, other.base_risk, other.untrusted_output) == (True, Risk.HIGH, True)


def test_claims_that_tighten_count_without_anybodys_word(folder: Path):
    write_plugin(folder, tools=[tool_entry(effects=["network_access"], risk="critical", sensitive_output=True)])
    [tool] = shelf_of(folder).load().tools
    assert (tool.declared, tool.base_risk, tool.destructive, tool.sensitive_output) == (
        False,
        Risk.CRITICAL,
        True,
        True,
    )


@pytest.mark.requirement("PLG-14")
@pytest.mark.parametrize(
    ("code", "parameters", "told"),
    [
        ("def greet(name: str) -> str: ...", {"nme": {"type": "string"}}, "nme is no parameter of the function"),
        ("def greet(name: str) -> str: ...", {}, "the function needs name, which the manifest does not have"),
        (
            "def greet(name: str) -> str: ...",
            {"name": {"type": "string", "required": False}},
            "the function needs name, which the manifest says may be left out",
        ),
        (
            "def greet(name: int | None) -> str: ...",
            {"name": {"type": "string"}},
            "name is string in the manifest and integer or null in the function",
        ),
        ("from pathlib import Path\ndef greet(name: Path) -> str: ...", {"name": {"type": "string"}}, "more than JSON"),
        ("def other() -> str: ...", {}, "tools.py has no function greet"),
        ("greet = 3", {}, "cannot be called"),
        ("from os import system as greet", {}, "not the plugin's own"),
        ("class greet: ...", {}, "is a class"),
    ],
)
def test_a_tool_whose_code_is_not_what_the_manifest_says_is_an_error_of_that_tool(
    folder: Path, code: str, parameters: Mapping[str, Any], told: str
):
    fine = tool_entry("fine", function="fine", parameters={"n": {"type": "integer", "default": 1}})
    more = "\ndef fine(n: float = 2, hidden: str = '') -> float: return n\n"
    write_plugin(folder, code=code + more, tools=[tool_entry(parameters=parameters), fine])
    shelf = shelf_of(folder, "hello")
    loaded = shelf.load()
    assert told in failures(loaded)["greet"]
    assert run(by_name(loaded)["fine"]) == 1
    assert [tool.fault is None for tool in state_of(shelf).tools] == [False, True]


@pytest.mark.requirement("PLG-14")
@pytest.mark.parametrize(
    ("code", "parameters"),
    [
        ("def greet(**all_of_it): return all_of_it", {"anything": {"type": "string"}}),
        ("def greet(a: float, b=None, *, c: list[int]): ...", {"a": {"type": "integer"}, "c": {"type": "array"}}),
        ("from typing import Literal\ndef greet(a: Literal['x', 1]): ...", {"a": {"enum": ["x", 1]}}),
        ("from callgate import ToolContext\ndef greet(a: str, ctx: ToolContext): ...", {"a": {"type": "string"}}),
    ],
)
def test_what_agrees_is_let_in(folder: Path, code: str, parameters: Mapping[str, Any]):
    write_plugin(folder, code=code, tools=[tool_entry(parameters=parameters)])
    loaded = shelf_of(folder).load()
    assert failures(loaded) == {}
    assert loaded.tools[0].input_schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise RuntimeError('no power')", "tools.py cannot be imported: RuntimeError: no power"),
        ("raise SystemExit(3)", "tools.py cannot be imported: SystemExit: 3"),
        ("raise TimeoutError('late')", "tools.py cannot be imported: TimeoutError: late"),
        ("raise KeyboardInterrupt", "tools.py cannot be imported: KeyboardInterrupt"),
        ("def greet(", "tools.py cannot be imported: SyntaxError"),
        ("import sibling", "a plugin's own modules are imported relatively: from . import sibling"),
        ("import no_such_library_anywhere", "No module named 'no_such_library_anywhere'"),
        ("\0", "tools.py cannot be imported"),
    ],
)
def test_code_that_cannot_be_imported_is_told_in_one_line(folder: Path, code: str, told: str):
    write_plugin(folder, code=code)
    (folder / "hello" / "sibling.py").write_text("")
    assert told in failures(shelf_of(folder).load())["greet"]
    assert private_modules() == set()


def test_an_import_that_hangs_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plugin_code.Code.module, "__kwdefaults__", {"seconds": 0.05})
    write_plugin(
        folder, code="import builtins\nbuiltins.hang_here.wait(20)\n", tools=[tool_entry(), tool_entry("other")]
    )
    released = threading.Event()
    monkeypatch.setattr("builtins.hang_here", released, raising=False)
    try:
        loaded = shelf_of(folder).load()
    finally:
        released.set()
    assert failures(loaded) == dict.fromkeys(("greet", "other"), "tools.py did not finish importing within 0.05 s")


def test_plugins_share_no_module_and_nothing_is_put_on_the_path(folder: Path):
    before = list(sys.path)
    code = "from . import helper\nfrom .inner import deep\ndef greet(name: str): return helper.WORD + deep.W\n"
    for name in ("one", "two"):
        path = write_plugin(folder, name, code=code, tools=[tool_entry(f"greet_{name}")])
        (path / "helper.py").write_text(f"WORD = {name!r}\n")
        (path / "inner").mkdir()
        (path / "inner" / "deep.py").write_text("W = '!'\n")
    tools = by_name(shelf_of(folder).load())
    assert [run(tools[f"greet_{name}"], name="") for name in ("one", "two")] == ["one!", "two!"]
    assert sys.path == before
    assert "helper" not in sys.modules
    assert list(folder.rglob("__pycache__")) == []


def test_a_module_that_is_imported_late_is_of_the_same_loading(folder: Path):
    code = "def greet(name: str) -> str:\n    from . import helper\n    return helper.WORD\n"
    path = write_plugin(folder, code=code)
    (path / "helper.py").write_text("WORD = 'old'\n")
    shelf = shelf_of(folder)
    [old] = shelf.load().tools
    (path / "helper.py").write_text("WORD = 'new'\n")
    [new] = shelf.load().tools
    assert (run(old, name=""), run(new, name="")) == ("old", "new")
    assert (old.id, old.definition_hash == new.definition_hash) == (new.id, False)


def test_names_are_given_back_when_nothing_uses_the_code(folder: Path):
    path = write_plugin(folder)
    shelf = shelf_of(folder)
    kept = shelf.load().tools
    assert len(private_modules()) == 2
    (path / "tools.py").write_text(GREET + "# more\n")
    shelf.load()
    assert len(private_modules()) == 4
    del kept
    assert len(private_modules()) == 2
    del shelf
    assert private_modules() == set()


@pytest.mark.parametrize("what", ["tools.py", "manifest.json", "inner", "hello"])
def test_nothing_is_reached_through_a_link(folder: Path, tmp_path: Path, what: str):
    outside = tmp_path / "outside"
    write_plugin(outside)
    (outside / "hello" / "inner").mkdir()
    if what == "hello":
        folder.mkdir()
        (folder / "hello").symlink_to(outside / "hello")
    else:
        place = write_plugin(folder) / what
        place.unlink(missing_ok=True)
        place.symlink_to(outside / "hello" / what)
    loaded = shelf_of(folder).load()
    assert loaded.tools == ()
    assert "is a link" in failures(loaded)["hello"]


def test_code_outside_of_the_folder_is_not_run(folder: Path):
    write_plugin(folder, tools=[tool_entry(module="src.tools.canvas_tools")])
    told = failures(shelf_of(folder).load())["greet"]
    assert told == ("there is no src/tools/canvas_tools.py in the plugin's folder; code outside of it is not run")


@pytest.mark.parametrize("what", ["fifo", "large", "many", "large manifest"])
def test_what_is_no_plain_small_file_is_refused(folder: Path, what: str):
    path = write_plugin(folder)
    if what == "fifo":
        os.mkfifo(path / "pipe.py")
    elif what == "large":
        (path / "big.py").write_bytes(b"#" * (1024 * 1024 + 1))
    elif what == "large manifest":
        (path / "manifest.json").write_bytes(b" " * (256 * 1024 + 1))
    else:
        for number in range(501):
            (path / f"m{number}.py").touch()
    loaded = shelf_of(folder).load()
    assert loaded.tools == ()
    assert failures(loaded).keys() == {"hello"}


def test_what_is_being_written_is_not_taken_for_whole(folder: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_plugin(folder)
    shelf = shelf_of(folder)
    [old] = shelf.load().tools
    look, texts = snapshot._look, iter(["a", "ab", "abc"])  # pyright: ignore[reportPrivateUsage]

    def writing(top: int) -> Any:
        (path / "tools.py").write_text(f"{GREET}# {next(texts)}")
        return look(top)

    monkeypatch.setattr(snapshot, "_look", writing)
    loaded = shelf.load()
    assert loaded.tools == (old,)
    assert failures(loaded)["hello"].startswith("is being written right now")
    monkeypatch.undo()
    assert failures(shelf.load()) == {}


def test_a_folder_full_of_files_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot, "_MOST_ENTRIES", 3)
    path = write_plugin(folder)
    (path / "data").mkdir()
    (path / "data" / "x").touch()
    assert "has more than 3 files and folders" in failures(shelf_of(folder).load())["hello"]


def test_a_plugin_may_be_a_package_and_say_where_it_failed(folder: Path):
    path = write_plugin(folder, tools=[tool_entry(module="__init__"), tool_entry("inner", module="inner")])
    (path / "__init__.py").write_text(GREET)
    (path / "inner").mkdir()
    (path / "inner" / "__init__.py").write_text("def greet(name: str):\n    return 1 / 0\n")
    tools = by_name(shelf_of(folder).load())
    assert run(tools["greet"], name="you") == "Hello, you!"
    with pytest.raises(ZeroDivisionError) as caught:
        run(tools["inner"], name="you")
    last = caught.traceback[-1]
    assert (str(last.path), str(last.statement)) == (str(path / "inner" / "__init__.py"), "    return 1 / 0")


def test_hints_that_are_more_than_words_agree_too(folder: Path):
    code = (
        "from __future__ import annotations\n"
        "from typing import Annotated, Optional, TypeVar\nT = TypeVar('T')\n"
        "def greet(a: Annotated[int, 'many'], b: Optional[T] = None, c: list[int] | None = None): ...\n"
    )
    parameters = {
        "a": {"type": "integer"},
        "b": {"type": ["string", "null"], "required": False},
        "c": {"type": "array", "required": False},
    }
    write_plugin(folder, code=code, tools=[tool_entry(parameters=parameters)])
    assert failures(shelf_of(folder).load()) == {}


@pytest.mark.requirement("PLG-05", "PLG-06")
def test_changes_are_seen_by_content(folder: Path):
    path = write_plugin(folder)
    shelf = shelf_of(folder)
    shelf.load()

    def changed() -> list[str]:
        return differences(shelf.states(), shelf.survey())

    assert changed() == []
    (path / "tools.py").touch()
    assert changed() == []
    status = (path / "tools.py").stat()
    (path / "tools.py").write_text(GREET.replace("Hello", "Hallo"))
    os.utime(path / "tools.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert changed() == ["hello"]
    shelf.load()
    assert changed() == []
    (path / "manifest.json").write_text(json.dumps(json.loads((path / "manifest.json").read_text()) | {"version": "2"}))
    os.utime(path / "manifest.json", (1, 1))
    assert changed() == ["hello"]
    shelf.load()
    assert state_of(shelf).version == "2"
    write_plugin(folder, "other", tools=[])
    assert changed() == ["other"]


@pytest.mark.requirement("PLG-09")
@pytest.mark.parametrize("how", ["half a manifest", "broken code", "other parameters", "missing package"])
def test_a_version_that_cannot_be_loaded_leaves_the_older_one_serving_and_says_so(folder: Path, how: str):
    path = write_plugin(folder)
    shelf = shelf_of(folder)
    [old] = shelf.load().tools
    if how == "half a manifest":
        (path / "manifest.json").write_text('{"name": "hello", ')
    elif how == "broken code":
        write_plugin(folder, code="raise ValueError", version="2.0.0")
    elif how == "missing package":
        write_plugin(folder, version="2.0.0", dependencies=["no-such-package-anywhere"])
    else:
        write_plugin(folder, version="2.0.0", tools=[tool_entry(parameters={"x": {}})])
    loaded = shelf.load()
    assert loaded.tools == (old,)
    assert failures(loaded)["hello"].endswith("; version 1.0.0 goes on serving")
    assert (state_of(shelf).stale, state_of(shelf).version) == (True, "1.0.0")
    write_plugin(folder, version="3.0.0")
    assert failures(shelf.load()) == {}
    assert (state_of(shelf).stale, state_of(shelf).version) == (False, "3.0.0")


@pytest.mark.requirement("PLG-10")
def test_a_version_that_goes_on_serving_is_switched_off_like_any_other(folder: Path):
    path = write_plugin(folder)
    shelf = shelf_of(folder)
    shelf.load()
    shelf.switch("hello", on=False)
    (path / "manifest.json").write_text("{")
    assert shelf.load().tools == ()


@pytest.mark.requirement("PLG-10")
def test_a_manifest_that_cannot_be_read_keeps_nobody_from_switching_its_plugin_off(folder: Path):
    path = write_plugin(folder)
    path.rename(folder / "elsewhere")
    shelf = shelf_of(folder)
    shelf.load()
    (folder / "elsewhere" / "manifest.json").write_text("{")
    shelf_of(folder).switch("hello", on=False)
    assert shelf.load().tools == ()
    with pytest.raises(ConfigurationError, match="there is no plugin 'hello'; there are: elsewhere"):
        shelf_of(folder).switch("hello", on=True)


@pytest.mark.requirement("PLG-08")
def test_a_plugin_whose_manifest_is_gone_is_unloaded(folder: Path):
    path = write_plugin(folder)
    shelf = shelf_of(folder)
    shelf.load()
    (path / "manifest.json").unlink()
    assert (shelf.load(), shelf.states()) == (Loaded(), ())
    assert private_modules() == set()


@pytest.mark.requirement("PLG-15")
def test_of_two_tools_of_one_name_the_second_is_refused_by_name(folder: Path):
    write_plugin(folder, "one")
    write_plugin(folder, "two", tools=[tool_entry(), tool_entry("other")])
    loaded = shelf_of(folder).load()
    assert {tool.name: tool.connector for tool in loaded.tools} == {"greet": "one", "other": "two"}
    assert failures(loaded) == {"greet": "the plugin one has a tool of that name; that of two is left out"}


@pytest.mark.requirement("PLG-15")
def test_who_serves_a_name_keeps_it_when_another_comes(folder: Path):
    write_plugin(folder, "two")
    shelf = shelf_of(folder)
    shelf.load()
    write_plugin(folder, "one")
    assert [tool.connector for tool in shelf.load().tools] == ["two"]


def test_of_two_plugins_of_one_name_the_second_is_refused(folder: Path, tmp_path: Path):
    write_plugin(folder)
    write_plugin(tmp_path / "more", tools=[tool_entry("other")])
    shelf = shelf_of(folder, folders=(folder, tmp_path / "more"))
    loaded = shelf.load()
    assert list(by_name(loaded)) == ["greet"]
    assert failures(loaded) == {"hello": f"there is a plugin called hello in {folder / 'hello'} already"}


@pytest.mark.requirement("PLG-15")
def test_a_missing_package_disables_the_plugin_with_a_reason_and_runs_none_of_it(folder: Path):
    write_plugin(folder, code="raise RuntimeError", dependencies=["pytest", "no-such-package-anywhere", "json"])
    shelf = shelf_of(folder)
    loaded = shelf.load()
    assert failures(loaded) == {"hello": "needs Python packages that are not installed: no-such-package-anywhere"}
    assert (loaded.tools, state_of(shelf).enabled) == ((), False)


def test_a_plugin_that_is_off_runs_none_of_its_code(folder: Path):
    write_plugin(folder, code="raise RuntimeError", enabled=False)
    assert shelf_of(folder).load() == Loaded()


def test_one_plugin_can_be_loaded_alone(folder: Path):
    write_plugin(folder)
    write_plugin(folder, "other", code="raise RuntimeError", tools=[tool_entry("other")])
    shelf = shelf_of(folder)
    loaded = shelf.load(only="hello")
    assert (list(by_name(loaded)), failures(loaded)) == (["greet"], {})


def test_a_module_that_raises_is_run_once_for_all_tools(folder: Path, monkeypatch: pytest.MonkeyPatch):
    runs: list[int] = []
    monkeypatch.setattr("builtins.count_runs", runs, raising=False)
    code = "import builtins\nbuiltins.count_runs.append(1)\nraise ValueError\n"
    write_plugin(folder, code=code, tools=[tool_entry(), tool_entry("other")])
    assert len(failures(shelf_of(folder).load())) == 2
    assert runs == [1]


def test_a_tool_cannot_ask_for_a_process_of_its_own(folder: Path):
    write_plugin(folder, code="from callgate import tool\n@tool(isolation='process')" + GREET)
    assert "cannot run in a process of its own" in failures(shelf_of(folder).load())["greet"]


def test_there_is_no_switch_for_what_is_not_there(folder: Path):
    write_plugin(folder)
    shelf = shelf_of(folder)
    with pytest.raises(ConfigurationError, match=r"there is no plugin '\.\./x'; there are: hello"):
        shelf.switch("../x", on=False)
    with pytest.raises(ConfigurationError, match="the plugin hello has no tool 'gret'; it has: greet"):
        shelf.switch("hello", on=False, tool="gret")
