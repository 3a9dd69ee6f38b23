"""Complaints: all at once, each with its place, and none that gives a secret away."""

import pytest

from callgate.errors import ConfigurationError
from tests.settings.reading import FILE, complaints_of, error_of, read

SECRETS = [
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "sk-proj-abcdefghijklmnop",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.e30.x",
    "xoxb-1234-abcd",
    "password=hunter2",
    "0123456789abcdef0123",
    "postgresql+x://me:hunter2@db/x",
    "Bearer abc",
    "-----BEGIN RSA PRIVATE KEY-----",
    "x" * 61,
]


def said_of(text: str) -> str:
    """What is said of a text; nothing where it is accepted."""
    try:
        read(text)
    except ConfigurationError as error:
        return str(error)
    return ""


def test_everything_wrong_is_told_at_once_in_the_order_of_the_file():
    text = """\
    atuonomy: A2
    roles:
      a: {allow: ["group:raed"], deny: [5]}
      b: {scopes: ["nett:x"]}
    store: nowhere
    limits: []
    risk: {many_targets: no}
    """
    heard = complaints_of(text)
    assert [line.split(": ")[:2] for line in heard] == [
        ["1", "atuonomy"],
        ["3", "roles.a.allow[0]"],
        ["3", "roles.a.deny[0]"],
        ["4", "roles.b.scopes[0]"],
        ["5", "store"],
        ["6", "limits"],
        ["7", "risk.many_targets"],
    ]


def test_the_first_complaint_gives_the_error_its_place():
    error = error_of("require_keys: 5\nautonomy: A9\n")
    assert (error.file, error.line, error.key) == (FILE, 1, "require_keys")
    assert str(error).splitlines() == [
        f"{FILE}:1: require_keys: needs true or false, not '5'",
        f"{FILE}:2: autonomy: 'A9' is not possible; there are A0, A1, A2, A3, A4",
    ]


def test_a_flood_of_complaints_is_cut_and_counted():
    heard = complaints_of("\n".join(f"key_{number}: 1" for number in range(80)))
    assert len(heard) == 51
    assert heard[-1] == "… and 30 more"


def test_one_complaint_is_one_line_whatever_the_file_says():
    heard = complaints_of('"a\\nb": 1\nautonomy: "A\\n9"\nroles: {"x\\ny": {}}')
    assert len(heard) == 3


def test_a_long_key_is_not_repeated():
    assert complaints_of(f"{'k' * 500}: 1")[0].startswith(
        "1: (not shown): unknown key a text of 500 characters (not shown)"
    )


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "place",
    [
        "{}: 1",
        "store: {}",
        "autonomy: {}",
        "matrix: {}",
        "timeout: {}",
        "require_keys: {}",
        "threads_per_connector: {}",
        "modules: [{}]",
        "roles: {{{}: []}}",
        "roles: {{a: {{allow: [{}]}}}}",
        "roles: {{a: {{scopes: [{}]}}}}",
        "global: {{deny: ['group:{}']}}",
        "global: {{deny: ['{}:x']}}",
        "scopes: {{{}: {{}}}}",
        "scopes: {{net: {{hosts: ['{}/']}}}}",
        "timeouts: {{tools: {{'{}*': 1}}}}",
        "quiet_hours: {{from: {}, to: x, timezone: {}}}",
        "observe: [{{source: {}, since: {}, by: x}}]",
        "secrets: {{backend: {}, {}: x}}",
        "store: !{} x",
        "store: &{} x",
        "mcp_servers: {{github: {{env: {{TOKEN: {}}}}}}}",
    ],
)
def test_no_complaint_repeats_what_looks_like_a_secret(place: str, secret: str):
    heard = said_of(place.replace("{}", secret).replace("{{", "{").replace("}}", "}"))
    assert secret not in heard
    assert "hunter2" not in heard


def test_values_under_secrets_are_never_repeated():
    assert "swordfish" not in str(error_of("secrets: {backend: swordfish, path: [swordfish]}"))
