"""Where secrets come from: environment, encrypted file, keyring. None lists, none shows, each names what is missing."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import keyring.errors
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring

from callgate.errors import ConfigurationError, SecretNotFound, StoreError
from callgate.ports import SecretsStore
from callgate.secrets import private_files
from callgate.secrets.keys import KeyRing, open_keys, throwaway_keys
from callgate.secrets.sources import (
    EnvironmentSecrets,
    FileSecrets,
    KeyringSecrets,
    WritableSecrets,
    open_secrets,
)
from callgate.settings.values import SecretsSettings

VALUE = "s3cr3t-value/with+specials"


class MemoryKeyring(KeyringBackend):
    """A keyring of the real package that ends with the test."""

    priority = 1  # pyright: ignore[reportAssignmentType, reportIncompatibleVariableOverride]

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}
        super().__init__()  # pyright: ignore[reportUnknownMemberType]

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


class LockedKeyring(MemoryKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.KeyringLocked(VALUE)


@pytest.fixture
def use_keyring() -> Iterator[Any]:
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


@pytest.fixture
def keys() -> KeyRing:
    return throwaway_keys()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "secrets"


@pytest.fixture(params=["env", "file", "keyring"])
def store(
    request: pytest.FixtureRequest, path: Path, keys: KeyRing, monkeypatch: pytest.MonkeyPatch, use_keyring: Any
) -> SecretsStore:
    use_keyring(MemoryKeyring())
    opened = open_secrets(SecretsSettings(backend=request.param), keys, default_path=path)
    if isinstance(opened, WritableSecrets):
        opened.set_secret("github", "token", value=VALUE)
    else:
        monkeypatch.setenv("CALLGATE_SECRET_GITHUB_TOKEN", VALUE)
    return opened


@pytest.fixture(params=["file", "keyring"])
def writable(request: pytest.FixtureRequest, path: Path, keys: KeyRing, use_keyring: Any) -> WritableSecrets:
    use_keyring(MemoryKeyring())
    opened = open_secrets(SecretsSettings(backend=request.param), keys, default_path=path)
    assert isinstance(opened, WritableSecrets)
    return opened


def test_a_secret_is_found_by_connector_and_key(store: SecretsStore):
    assert store.get_secret("github", "token") == VALUE


@pytest.mark.requirement("SEC-03")
@pytest.mark.parametrize("pair", [("github", "other"), ("gitlab", "token")])
def test_an_unknown_pair_is_an_error_that_names_the_pair_and_no_value(store: SecretsStore, pair: tuple[str, str]):
    with pytest.raises(SecretNotFound) as caught:
        store.get_secret(*pair)
    assert "/".join(pair) in str(caught.value)
    assert VALUE not in str(caught.value)


@pytest.mark.requirement("SEC-03")
def test_a_store_offers_nothing_that_lists_or_dumps(store: SecretsStore):
    public = {name for name in dir(store) if not name.startswith("_")}
    assert public <= {"get_secret", "set_secret", "delete_secret"}
    for dump in (iter, len, dict, list):
        with pytest.raises(TypeError):
            dump(store)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownArgumentType]
    assert VALUE not in repr(store)
    assert VALUE not in repr(vars(store))


def test_the_environment_is_not_ours_to_write():
    assert not isinstance(EnvironmentSecrets(), WritableSecrets)


def test_a_store_that_can_be_written_forgets_what_is_deleted(writable: WritableSecrets):
    writable.set_secret("github", "token", value=VALUE)
    writable.set_secret("github", "token", value="another value")
    assert writable.get_secret("github", "token") == "another value"
    writable.delete_secret("github", "token")
    with pytest.raises(SecretNotFound):
        writable.get_secret("github", "token")
    with pytest.raises(SecretNotFound, match="github/token"):
        writable.delete_secret("github", "token")


def test_a_value_too_short_to_be_struck_is_refused_when_it_is_set(writable: WritableSecrets):
    with pytest.raises(ConfigurationError, match="github/pin has fewer than 4 characters"):
        writable.set_secret("github", "pin", value=" 12 ")


def test_a_file_that_was_never_made_has_no_secret(path: Path, keys: KeyRing):
    with pytest.raises(SecretNotFound, match="github/token; set it with: callgate secrets set github token"):
        FileSecrets(path, keys).get_secret("github", "token")
    path.parent.mkdir()
    with pytest.raises(SecretNotFound):
        FileSecrets(path, keys).get_secret("github", "token")


def test_an_unknown_backend_is_an_error(keys: KeyRing, path: Path):
    with pytest.raises(ConfigurationError, match=r"secrets\.backend: 'vault' is none of env, file, keyring"):
        open_secrets(SecretsSettings(backend="vault"), keys, default_path=path)


def test_the_settings_may_name_the_file(keys: KeyRing, path: Path, home: Path):
    settings = SecretsSettings(backend="file", path="~/elsewhere/secrets")
    store = open_secrets(settings, keys, default_path=path)
    assert isinstance(store, FileSecrets)
    store.set_secret("github", "token", value=VALUE)
    assert (home / "elsewhere" / "secrets").exists()


@pytest.mark.parametrize(
    ("connector", "key", "variable"),
    [
        ("github", "token", "CALLGATE_SECRET_GITHUB_TOKEN"),
        ("google-drive", "api.key", "CALLGATE_SECRET_GOOGLE_DRIVE_API_KEY"),
        ("a_b", "c", "CALLGATE_SECRET_A_B__C"),
        ("größe", "token", "CALLGATE_SECRET_GR_SSE_TOKEN"),
    ],
)
def test_names_become_variables(connector: str, key: str, variable: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(variable, VALUE)
    assert EnvironmentSecrets().get_secret(connector, key) == VALUE


def test_an_empty_variable_is_no_secret(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CALLGATE_SECRET_GITHUB_TOKEN", "")
    with pytest.raises(SecretNotFound, match="set CALLGATE_SECRET_GITHUB_TOKEN"):
        EnvironmentSecrets().get_secret("github", "token")


def test_a_pair_is_never_given_the_variable_of_another_pair(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CALLGATE_SECRET_A_B_C", VALUE)
    store = EnvironmentSecrets()
    assert store.get_secret("a_b", "c") == VALUE
    assert store.get_secret("A_B", "C") == VALUE
    for connector, key in (("a", "b_c"), ("a-b", "c")):
        with pytest.raises(ConfigurationError, match="CALLGATE_SECRET_A_B_C is the secret a_b/c") as caught:
            store.get_secret(connector, key)
        assert VALUE not in str(caught.value)


def test_two_underscores_tell_pairs_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CALLGATE_SECRET_A_B__C", "first value")
    monkeypatch.setenv("CALLGATE_SECRET_A__B_C", "second value")
    store = EnvironmentSecrets()
    assert store.get_secret("a_b", "c") == "first value"
    assert store.get_secret("a", "b_c") == "second value"


def test_the_file_is_private_and_shows_neither_names_nor_values(path: Path, keys: KeyRing):
    FileSecrets(path, keys).set_secret("github", "token", value=VALUE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    content = path.read_bytes()
    for shown in (b"github", b"token", VALUE.encode()):
        assert shown not in content


def test_the_file_opens_after_a_rotation_and_in_another_process(path: Path):
    old = open_keys(None, create=True)
    FileSecrets(path, old).set_secret("github", "token", value=VALUE)
    old.rotate()
    new = open_keys(old.store_key_id, create=False)
    FileSecrets(path, new).set_secret("github", "second", value=VALUE)
    assert FileSecrets(path, new).get_secret("github", "token") == VALUE


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty", "other key"])
def test_a_damaged_file_is_a_clear_error_and_is_never_overwritten(path: Path, keys: KeyRing, damage: str):
    FileSecrets(path, keys).set_secret("github", "token", value=VALUE)
    content = path.read_bytes()
    damaged = {
        "cut": content[:-1],
        "flipped": content[:-1] + bytes([content[-1] ^ 1]),
        "foreign": b"[secrets]\n",
        "empty": b"",
        "other key": content,
    }[damage]
    path.write_bytes(damaged)
    store = FileSecrets(path, throwaway_keys() if damage == "other key" else keys)
    for action in (
        lambda: store.get_secret("github", "token"),
        lambda: store.set_secret("github", "token", value="new value"),
        lambda: store.delete_secret("github", "token"),
    ):
        with pytest.raises(ConfigurationError, match=r"cannot be opened.* from a backup, or move") as caught:
            action()
        assert caught.value.file == str(path)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("content", [b"[]", b'{"github": "token"}', b"not json"])
def test_a_file_with_another_content_is_a_clear_error(path: Path, keys: KeyRing, content: bytes):
    FileSecrets(path, keys).set_secret("github", "token", value=VALUE)
    path.write_bytes(b"callgate-secrets-1\n" + keys.seal(content, bound_to=b"callgate/secrets file/1"))
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        FileSecrets(path, keys).get_secret("github", "token")


def test_a_file_that_others_may_read_is_refused(path: Path, keys: KeyRing):
    store = FileSecrets(path, keys)
    store.set_secret("github", "token", value=VALUE)
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        store.get_secret("github", "token")


def test_a_file_that_cannot_be_read_or_written_is_a_clear_error(tmp_path: Path, keys: KeyRing):
    (tmp_path / "file").write_text("not a folder")
    store = FileSecrets(tmp_path / "file" / "secrets", keys)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        store.get_secret("github", "token")
    with pytest.raises(StoreError, match="cannot be written"):
        store.set_secret("github", "token", value=VALUE)


def test_writers_at_the_same_time_lose_nothing(path: Path, keys: KeyRing):
    def write(number: int) -> None:
        for step in range(5):
            FileSecrets(path, keys).set_secret(f"connector{number}", f"key{step}", value=f"value {number} {step}")

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=30)
    store = FileSecrets(path, keys)
    found = [store.get_secret(f"connector{number}", f"key{step}") for number in range(4) for step in range(5)]
    assert found == [f"value {number} {step}" for number in range(4) for step in range(5)]


def test_a_writer_that_does_not_end_is_not_waited_for_for_ever(
    path: Path, keys: KeyRing, monkeypatch: pytest.MonkeyPatch
):
    import fcntl  # noqa: PLC0415 - the lock this test holds

    monkeypatch.setattr("callgate.secrets.private_files._LOCK_SECONDS", 0.05)
    place = path.parent / ".secrets.writing"
    place.mkdir(parents=True)
    with (place / "secrets.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="another process has been writing it"):
            FileSecrets(path, keys).set_secret("github", "token", value=VALUE)
    FileSecrets(path, keys).set_secret("github", "token", value=VALUE)


def test_what_is_being_written_lies_in_a_folder_of_its_own(path: Path, keys: KeyRing, monkeypatch: pytest.MonkeyPatch):
    """So that it can be kept from programs before it is there; the same holds for the lock."""
    seen: list[str] = []
    fsync = os.fsync

    def look(handle: int) -> None:
        seen.extend(str(entry.relative_to(path.parent)) for entry in path.parent.rglob("*") if entry.is_file())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    FileSecrets(path, keys).set_secret("github", "token", value=VALUE)
    assert len({name.partition("/")[2] for name in seen}) > 2
    assert {name.partition("/")[0] for name in seen} == {".secrets.writing", "secrets"}


def test_a_folder_to_write_in_that_is_taken_away_meanwhile_is_made_again(
    path: Path, keys: KeyRing, monkeypatch: pytest.MonkeyPatch
):
    left = [3]
    make = private_files.make_private_folder

    def make_and_lose(place: Path) -> None:
        make(place)
        if place.name.endswith(".writing") and left[0]:
            left[0] -= 1
            place.rmdir()

    monkeypatch.setattr(private_files, "make_private_folder", make_and_lose)
    FileSecrets(path, keys).set_secret("github", "token", value=VALUE)
    assert left == [0]
    left[0] = 1000
    with pytest.raises(StoreError, match="cannot be written"):
        FileSecrets(path, keys).set_secret("github", "token", value="another value")
    assert FileSecrets(path, keys).get_secret("github", "token") == VALUE


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from callgate.secrets.keys import open_keys
from callgate.secrets.sources import FileSecrets
store = FileSecrets(Path(sys.argv[1]), open_keys(None, create=True))
store.set_secret("github", "token", value="the old value")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
try:
    store.set_secret("github", "token", value="the new value")
except Exception as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    print(type(error).__name__, store.get_secret("github", "token"))
"""


def test_a_full_disk_leaves_the_old_file_as_it_was(path: Path):
    program = [sys.executable, "-c", FULL_DISK, str(path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "StoreError the old value\n"
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".secrets.writing", "secrets"]
    assert [entry.name for entry in (path.parent / ".secrets.writing").iterdir()] == ["secrets.lock"]


WRITER = """
import sys
from pathlib import Path
from callgate.secrets.keys import open_keys
from callgate.secrets.sources import FileSecrets
store = FileSecrets(Path(sys.argv[1]), open_keys(None, create=True))
for number in range(100000):
    store.set_secret("github", "token", value=f"value number {number}")
    print(number, flush=True)
"""


@pytest.mark.crash
def test_a_killed_writer_leaves_a_whole_file_with_what_it_acknowledged(path: Path):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        acknowledged = [writer.stdout.readline() for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += writer.stdout.read().split()
    keys = open_keys(None, create=False)
    kept = int(FileSecrets(path, keys).get_secret("github", "token").rsplit(" ", 1)[1])
    assert kept >= max(int(number) for number in acknowledged)
    FileSecrets(path, keys).set_secret("github", "token", value=VALUE)


def test_without_the_package_keyring_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigurationError, match=r'pip install "callgate\[keyring\]"'):
        KeyringSecrets().get_secret("github", "token")


def test_a_system_without_a_keyring_is_a_clear_error(use_keyring: Any):
    use_keyring(NoKeyring())
    with pytest.raises(ConfigurationError, match="this system has no keyring"):
        KeyringSecrets().get_secret("github", "token")


def test_a_locked_keyring_is_a_clear_error_that_repeats_nothing(use_keyring: Any):
    use_keyring(LockedKeyring())
    with pytest.raises(ConfigurationError, match="KeyringLocked") as caught:
        KeyringSecrets().get_secret("github", "token")
    assert VALUE not in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_file_that_could_not_be_read_again_is_not_written(tmp_path: Path):
    secrets = FileSecrets(tmp_path / "secrets.sealed", throwaway_keys())
    secrets.set_secret("bank", "token", value="the one that counts")
    large = "\U0001f511" * 2_000_000
    secrets.set_secret("x", "1", value=large)
    with pytest.raises(ConfigurationError, match="could not be read again"):
        secrets.set_secret("x", "2", value=large * 2)
    assert secrets.get_secret("bank", "token") == "the one that counts"
    secrets.delete_secret("x", "1")


@pytest.mark.parametrize(("one", "other"), [("strasse", "stra\u00dfe"), ("finance", "\ufb01nance"), ("is", "\u0131s")])
def test_letters_with_the_same_capitals_are_another_name(monkeypatch: pytest.MonkeyPatch, one: str, other: str):
    monkeypatch.setenv(f"CALLGATE_SECRET_{one.upper()}_TOKEN", "the secret of one")
    secrets = EnvironmentSecrets()
    assert secrets.get_secret(one, "token") == secrets.get_secret(one.title(), "token") == "the secret of one"
    with pytest.raises(ConfigurationError, match=f"is the secret {one}/token"):
        secrets.get_secret(other, "token")
