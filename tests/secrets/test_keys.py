"""Keys: digests, sealing, signatures, and that none of it shows the root key."""

import copy
import pickle
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from callgate.errors import KeyMissing, StoreError
from callgate.events.signature import fits
from callgate.ports import Keys
from callgate.secrets.keys import KeyRing, throwaway_keys
from callgate.secrets.root_keys import RootKey
from callgate.secrets.sealing import Sealer

ROOT = bytes(range(32))


def ring(material: bytes = ROOT) -> KeyRing:
    return KeyRing([RootKey(material)])


def test_a_key_ring_is_what_the_gate_asks_of_keys():
    keys: Keys = throwaway_keys()
    assert keys.unseal(keys.seal(b"data", bound_to=b"id"), bound_to=b"id") == b"data"


def test_subkeys_are_hkdf_sha256_as_the_standard_has_it():
    expected = HKDF(SHA256(), length=32, salt=b"callgate root key 1", info=b"seal\0salt").derive(ROOT)
    assert RootKey(ROOT).subkey("seal", salt=b"salt") == expected


def test_every_use_has_a_key_of_its_own():
    root = RootKey(ROOT)
    subkeys = {root.subkey(use) for use in ("fingerprint", "mac", "tokens", "seal", "sign", "key id")}
    assert len(subkeys) == 6
    assert ROOT not in subkeys


def test_one_root_key_always_gives_the_same_digests_and_another_key_others():
    first, again, other = ring(), ring(), ring(b"x" * 32)
    for digest in ("fingerprint", "mac", "token_digest"):
        assert getattr(first, digest)(b"data") == getattr(again, digest)(b"data")
        assert getattr(first, digest)(b"data") != getattr(other, digest)(b"data")
        assert len(bytes.fromhex(getattr(first, digest)(b"data"))) == 32
    assert first.key_id == again.key_id != other.key_id
    assert len({first.fingerprint(b"data"), first.mac(b"data"), first.token_digest(b"data")}) == 3


@given(data=st.binary(max_size=200), bound_to=st.binary(max_size=50))
def test_what_is_sealed_opens_in_another_process_with_the_same_root_key(data: bytes, bound_to: bytes):
    blob = ring().seal(data, bound_to=bound_to)
    assert ring().unseal(blob, bound_to=bound_to) == data


def test_the_same_data_is_never_sealed_to_the_same_blob():
    keys = throwaway_keys()
    blobs = {keys.seal(b"data", bound_to=b"id") for _ in range(1000)}
    assert len(blobs) == 1000


def test_two_processes_never_seal_under_the_same_data_key():
    heads = {ring().seal(b"data", bound_to=b"")[:25] for _ in range(10)}
    assert len(heads) == 10


@given(st.data())
def test_a_sealed_record_changed_in_any_byte_does_not_open(data: st.DataObject):
    keys = ring()
    blob = bytearray(keys.seal(b"exact arguments", bound_to=b"id"))
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(StoreError):
        keys.unseal(bytes(blob), bound_to=b"id")


@pytest.mark.parametrize("length", [0, 1, 24, 36, 52])
def test_a_sealed_record_cut_short_does_not_open(length: int):
    keys = ring()
    blob = keys.seal(b"", bound_to=b"id")
    assert len(blob) == 53
    with pytest.raises(StoreError):
        keys.unseal(blob[:length], bound_to=b"id")


def test_a_sealed_record_moved_to_another_place_does_not_open():
    keys = throwaway_keys()
    blob = keys.seal(b"data", bound_to=b"one")
    with pytest.raises(StoreError, match="another place"):
        keys.unseal(blob, bound_to=b"two")


def test_a_record_sealed_with_another_key_names_that_key():
    other = throwaway_keys()
    with pytest.raises(StoreError, match=other.key_id):
        throwaway_keys().unseal(other.seal(b"data", bound_to=b""), bound_to=b"")


def test_more_processes_than_are_remembered_can_have_sealed():
    keys = ring()
    blobs = [ring().seal(bytes([number % 256]), bound_to=b"") for number in range(300)]
    assert [keys.unseal(blob, bound_to=b"")[0] for blob in blobs] == [number % 256 for number in range(300)]


def test_a_signature_verifies_with_the_public_key_alone():
    keys = ring()
    signature = keys.sign(b"heads")
    assert fits(signature, b"heads", public_key=keys.public_key)
    assert ring().public_key == keys.public_key == keys.public_key_of(keys.key_id)
    assert not fits(signature, b"other heads", public_key=keys.public_key)
    assert not fits(signature, b"heads", public_key=throwaway_keys().public_key)


@pytest.mark.parametrize(("public_key", "signature"), [(b"", b""), (b"x" * 31, b"y" * 64), (b"x" * 32, b"short")])
def test_a_malformed_signature_or_key_is_a_no(public_key: bytes, signature: bytes):
    assert not fits(signature, b"heads", public_key=public_key)


def test_the_public_key_of_an_unknown_key_is_missing():
    with pytest.raises(KeyMissing, match="0123456789abcdef"):
        throwaway_keys().public_key_of("0123456789abcdef")


def test_throwaway_keys_are_new_each_time_and_anchor_nothing():
    assert throwaway_keys().key_id != throwaway_keys().key_id
    assert throwaway_keys().anchor_folder is None


def test_keys_show_nothing_of_themselves_and_are_neither_copied_nor_pickled():
    for private in (ring(), RootKey(ROOT), Sealer(RootKey(ROOT), lambda _: RootKey(ROOT))):
        for shown in (repr(private), str(private), f"{private}"):
            assert shown == f"<{type(private).__name__}>"
        assert not hasattr(private, "__dict__")
        for leak in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                leak(private)


def test_importing_and_making_digests_leaves_heavy_packages_alone():
    program = """
import sys
before = set(sys.modules)
import callgate.secrets.handout, callgate.secrets.sources
from callgate.secrets.keys import open_keys
keys = open_keys(None, create=True)
keys.fingerprint(b"data"), keys.mac(b"data")
print(sorted({"cryptography", "keyring", "pydantic", "yaml", "sqlite3"} & (set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"
