"""Handing out: a secret is struck from the moment it is given."""

import copy
import pickle

import pytest

from callgate.errors import ConfigurationError, SecretNotFound
from callgate.secrets.handout import SecretsDoor
from callgate.secrets.strike import Striker

VALUE = "s3cr3t-value-of-github"


class OneSecret:
    """A secrets store with one secret."""

    def __init__(self, value: str = VALUE) -> None:
        self.value = value

    def get_secret(self, connector: str, key: str) -> str:
        if (connector, key) != ("github", "token"):
            raise SecretNotFound(f"there is no secret {connector}/{key}")
        return self.value


@pytest.fixture
def striker() -> Striker:
    return Striker()


@pytest.fixture
def door(striker: Striker) -> SecretsDoor:
    return SecretsDoor(OneSecret(), striker)


def test_a_secret_that_was_handed_out_is_struck_from_then_on(door: SecretsDoor, striker: Striker):
    assert striker.strike(f"before {VALUE}") == f"before {VALUE}"
    assert door.source("github", "token") == VALUE
    assert striker.strike(f"after {VALUE}") == "after [secret:github/token]"


def test_an_unknown_pair_is_named_and_nothing_is_remembered(door: SecretsDoor, striker: Striker):
    with pytest.raises(SecretNotFound, match="github/other"):
        door.source("github", "other")
    assert striker.strike("github/other") == "github/other"


def test_a_secret_too_short_to_be_struck_is_not_handed_out(striker: Striker):
    door = SecretsDoor(OneSecret("abc"), striker)
    with pytest.raises(ConfigurationError, match="github/token has fewer than 4 characters"):
        door.source("github", "token")


def test_neither_door_nor_striker_shows_or_gives_away_what_it_holds(door: SecretsDoor, striker: Striker):
    door.source("github", "token")
    for private in (door, striker):
        assert VALUE not in repr(private)
        for leak in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                leak(private)
