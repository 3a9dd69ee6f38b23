"""What looks like a secret, by its name, its form, or where it stands; rather too much than too little."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote, urlsplit

_TELLING = re.compile(
    r"TOKEN|SECRET|KEY|PASS|PWD|AUTH|CREDENTIAL|PAT\b|DSN|COOKIE|DATABASE_URL|CONNECTION|BEARER|SIGNATURE",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])[A-Za-z0-9_\-./+=]{20,}")
_USER_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]*@", re.IGNORECASE)
_PAIR = re.compile(
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|sig|signature|auth(?:orization)?|cookie|(?:api|access|account|shared)[_-]?(?:access)?[_-]?key)"
    r"\s*[=:]\s*[^\s;&]+",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"(?:gh[opsu]_|github_pat_|glpat-|sk-|sk_|rk_|xox[a-z]-|AKIA|ya29\.|eyJ[A-Za-z0-9_-]{8})[A-Za-z0-9_.-]{8,}"
)
_STEP = re.compile(r"[A-Za-z0-9_\-.~=+]{16,}")
_LONGEST_WORD = 24
_SHORTEST = 4


def telling(name: str) -> bool:
    """Whether a name says that its value is a secret."""
    return _TELLING.search(name) is not None


def looks_secret(value: str) -> bool:
    """Whether a value looks like a secret, or has one in it: a random text, a token, an address with a password."""
    return any(
        (
            _RANDOM.fullmatch(value) and not _is_path(value),
            _USER_IN_URL.search(value),
            _PAIR.search(value),
            _KNOWN.search(value),
            "://" in value and secret_in_address(value),
        )
    )


def secret_in_address(url: str) -> bool:
    """Whether a part of an address's path is what nobody would write by hand."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return True
    return any(_is_odd(part) for part in unquote(path).split("/"))


def _is_path(value: str) -> bool:
    return value.startswith(("/", "./", "../", "~/")) and not any(map(_is_odd, value.split("/")))


def _is_odd(part: str) -> bool:
    if _STEP.fullmatch(part) is None:
        return False
    # Words and numbers with signs between them are names: mcp-server-2025-11-25.
    words = [word for word in re.split(r"[-_.~=+]", part) if word]
    return any(len(word) > _LONGEST_WORD or not (word.isalpha() or word.isdigit()) for word in words)


def secrets_among(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Arguments of a command that look like secrets: what they are called, and the value."""
    before = ""
    for number, word in enumerate(words, 1):
        option, given, value = word.partition("=")
        named = bool(given) and telling(option) and len(value) >= _SHORTEST
        follows = before.startswith("-") and telling(before) and not word.startswith("-") and len(word) >= _SHORTEST
        if named or (given and looks_secret(value)):
            yield option, value
        elif follows or looks_secret(word):
            yield before if follows else f"number {number}", word
        before = word
