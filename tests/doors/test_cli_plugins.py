"""`callgate plugins`: list, new, check, enable, disable, reload."""

from __future__ import annotations

import pytest

from tests.doors.running import Cli
from tests.plugin_folders import tool_entry, write_plugin


@pytest.fixture(autouse=True)
def configured(cli: Cli) -> None:
    (cli.folder / "callgate.yaml").write_text("plugins: {folders: [plugins], accept: [hello]}\n")


@pytest.mark.requirement("PLG-16")
def test_a_new_plugin_loads_as_it_stands_and_can_be_called(cli: Cli):
    assert cli("plugins", "list").err == "no plugins are there yet; make one with: callgate plugins new NAME\n"
    done = cli("plugins", "new", "hello")
    assert (done.code, f"made {cli.folder / 'plugins' / 'hello'}" in done.out) == (0, True)
    done = cli("plugins", "check")
    assert (done.code, done.err, done.out.splitlines()[-1]) == (0, "", "every plugin loads")
    assert cli("call", "hello_greet", '{"name": "you"}', "--json").body["output"] == "Hello, you!"
    assert "hello_greet" in cli("tools", "list").out
    again = cli("plugins", "new", "hello")
    assert (again.code, "is there already" in again.err) == (2, True)
    assert cli("plugins", "new", "../x").code == 2
    assert cli("plugins", "new", "more", "--json").body["plugin"] == "more"


def test_a_listing_runs_no_code_and_tells_how_each_stands(cli: Cli):
    folder = cli.folder / "plugins"
    for name in ("hello", "other", "off"):
        write_plugin(folder, name, code="raise RuntimeError", enabled=name != "off", tools=[tool_entry(f"{name}_x")])
    (write_plugin(folder, "broken") / "manifest.json").write_text("{")
    done = cli("plugins", "list")
    rows = {line.split()[0]: line for line in done.out.splitlines()}
    assert (" on " in rows["hello"], "not accepted" in rows["other"], " off " in rows["off"]) == (True, True, True)
    assert "broken: broken/manifest.json: cannot be read" in done.err
    body = {state["name"]: state for state in cli("plugins", "list", "--json").body["plugins"]}
    assert (body["hello"]["accepted"], body["other"]["accepted"], body["off"]["enabled"]) == (True, False, False)


def test_checking_tells_what_is_wrong_and_fails(cli: Cli):
    folder = cli.folder / "plugins"
    write_plugin(folder, code="print('hello there')\nraise RuntimeError('no power')")
    write_plugin(folder, "fine", tools=[tool_entry("other")])
    done = cli("plugins", "check")
    assert (done.code, "greet: tools.py cannot be imported: RuntimeError: no power" in done.err) == (1, True)
    assert cli("plugins", "check", "fine").code == 0
    assert "hello there" not in cli("plugins", "check", "fine").err
    body = cli("plugins", "check", "hello", "--json").body
    assert (body["ok"], [failure["name"] for failure in body["failures"]]) == (False, ["greet"])
    assert cli("plugins", "check", "nobody").code == 2


@pytest.mark.requirement("PLG-10")
def test_what_is_switched_off_stays_off(cli: Cli):
    write_plugin(cli.folder / "plugins", tools=[tool_entry(), tool_entry("other")])
    assert cli("plugins", "disable", "hello", "--tool", "greet").out == "greet of hello is off\n"
    assert cli("call", "greet", '{"name": "you"}').code == 3
    assert cli("call", "other", '{"name": "you"}').code == 0
    assert cli("plugins", "disable", "hello").out == "hello is off\n"
    assert cli("call", "other", '{"name": "you"}').code == 3
    body = cli("plugins", "enable", "hello", "--json").body
    assert [tool["enabled"] for tool in body["tools"]] == [False, True]
    assert cli("call", "other", '{"name": "you"}').code == 0
    assert "there is no plugin 'nobody'" in cli("plugins", "enable", "nobody").err


def test_reloading_checks_and_leaves_a_mark_for_gates_that_watch(cli: Cli):
    write_plugin(cli.folder / "plugins")
    assert cli("plugins", "reload").code == 0
    assert (cli.folder / ".callgate" / "plugins" / ".reload").is_file()
    write_plugin(cli.folder / "plugins", code="raise RuntimeError")
    assert cli("plugins", "reload").code == 1


def test_without_folders_the_line_to_add_is_told(cli: Cli):
    (cli.folder / "callgate.yaml").write_text("")
    done = cli("plugins", "list")
    assert (done.code, "add to callgate.yaml: plugins: {folders: [plugins]}" in done.err) == (2, True)


def test_a_policy_is_checked_beside_the_tools_of_plugins(cli: Cli):
    write_plugin(cli.folder / "plugins")
    (cli.folder / "callgate.yaml").write_text(
        "plugins: {folders: [plugins], accept: [hello]}\nglobal: {deny: [greet]}\n"
    )
    assert cli("policy", "check").code == 0
    (cli.folder / "cases.yaml").write_text("- {tool: greet, arguments: {name: you}, expect: deny}\n")
    assert cli("policy", "test", "cases.yaml").code == 0


def test_what_fails_of_a_plugin_is_told_with_every_command_that_needs_tools(cli: Cli):
    write_plugin(cli.folder / "plugins")
    write_plugin(cli.folder / "plugins", "broken", code="raise RuntimeError", tools=[tool_entry("other")])
    done = cli("tools", "list")
    assert (done.code, "plugins: other: tools.py cannot be imported" in done.err) == (0, True)
    assert cli("plugins", "check", "hello").out.splitlines()[-1] == "every plugin loads"


def test_looking_at_the_record_runs_no_plugin(cli: Cli):
    write_plugin(cli.folder / "plugins")
    assert cli("call", "greet", '{"name": "you"}').code == 0
    write_plugin(cli.folder / "plugins", code="raise RuntimeError")
    assert cli("audit", "calls").code == 0
