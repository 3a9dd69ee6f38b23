"""Root keys: where they are, who may read them, races, rotation, and that none is ever made in another's place."""

import base64
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.errors import ConfigurationError, KeyMissing, StoreError
from callgate.events.signature import fits
from callgate.secrets.keys import open_keys

MATERIAL = bytes(range(200, 232))
SPELLINGS = [
    MATERIAL.hex(),
    MATERIAL.hex().upper(),
    base64.b64encode(MATERIAL).decode(),
    base64.b64encode(MATERIAL).decode().rstrip("="),
    base64.urlsafe_b64encode(MATERIAL).decode(),
    base64.urlsafe_b64encode(MATERIAL).decode().rstrip("="),
    f"  {MATERIAL.hex()}\n",
]


@pytest.fixture
def folder(home: Path) -> Path:
    return home / ".config" / "callgate" / "keys"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run(program: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def test_the_first_key_is_made_private_in_the_users_config_folder(folder: Path):
    keys = open_keys(None, create=True)
    assert [path.name for path in folder.iterdir()] == ["root-0001.key"]
    assert mode(folder) == 0o700
    assert mode(folder / "root-0001.key") == 0o600
    assert keys.anchor_folder == folder.parent / "anchors"
    assert open_keys(keys.store_key_id, create=False).mac(b"data") == keys.mac(b"data")


def test_a_key_is_made_private_whatever_the_umask(folder: Path):
    before = os.umask(0)
    try:
        open_keys(None, create=True)
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert mode(folder / "root-0001.key") == 0o600


def test_without_an_absolute_config_folder_the_one_in_the_home_is_taken(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.chdir(tmp_path)
    open_keys(None, create=True)
    assert (home / ".config" / "callgate" / "keys" / "root-0001.key").exists()
    assert list(tmp_path.iterdir()) == []


def test_another_folder_can_be_named(tmp_path: Path):
    keys = open_keys(None, tmp_path / "deep" / "place", create=True)
    assert (tmp_path / "deep" / "place" / "keys" / "root-0001.key").exists()
    assert keys.anchor_folder == tmp_path / "deep" / "place" / "anchors"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_variable_holds_32_bytes_in_hex_or_base64(spelling: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CALLGATE_KEY", MATERIAL.hex())
    expected = open_keys(None, create=True)
    monkeypatch.setenv("CALLGATE_KEY", spelling)
    keys = open_keys(expected.store_key_id, create=False)
    assert keys.mac(b"data") == expected.mac(b"data")
    assert keys.anchor_folder == folder.parent / "anchors"
    assert not folder.exists()


@pytest.mark.parametrize(
    "wrong",
    ["", " ", "hunter2hunter2", MATERIAL[:31].hex(), MATERIAL.hex() + "00", "g" * 64, "é" * 43, MATERIAL.hex() + ","],
)
def test_anything_else_in_the_variable_is_an_error_that_does_not_repeat_it(
    wrong: str, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CALLGATE_KEY", wrong)
    with pytest.raises(ConfigurationError, match=r"CALLGATE_KEY: must be 32 random bytes in hex or base64") as caught:
        open_keys(None, create=True)
    assert not wrong.strip() or wrong not in str(caught.value)
    assert caught.value.__context__ is None
    assert not folder.exists()


def test_a_store_whose_key_is_gone_is_an_error_and_never_gets_a_new_key(folder: Path):
    made = open_keys(None, create=True)
    (folder / "root-0001.key").unlink()
    with pytest.raises(KeyMissing, match=made.key_id):
        open_keys(made.store_key_id, create=True)
    assert list(folder.iterdir()) == []


def test_a_store_of_the_folders_key_is_an_error_under_the_variable(monkeypatch: pytest.MonkeyPatch):
    made = open_keys(None, create=True)
    monkeypatch.setenv("CALLGATE_KEY", MATERIAL.hex())
    with pytest.raises(KeyMissing, match=f"{made.key_id}, which is not in CALLGATE_KEY"):
        open_keys(made.store_key_id, create=True)


def test_without_a_key_and_without_leave_to_make_one_nothing_is_made(folder: Path):
    with pytest.raises(KeyMissing, match="there is no root key"):
        open_keys(None, create=False)
    assert not folder.exists()


@pytest.mark.parametrize("open_to_others", [0o640, 0o604, 0o620, 0o601])
def test_a_key_that_others_may_read_or_change_is_refused(folder: Path, open_to_others: int):
    open_keys(None, create=True)
    (folder / "root-0001.key").chmod(open_to_others)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        open_keys(None, create=True)


def test_a_folder_that_others_may_enter_is_refused(folder: Path):
    open_keys(None, create=True)
    folder.chmod(0o755)
    with pytest.raises(ConfigurationError, match="chmod 700"):
        open_keys(None, create=True)


def test_a_key_of_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch):
    open_keys(None, create=True)
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    with pytest.raises(ConfigurationError, match="it has to be your own"):
        open_keys(None, create=True)


def test_a_link_in_the_place_of_a_key_is_refused(folder: Path, tmp_path: Path):
    open_keys(None, create=True)
    (folder / "root-0001.key").rename(tmp_path / "elsewhere")
    (folder / "root-0001.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="symbolic link"):
        open_keys(None, create=True)


def test_a_pipe_in_the_place_of_a_key_is_refused_and_does_not_hang(folder: Path):
    open_keys(None, create=True)
    (folder / "root-0001.key").unlink()
    os.mkfifo(folder / "root-0001.key", 0o600)
    with pytest.raises(ConfigurationError, match="not a regular file"):
        open_keys(None, create=True)


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"callgate-root-key-1 00 AAAA\n", b"x" * 5000, b"a b c d e"])
def test_a_damaged_key_is_an_error_and_stays_as_it_is(folder: Path, damage: bytes):
    open_keys(None, create=True)
    (folder / "root-0001.key").write_bytes(damage)
    with pytest.raises(ConfigurationError, match=r"root-0001\.key"):
        open_keys(None, create=True)
    assert (folder / "root-0001.key").read_bytes() == damage


def test_one_changed_letter_in_a_key_is_noticed(folder: Path):
    open_keys(None, create=True)
    path = folder / "root-0001.key"
    header, key_id, material = path.read_text().split()
    path.write_text(f"{header} {key_id} {'B' if material[0] == 'A' else 'A'}{material[1:]}\n")
    with pytest.raises(ConfigurationError, match="damaged"):
        open_keys(None, create=True)


def test_what_a_crash_left_behind_is_no_key(folder: Path):
    folder.mkdir(parents=True, mode=0o700)
    (folder / ".root-0001.key.0123456789abcdef.tmp").write_bytes(b"half a k")
    (folder / "notes.txt").write_text("not a key")
    assert open_keys(None, create=True).key_id
    assert (folder / "root-0001.key").exists()


def test_a_folder_that_cannot_be_read_is_an_error(home: Path):
    (home / ".config").write_text("a file")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        open_keys(None, create=True)


HOMELESS = """
import os, pwd
from callgate.secrets.keys import open_keys
del os.environ["HOME"], os.environ["XDG_CONFIG_HOME"]
os.setuid(54321)
open_keys(None, create=True)
"""


def test_a_user_without_a_home_is_told_of_the_variable():
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody without a home")
    _, errors = run(HOMELESS).communicate(timeout=30)
    assert "this user has no home folder to keep a root key in; set CALLGATE_KEY" in errors


@pytest.mark.usefixtures("unmeasured")
def test_a_user_without_a_home_can_keep_the_key_in_the_variable():
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody without a home")
    program = HOMELESS.replace("open_keys(None, create=True)", "print(open_keys(None, create=True).anchor_folder)")
    output, errors = run(program, CALLGATE_KEY=MATERIAL.hex()).communicate(timeout=30)
    assert (output, errors) == ("None\n", "")


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do(home: Path):
    (home / ".config").mkdir()
    (home / ".config" / "callgate").symlink_to(home / "nowhere" / "at all")
    with pytest.raises(ConfigurationError, match="set CALLGATE_KEY instead"):
        open_keys(None, create=True)


RACER = """
import sys
from callgate.secrets.keys import open_keys
print("ready", flush=True)
sys.stdin.readline()
keys = open_keys(None, create=True)
print(keys.key_id, keys.mac(b"data"))
"""


def test_processes_that_race_for_the_first_key_get_the_same_one(folder: Path):
    racers = [run(RACER) for _ in range(6)]
    for racer in racers:
        assert racer.stdout
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    answers = [racer.communicate(timeout=30) for racer in racers]
    assert [errors for _, errors in answers] == [""] * 6
    assert len({output for output, _ in answers}) == 1
    assert [path.name for path in folder.iterdir()] == ["root-0001.key"]


FULL_DISK = """
import resource, signal
from callgate.secrets.keys import open_keys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
try:
    open_keys(None, create=True)
finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
"""


def test_a_full_disk_leaves_no_half_key(folder: Path):
    _, errors = run(FULL_DISK).communicate(timeout=30)
    assert "a root key cannot be kept here" in errors
    assert list(folder.iterdir()) == []


def test_after_a_rotation_new_work_is_done_with_the_new_key_and_old_work_still_opens(folder: Path):
    old = open_keys(None, create=True)
    blob, signature = old.seal(b"data", bound_to=b"id"), old.sign(b"heads")
    before = (folder / "root-0001.key").read_bytes()
    new = old.rotate()
    assert new.key_id != old.key_id
    assert new.unseal(blob, bound_to=b"id") == b"data"
    assert fits(signature, b"heads", public_key=new.public_key_of(old.key_id))
    assert not fits(signature, b"heads", public_key=new.public_key)
    assert bytes.fromhex(new.key_id) == new.seal(b"data", bound_to=b"id")[1:9]
    assert (folder / "root-0001.key").read_bytes() == before


def test_a_rotation_leaves_the_digests_of_a_store_as_they_were():
    old = open_keys(None, create=True)
    new = old.rotate()
    reopened = open_keys(old.store_key_id, create=False)
    for keys in (new, reopened):
        assert keys.store_key_id == old.store_key_id
        assert keys.fingerprint(b"data") == old.fingerprint(b"data")
        assert keys.mac(b"data") == old.mac(b"data")
        assert keys.token_digest(b"data") == old.token_digest(b"data")
    assert reopened.key_id == new.key_id


def test_a_store_made_after_a_rotation_is_made_with_the_new_key():
    new = open_keys(None, create=True).rotate()
    assert open_keys(None, create=True).store_key_id == new.key_id


def test_a_running_process_opens_what_another_sealed_after_its_rotation():
    running = open_keys(None, create=True)
    rotated = open_keys(None, create=False).rotate()
    assert running.unseal(rotated.seal(b"data", bound_to=b"id"), bound_to=b"id") == b"data"
    assert running.public_key_of(rotated.key_id) == rotated.public_key


def test_a_key_lost_after_a_rotation_is_found_missing(folder: Path):
    old = open_keys(None, create=True)
    new = old.rotate()
    blob = new.seal(b"data", bound_to=b"id")
    (folder / "root-0002.key").unlink()
    left = open_keys(old.store_key_id, create=False)
    with pytest.raises(StoreError, match=new.key_id):
        left.unseal(blob, bound_to=b"id")
    with pytest.raises(KeyMissing, match=new.key_id):
        open_keys((old.store_key_id, new.key_id), create=True)


def test_keys_in_the_variable_are_rotated_by_putting_the_new_one_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CALLGATE_KEY", MATERIAL.hex())
    old = open_keys(None, create=True)
    blob = old.seal(b"data", bound_to=b"id")
    with pytest.raises(ConfigurationError, match="in front of the old one"):
        old.rotate()
    monkeypatch.setenv("CALLGATE_KEY", f"{'ab' * 32}, {MATERIAL.hex()}")
    new = open_keys(old.store_key_id, create=False)
    assert new.key_id != old.key_id
    assert new.unseal(blob, bound_to=b"id") == b"data"
    assert new.mac(b"data") == old.mac(b"data")


def test_rotations_at_the_same_time_each_add_a_key(folder: Path):
    open_keys(None, create=True)
    program = RACER.replace("open_keys(None, create=True)", "open_keys(None, create=True).rotate()")
    racers = [run(program) for _ in range(4)]
    for racer in racers:
        assert racer.stdout
        racer.stdout.readline()
    answers = [racer.communicate("go\n", timeout=30) for racer in racers]
    assert [errors for _, errors in answers] == [""] * 4
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"root-{number:04d}.key" for number in range(1, 6)]
    assert all(re.fullmatch(r"root-\d{4}\.key", name) for name in names)
