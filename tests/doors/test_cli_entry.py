"""Where the command line begins and ends: quick to start, one line for every fault, a code for every end."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import callgate
from callgate import errors
from callgate.cli import entry, trouble
from callgate.cli.exit_codes import ExitCode, code_of_error
from callgate.cli.streams import as_answer
from tests.doors.running import ROOT, TOOLS, Cli, environment, start
from tests.needed import missing

PAGE = (ROOT / "docs" / "cli.md").read_text()
HEAVY = ("asyncio", "sqlite3", "pydantic", "cryptography", "yaml", "jsonschema_rs", "callgate.runtime.gate")


def commands(command: click.Command, *words: str) -> list[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return [(" ".join(words), command)]
    context = click.Context(command)
    below = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
    return [found for name, inner in below if inner is not None for found in commands(inner, *words, name)]


COMMANDS = commands(entry.root)


def test_the_version_is_told_without_loading_anything_heavy():
    code = (
        "import sys; before = set(sys.modules)\n"
        "from callgate.cli.entry import run; run(['--version'])\n"
        f"print(set({HEAVY}) & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == f"callgate {callgate.__version__}\nset()\n"


def test_the_installed_command_and_the_module_are_the_same(tmp_path: Path):
    script = Path(sys.executable).parent / "callgate"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True, timeout=30, cwd=tmp_path)
    assert done.stdout == start("--version", cwd=tmp_path).out


def test_help_lists_every_command_and_the_exit_codes(cli: Cli):
    done = cli("--help")
    assert done.code == 0
    for name in entry.root.list_commands(click.Context(entry.root)):
        assert f"\n  {name} " in done.out
    assert "7 audit broken" in re.sub(r"\s+", " ", done.out)


def test_alone_it_shows_the_help_and_is_a_usage_error(cli: Cli):
    done = cli()
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: callgate")


@pytest.mark.parametrize("path", [path for path, _ in COMMANDS])
def test_every_command_has_help_and_refuses_an_unknown_option_in_one_line(cli: Cli, path: str):
    assert cli(*path.split(), "--help").code == 0
    done = cli(*path.split(), "--no-such-option")
    assert done.code == 2
    assert done.err.startswith("callgate: No such option")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("path", [path for path, command in COMMANDS if "as_json" in {p.name for p in command.params}])
def test_with_json_a_usage_error_is_a_document_too(cli: Cli, path: str):
    done = cli(*path.split(), "--json", "--no-such-option")
    assert done.code == 2
    assert done.body["ok"] is False
    assert done.body["error"]["exit_code"] == 2


def test_no_command_approves_by_itself():
    names = {option for _, command in COMMANDS for param in command.params for option in param.opts}
    assert names.isdisjoint({"--yes", "-y", "--approve", "--auto-approve", "--force"})


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_the_page_documents_every_command_and_option(path: str, command: click.Command):
    section = re.search(rf"^### `callgate {re.escape(path)}[ `].*?(?=^##)", PAGE + "\n##", re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/cli.md has no section for callgate {path}"
    shared = {"--store", "--config", "--module", "--json"}
    for param in command.params:
        for option in set(param.opts) - shared if isinstance(param, click.Option) else ():
            assert f"`{option}" in section[0], f"docs/cli.md: callgate {path} lacks {option}"


def test_the_page_documents_every_exit_code():
    told = re.findall(r"^\| (\d+) \| \w.* \|$", PAGE, re.MULTILINE)
    assert [int(code) for code in told] == [int(code) for code in ExitCode]


def test_every_error_has_its_exit_code():
    found = {
        errors.ConfigurationError: ExitCode.USAGE,
        errors.KeyMissing: ExitCode.STORE,
        errors.PolicyDenied: ExitCode.REFUSED,
        errors.ApprovalConflict: ExitCode.REFUSED,
        errors.StoreError: ExitCode.STORE,
        errors.StoreUnavailable: ExitCode.STORE,
        errors.AuditBroken: ExitCode.AUDIT_BROKEN,
        errors.ToolExecutionError: ExitCode.FAILED,
        errors.ToolOutcomeUnknown: ExitCode.UNKNOWN,
    }
    for kind, code in found.items():
        assert code_of_error(kind("x")) is code


def test_a_fault_of_our_own_is_one_line_and_a_traceback_only_when_asked_for(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(entry.root, "invoke", fail)
    quiet = cli("tools", "list")
    assert quiet.code == 70
    assert quiet.err.startswith("callgate: a fault in callgate itself (RuntimeError: a bug)")
    assert "Traceback" not in quiet.err
    monkeypatch.setenv(trouble.DEBUG, "1")
    assert "Traceback" in cli("tools", "list").err


FULL = Path("/dev/full")


def shell(cli: Cli, line: str) -> subprocess.CompletedProcess[str]:
    """The command line as a shell starts it, with what the line does to its streams."""
    if "/dev/full" in line and not FULL.exists():
        missing("no device that is always full")
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m callgate {line}', sys.executable],
        cwd=cli.folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("out", [">/dev/full", ">&-"])
def test_a_call_whose_answer_cannot_be_written_says_that_it_was_made(cli: Cli, out: str):
    for more in ("", " --json"):
        done = shell(cli, f"""call word_count '{{"text": "a b"}}' --module {TOOLS}{more} {out}""")
        assert done.returncode == 74, done
        assert done.stderr.startswith("callgate: the answer could not be written on stdout (")
        assert "word_count was made and ended as succeeded, call " in done.stderr
        (line,) = done.stderr.splitlines()
        call_id = line.rpartition("audit show ")[2]
        assert cli("audit", "show", call_id, "--json").body["invocation"]["success"]


@pytest.mark.parametrize("line", ["tools list", "tools list --json", "tokens agent bot --by ann", "audit export -"])
def test_an_answer_that_cannot_be_written_is_told_as_that(cli: Cli, line: str):
    assert cli.call("word_count", {"text": "a b"}).code == 0
    for out in (">/dev/full", ">&-"):
        done = shell(cli, f"{line} --module {TOOLS} {out}")
        assert done.returncode == 74, done
        assert "callgate: the answer could not be written on stdout (" in done.stderr
        assert "fault" not in done.stderr
        assert "Traceback" not in done.stderr


def test_an_error_of_a_click_that_names_its_streams_otherwise_stays_what_it_is(monkeypatch: pytest.MonkeyPatch):
    def echo() -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(click, "echo", echo)
    with pytest.raises(OSError, match="full") as met:
        echo()
    assert as_answer(met.value) is met.value


@pytest.mark.parametrize("line", ["--help", "-h", "call --help", "tools list --help", "--version"])
def test_help_that_cannot_be_written_is_told_as_that(cli: Cli, line: str):
    for out in (">/dev/full", ">&-"):
        done = shell(cli, f"{line} {out}")
        assert done.returncode == 74, done
        (told,) = done.stderr.splitlines()
        assert told.startswith("callgate: the answer could not be written on stdout (")


def test_a_file_that_a_command_cannot_write_is_not_taken_for_stdout(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fail_on_stderr(*_: object) -> None:
        class Full:
            write = flush = fail

        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", Full())
            click.echo("a question", err=True)

    for broken in (fail, fail_on_stderr):
        monkeypatch.setattr(entry.root, "invoke", broken)
        assert "on stdout" not in cli("tools", "list").err


def test_where_nothing_can_be_said_at_all_the_exit_code_says_it(cli: Cli):
    for streams, code in (
        (">/dev/full 2>/dev/full", 74),
        (">&- 2>&-", 74),
        ("<&- >&- 2>&-", 74),
        ("2>&-", 0),
        ("2>/dev/full", 0),
    ):
        done = shell(cli, f"tools list --module {TOOLS} {streams}")
        assert (done.returncode, done.stderr) == (code, ""), streams
    assert shell(cli, "nonsense 2>/dev/full").returncode == 74


def test_an_error_with_hidden_characters_shows_them(cli: Cli):
    done = cli("tools", "show", "a\u202e\x1b[2J")
    assert done.code == 2
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err


def test_a_reader_that_has_seen_enough_is_no_error(cli: Cli):
    words = [sys.executable, "-m", "callgate", "policy", "schema"]
    with subprocess.Popen(
        words, cwd=cli.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as done:
        assert done.stdout is not None
        assert done.stderr is not None
        done.stdout.close()
        assert done.stderr.read() == b""
    assert done.returncode == 0


def test_text_that_the_terminal_cannot_spell_does_not_end_the_command(cli: Cli):
    done = start("call", "hidden", "--module", TOOLS, cwd=cli.folder, PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert "\\u65e5" in done.out


def test_a_shell_can_ask_how_a_word_goes_on(cli: Cli):
    done = start(cwd=cli.folder, _CALLGATE_COMPLETE="bash_complete", COMP_WORDS="callgate app", COMP_CWORD="1")
    assert done.out == "plain,approvals\n"


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("callgate approvals re", ["reject", "respond"]),
        ("callgate policy show --", ["--role", "--tool", "--store", "--config", "--module", "--json", "--help"]),
        ("callgate health --span ", ["1h", "24h", "7d"]),
        ("callgate call word_count --autonomy A", ["A0", "A1", "A2", "A3", "A4"]),
    ],
)
def test_bash_completes_commands_options_and_values_and_nothing_is_opened(cli: Cli, typed: str, found: list[str]):
    script = (
        'eval "$(_CALLGATE_COMPLETE=bash_source callgate)"; complete -p callgate >/dev/null || exit 9; '
        'IFS=" " read -r -a COMP_WORDS <<< "$1"; [[ "$1" == *" " ]] && COMP_WORDS+=(""); '
        'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _callgate_completion callgate; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    folder = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", typed],
        cwd=cli.folder,
        env=environment(PATH=f"{folder}{os.pathsep}{os.environ['PATH']}"),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert sorted(done.stdout.split()) == sorted(found)
    assert list(cli.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("shell", "mark"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef callgate"), ("fish", "complete --no-files")],
)
def test_every_shell_of_the_page_is_told_how_to_ask(cli: Cli, shell: str, mark: str):
    assert f"_CALLGATE_COMPLETE={shell}_source" in PAGE
    assert mark in start(cwd=cli.folder, _CALLGATE_COMPLETE=f"{shell}_source").out


@pytest.mark.parametrize("words", [["--json", "tools", "list"], ["tools", "list", "--json"]])
def test_json_can_be_asked_for_before_the_command_and_after_it(cli: Cli, words: list[str]):
    assert cli("--module", TOOLS, *words).body["tools"][0]["name"] == "word_count"
    wrong = cli(*words, "--no-such-option")
    assert (wrong.code, wrong.body["error"]["code"]) == (2, "usage")


def test_a_command_that_prints_no_document_says_so(cli: Cli):
    done = cli("--json", "demo", "--fast")
    assert done.code == 2
    assert "prints no JSON" in done.err


def test_options_before_the_command_count_too(cli: Cli):
    done = cli("--module", TOOLS, "--store", "mine.db", "call", "word_count", '{"text": "a"}', "--json")
    assert json.loads(done.out)["output"] == 1
    assert Path("mine.db").exists()
