"""Searches of hosts: what no tool may touch is not read by searching the folder that holds it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.runtime.host_globs import Chosen
from tests.doors.hooks.host import CursorRun, HostRun
from tests.needed import missing

MARK = "approver-of-last-resort"
RIPGREP = Path(sys.prefix) / "bin" / "rg"


@pytest.fixture
def marked(project: Path) -> Path:
    (project / "callgate.yaml").write_text(f"version: 1 # {MARK}\n")
    (project / ".mcp.json").write_text(f'{{"mcpServers": {{"a": {{"env": {{"TOKEN": "{MARK}"}}}}}}}}')
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text(f"# {MARK}\n")
    return project


@pytest.fixture
def ripgrep() -> None:
    if not RIPGREP.exists():
        missing("ripgrep is not here; run make setup")


def found(host: HostRun, use: str, **chosen: str) -> set[str]:
    """The files in which the host's search finds the mark, where the gate lets it search."""
    decision = host.before("Grep", {"pattern": MARK, "output_mode": "content", **chosen}, use)
    if decision["permissionDecision"] != "allow":
        assert "leaves them out" in decision["permissionDecisionReason"]
        return set()
    words = [str(RIPGREP), "--hidden", "--no-ignore", "-l", MARK]
    words += [f"--glob={chosen['glob']}"] if "glob" in chosen else []
    words += [f"--type={chosen['type']}"] if "type" in chosen else []
    done = subprocess.run(
        [*words, chosen.get("path", ".")], cwd=host.folder, capture_output=True, text=True, check=False
    )
    return {Path(line).name for line in done.stdout.splitlines()}


@pytest.mark.usefixtures("ripgrep")
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"path": "."},
        {"glob": "*.yaml"},
        {"glob": "*"},
        {"glob": "**/*.{py,yaml}"},
        {"glob": "CALLGATE.*"},
        {"glob": "*.json"},
        {"glob": "!*.py"},
        {"glob": "call[g]ate.yaml"},
        {"type": "yaml"},
        {"type": "json"},
        {"glob": "*.yaml", "type": "py"},
        {"glob": "*", "type": "py"},
        {"glob": "#x"},
        {"glob": "!callgate.yaml"},
        {"glob": "!{callgate.yaml,.mcp.json} *.yaml"},
        {"glob": "!{callgate.yaml,.mcp.json,.callgate/**}"},
        {"glob": "!{Callgate.yaml,.mcp.json,.callgate}"},
        {"glob": "!call[g]ate.yaml"},
    ],
    ids=str,
)
def test_a_search_of_the_whole_does_not_read_what_is_out_of_reach(host: HostRun, marked: Path, chosen: dict[str, str]):
    assert marked.is_dir()
    assert found(host, "1", **chosen) == set()


@pytest.mark.usefixtures("ripgrep")
@pytest.mark.parametrize(
    "chosen",
    [
        {"path": "src"},
        {"glob": "*.py"},
        {"glob": "**/*.{py,js}"},
        {"type": "py"},
        {"path": "src", "glob": "*"},
        {"glob": "!{callgate.yaml,.mcp.json,.callgate}"},
        {"glob": "!{callgate.yaml,.mcp.json,.callgate}", "type": "py"},
        {"glob": "!{*.yaml,*.json,.callgate*}"},
    ],
    ids=str,
)
def test_a_search_that_leaves_it_out_goes_on(host: HostRun, marked: Path, chosen: dict[str, str]):
    assert marked.is_dir()
    assert found(host, "1", **chosen) == {"a.py"}


@pytest.mark.usefixtures("ripgrep")
@pytest.mark.parametrize("chosen", [{}, {"path": "."}, {"glob": "*.yaml"}], ids=str)
def test_the_glob_that_is_advised_works(host: HostRun, marked: Path, chosen: dict[str, str]):
    (marked / ".claude").mkdir()
    (marked / ".claude" / "settings.json").write_text(MARK)
    (marked / "service" / ".callgate").mkdir(parents=True)
    (marked / "service" / ".callgate" / "callgate.db").write_text(MARK)
    no = host.before("Grep", {"pattern": MARK, **chosen}, "1")
    assert no["permissionDecision"] == "deny"
    told = no["permissionDecisionReason"]
    assert "Do not retry" not in told
    assert "argument" not in told, "nobody sent one that is called so"
    advised = re.search(r'glob: "([^"]+)"', told)
    assert advised, told
    assert advised[1] == "!{.callgate,.claude,.mcp.json,callgate.yaml}"
    assert found(host, "2", **{**chosen, "glob": advised[1]}) == {"a.py"}


def test_a_search_that_says_no_pattern_is_told_that(host: HostRun, marked: Path):
    assert marked.is_dir()
    told = host.before("Grep", {"path": "."}, "1")["permissionDecisionReason"]
    assert "pattern" in told
    assert "glob" not in told


def test_it_holds_for_other_hosts_and_says_which_files(cursor: CursorRun, marked: Path):
    assert marked.is_dir()
    no = cursor.use("Grep", {"pattern": "x"}, "1")
    assert no["permission"] == "deny"
    assert re.search(r"own files.*: .*callgate\.yaml", no["agent_message"])
    assert cursor.use("Grep", {"pattern": "x", "path": "src"}, "2")["permission"] == "allow"
    assert cursor.use("Grep", {"pattern": "x", "glob": "{" * 3 + "a,b}" * 70}, "3")["permission"] == "deny"
    assert cursor.use("Grep", {"pattern": "x", "glob": "{a,b}" * 8}, "4")["permission"] == "deny", "too many to look at"


@pytest.mark.parametrize(
    "pattern",
    ["{/etc,src}/*", "{,src}/etc/*", "{a,{b,/etc}}/*", "{/etc}/*", "src/{a,../../b}/*", "@(/etc|src)/*", "{a,b}" * 10],
)
def test_a_pattern_with_braces_is_judged_by_each_of_its_words(host: HostRun, pattern: str):
    assert host.before("Glob", {"pattern": pattern}, "1")["permissionDecision"] == "deny"
    assert host.before("Glob", {"pattern": "{src,tests}/*.{py,md}"}, "2")["permissionDecision"] == "allow"


@pytest.mark.parametrize("glob", ["," * 3_000 + "}", "*.py" + " " * 2_000 + "*.py"], ids=["commas", "blanks"])
def test_a_glob_that_is_too_long_to_read_leaves_nothing_out(glob: str, host: HostRun, marked: Path):
    assert not Chosen(glob, "py").leaves_out(["callgate.yaml"])
    assert host.before("Grep", {"pattern": MARK, "glob": glob, "type": "py"})["permissionDecision"] == "deny"
