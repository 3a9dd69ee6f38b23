"""Known shapes of credentials: struck in values, errors and long texts; lookalikes left alone; never slow."""

import base64
import json
import math
from typing import Any

import pytest

from callgate.secrets.shapes import NAMES
from callgate.secrets.strike import Striker

PEM = """-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,0123456789ABCDEF

MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB
aNbYq3DKYqRk0cSbP8pVwS5e8pjAcd==
-----END RSA PRIVATE KEY-----"""
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

WHOLE = {
    "AKIAIOSFODNN7EXAMPLE": "aws_access_key",
    "ASIAIOSFODNN7EXAMPLE": "aws_access_key",
    "AIzaSyA-1234567890abcdefghijklmnopqrstu": "google_api_key",
    "sk-abcdefghijklmnopqrstuvwxyz": "api_key",
    "sk-proj-Abc123_Abc123-Abc123Abc123": "api_key",
    "sk-ant-api03-AbC123dEf456-GhI789jKl": "api_key",
    "sk-ant-abc123def456ghi789": "api_key",
    "sk_live_abcdefghij0123456789": "stripe_key",
    "rk_test_abcdefghij0123456789": "stripe_key",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "github_token",
    "gho_16C7e42F292c6912E7710c838347Ae178B4a": "github_token",
    "ghs_16C7e42F292c6912E7710c838347Ae178B4a": "github_token",
    "ghu_16C7e42F292c6912E7710c838347Ae178B4a": "github_token",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz": "github_token",
    "xoxb-123456789012-1234567890123-AbCdEfGhIjKl": "slack_token",
    "xoxp-12345678": "slack_token",
    "xoxa-2-abcdefghij": "slack_token",
    JWT: "json_web_token",
    "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.": "json_web_token",
    PEM: "private_key",
    PEM.replace("\n", "\r\n"): "private_key",
    PEM.replace("\n", "\\n"): "private_key",
    PEM.split("-----END", maxsplit=1)[0].rstrip(): "private_key",
    "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----": "private_key",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----": "private_key",
}
PARTS = {
    "Bearer {}": ("abcdef123456", "bearer_token"),
    "bearer {}": ("abc.def.ghi", "bearer_token"),
    "BEARER {}": ("aaaaaaaaaaaaaaaaaaaaaaaa", "bearer_token"),
    "curl -H 'Authorization: Basic {}'": ("dXNlcjpwYXNz", "authorization"),
    '{{"Authorization": "Bearer {}"}}': ("opaque", "authorization"),
    "authorization=token {}": ("abcd", "authorization"),
    "postgres://{}@db.example.com:5432/app": ("user:p4ssw0rd", "url_credentials"),
    "postgresql+asyncpg://{}@host": ("user:p@ss@word", "url_credentials"),
    "mysql://{}@localhost/db": ("root:x", "url_credentials"),
    "mongodb+srv://{}@h1:27017,h2:27017/db?to=a@b": ("u:s3cr3t", "url_credentials"),
    "redis://{}@cache:6379/0": (":hunter2", "url_credentials"),
    "amqps://{}@mq//": ("guest:guest", "url_credentials"),
    "https://{}@github.com/a/b.git": ("a-token:x-oauth-basic", "url_credentials"),
    "https://hooks.slack.com/services/{}": ("T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "slack_webhook"),
}
INNOCENT = [
    "risk-assessment-of-something-very-long-2024",
    "sk-fading-circle-animation",
    "task-ABCDEFGHIJKLMNOPQRSTUV",
    "sk-short",
    "the bearer of bad news",
    "Bearer authentication is used",
    "use a Bearer token.",
    "bearer instruments",
    "AKIA",
    "MAKIAIOSFODNN7EXAMPLEX",
    "http://localhost:3000/users/@me",
    "https://example.com/@user:name",
    "mail a@b.example and c@d.example, see https://example.com:8080/x",
    "ssh://git@host/repo.git",
    "0192f0c1-7b1a-7c3e-9a55-2f4b6c8d0e1f",
    "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----",
    "the PRIVATE KEY is elsewhere",
    "eyJhbGciOiJIUzI1NiJ9",
    "Authorization: required",
    "ghp_short",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    base64.b64encode(bytes(range(256))).decode(),
]


def mark(name: str) -> str:
    return f"[secret:{name}]"


@pytest.mark.requirement("SEC-05")
@pytest.mark.parametrize("shape", WHOLE)
@pytest.mark.parametrize("around", ["{}", "key={} ", '"{}"', "({}),", "say {}."])
def test_a_known_shape_is_struck(shape: str, around: str):
    text = Striker().strike(around.format(shape))
    assert text.startswith(around.split("{", maxsplit=1)[0] + mark(WHOLE[shape]))
    assert not any(part in text for part in shape.split() if len(part) > 8)


@pytest.mark.requirement("SEC-05")
@pytest.mark.parametrize("around", PARTS)
def test_the_secret_part_of_a_known_shape_is_struck(around: str):
    secret, name = PARTS[around]
    assert Striker().strike(around.format(secret)) == around.format(mark(name))


@pytest.mark.requirement("SEC-05")
@pytest.mark.parametrize("shape", ["AKIAIOSFODNN7EXAMPLE", "Bearer abcdef123456", "redis://:pw@h", PEM, JWT])
def test_shapes_are_struck_in_nested_values_keys_json_texts_and_messages(shape: str):
    striker = Striker()
    secret = shape.split(" ", maxsplit=1)[1] if shape.startswith("Bearer") else shape
    nested: Any = {"rows": [{"a": (1, shape)}], shape: None, "raw": shape.encode(), "text": json.dumps({"k": shape})}
    for struck in (repr(striker.strike(nested)), striker.strike_text(f"failed: {shape}")):
        assert secret not in struck
        assert secret.replace("\n", "\\n") not in struck
        assert "[secret:" in struck


@pytest.mark.requirement("SEC-05")
def test_shapes_are_struck_in_results_over_a_megabyte():
    filler = "lorem ipsum dolor sit amet " * 40_000
    struck = Striker().strike({"body": f"{filler}{JWT} {filler}{PEM}\n{filler}"})["body"]
    assert struck == f"{filler}{mark('json_web_token')} {filler}{mark('private_key')}\n{filler}"


def test_every_shape_is_tested():
    assert {*WHOLE.values(), *(name for _, name in PARTS.values())} == NAMES


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_alike_is_left_alone(text: str):
    assert Striker().strike(text) is text
    value = {"text": [text]}
    assert Striker().strike(value) is value


def test_a_struck_part_is_not_struck_again():
    striker = Striker()
    striker.remember("the-password", connector="db", key="password")
    text = striker.strike("postgres://user:the-password@host Bearer the-password")
    assert text == "postgres://user:[secret:db/password]@host Bearer [secret:db/password]"
    assert striker.strike(text) is text


HOSTILE = {
    "one letter": "a",
    "dashes": "-",
    "words of keys": "sk-",
    "words of tokens": "eyJ",
    "tokens without an end": "eyJ-",
    "half tokens": "eyJaaaaaaaaa.b ",
    "dots": ".eyJaaaaaaaaa.",
    "URLs without an end": "://a:",
    "URLs of URLs": "://",
    "passwords of passwords": "://a:b@",
    "many users": "://" + "a" * 250 + ":",
    "at signs": "@",
    "begun keys": "-----BEGIN PRIVATE KEY-----",
    "half begun keys": "-----BEGIN ",
    "keys of dashes": "-----BEGIN PRIVATE KEY-----a-",
    "bearers": "Bearer ",
    "bearers of words": "Bearer aaaaaaaaaaaaaaaaaaa ",
    "headers": "Authorization:",
    "webhooks": "hooks.slack.com/services/a/",
    "access keys": "AKIA",
    "github": "ghp_",
    "brackets": "[secret:",
    "placeholders": "[secret:a/b]",
    "percent": "%2",
    "backslashes": "\\",
    "quotes": '"',
    "secret begun": "Zr8pq",
    "secret": "Zr8pqx9Lm",
    "letters of a secret": "ZZZZ",
}


def hostile_striker() -> Striker:
    striker = Striker()
    for number, value in enumerate(("Zr8pqx9Lm", "ZZZZ", "\\\\\\\\", "a/b]", "%%%%")):
        striker.remember(value, connector="a", key=f"b{number}")
    return striker


@pytest.mark.slow
@pytest.mark.parametrize("part", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_read_through_and_not_again_from_every_place_in_it(part: str):
    """So long that reading on from every place where the part begins takes 10^12 steps: the run would be ended."""
    times = math.isqrt(2 * 10**12 // len(part))
    hostile_striker().strike({"text": part * times})
