"""`callgate secrets`: kept where the configuration says, read from a prompt or stdin, never shown."""

import io
from pathlib import Path

import pytest

from tests.doors.running import TOOLS, Cli, Terminal, start

VALUE = "correct horse battery staple"


@pytest.fixture
def kept(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A place whose secrets are kept in a file."""
    Path("callgate.yaml").write_text("version: 1\nsecrets: {backend: file, path: secrets.sealed}\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(VALUE + "\n"))
    return cli


def test_a_value_from_stdin_is_kept_sealed_and_never_shown(kept: Cli):
    done = kept("secrets", "set", "bank", "token")
    assert (done.code, done.out) == (0, "kept: bank/token\n")
    assert VALUE not in done.out + done.err
    assert VALUE.encode() not in Path("secrets.sealed").read_bytes()
    check = kept("secrets", "check", "bank", "token")
    assert (check.code, check.out) == (0, "there is a value for bank/token\n")


def test_a_deleted_value_is_gone(kept: Cli):
    kept("secrets", "set", "bank", "token", "--json")
    assert kept("secrets", "delete", "bank", "token", "--json").body == {
        "connector": "bank",
        "key": "token",
        "done": "deleted",
    }
    check = kept("secrets", "check", "bank", "token", "--json")
    assert (check.code, check.body["found"]) == (1, False)
    again = kept("secrets", "delete", "bank", "token")
    assert again.code == 2
    assert "there is no secret bank/token" in again.err


def test_a_value_is_never_taken_from_the_command_line(kept: Cli):
    done = kept("secrets", "set", "bank", "token", VALUE)
    assert done.code == 2
    assert "unexpected extra argument" in done.err


def test_values_of_the_environment_are_found_and_not_written(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    missing = cli("secrets", "check", "bank", "token")
    assert missing.code == 1
    assert "set CALLGATE_SECRET_BANK_TOKEN" in missing.err
    monkeypatch.setenv("CALLGATE_SECRET_BANK_TOKEN", VALUE)
    assert cli("secrets", "check", "bank", "token").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(VALUE))
    for words in (["set", "bank", "token"], ["delete", "bank", "token"]):
        done = cli("secrets", *words)
        assert done.code == 2
        assert "secrets: {backend: file}" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "stdin is empty"), ("\n", "stdin is empty"), ("abc", "bank/token"), ("x" * 70_000, "at most 65536")],
)
def test_values_that_cannot_be_kept_are_complained_of(kept: Cli, text: str, said: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    done = kept("secrets", "set", "bank", "token")
    assert done.code == 2
    assert said in done.err
    assert not Path("secrets.sealed").exists()


@pytest.mark.parametrize("words", [["set"], ["set", "bank"], ["delete"], ["check", "bank"], ["check", " ", "x"]])
def test_missing_words_are_usage_errors(kept: Cli, words: list[str]):
    assert kept("secrets", *words).code == 2


def test_a_damaged_file_is_told_and_left_alone(kept: Cli):
    Path("secrets.sealed").write_bytes(b"callgate-secrets-1\nnonsense")
    Path("secrets.sealed").chmod(0o600)
    start("call", "x", cwd=kept.folder)
    for words in (["check", "bank", "token"], ["set", "bank", "token"]):
        done = kept("secrets", *words)
        assert done.code in {2, 6}
        assert "Traceback" not in done.err
    assert Path("secrets.sealed").read_bytes() == b"callgate-secrets-1\nnonsense"


@pytest.mark.slow
def test_at_a_terminal_the_value_is_asked_for_and_not_echoed(kept: Cli):
    with Terminal("secrets", "set", "bank", "token", cwd=kept.folder) as terminal:
        terminal.expect("value for bank/token: ")
        terminal.type(f"{VALUE}\n")
        terminal.expect("Repeat for confirmation: ")
        terminal.type(f"{VALUE}\n")
        assert terminal.end() == 0
        assert VALUE not in terminal.seen
    assert kept("secrets", "check", "bank", "token").code == 0


def test_a_missing_root_key_has_one_exit_code_wherever_it_is_missed(
    kept: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("sys.stdin", io.StringIO(VALUE))
    assert kept("secrets", "set", "bank", "token").code == 0
    assert kept.call("word_count", {"text": "a"}).code == 0
    monkeypatch.setenv("CALLGATE_KEY", "ab" * 32)
    looking = [["audit", "verify"], ["outcomes", "list"], ["secrets", "check", "bank", "token"]]
    for words in (*looking, ["secrets", "delete", "bank", "token"], ["call", "word_count", "--module", TOOLS]):
        done = kept(*words, "--json")
        assert (done.code, done.body["error"]["code"]) == (6, "key_missing"), words
    monkeypatch.delenv("CALLGATE_KEY")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody"))
    assert kept("secrets", "check", "bank", "token").code == 6


def test_before_the_first_secret_there_is_none_and_no_key_is_missed(kept: Cli):
    done = kept("secrets", "check", "bank", "token")
    assert done.code == 1
    assert "callgate secrets set bank token" in done.err


def test_a_value_that_is_no_text_is_refused(kept: Cli, monkeypatch: pytest.MonkeyPatch):
    for errors in ("strict", "surrogateescape"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"abc\xff\xfedef"), "utf-8", errors))
        done = kept("secrets", "set", "bank", "token")
        assert done.code == 2
        assert "is no UTF-8" in done.err
    assert not Path("secrets.sealed").exists()
