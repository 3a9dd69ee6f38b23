"""Traces: what a shape of `shapes` leaves in JSON text, for a quick look at texts of any length. Never a wrong no.

Short texts are looked through word by word. For long ones that takes milliseconds: they are handed to one pattern for
all shapes, in an engine that reads a text once. It is part of a library that takes long to load, and is loaded with the
first long text; from then on it looks at all of them.
"""

from __future__ import annotations

from collections.abc import Callable

Look = Callable[[str], bool]

LONG_WORD = 13
"""Every shape has a word of so many characters (letters, digits, "_+=%") or a short one; a UUID has neither."""
_LONG = 4096
"""Bytes of a text that are worth loading the engine for."""
_WORD = r"[A-Za-z0-9_\-]"
# A blank of a value stands in JSON as it is, as an escape, or as bytes beyond ASCII, which are read one by one here.
_BLANK = r"(?:[ \x80-\xff]|\\[fnrt]|\\u00[01][0-9A-Fa-f])"
_QUOTE = r"[\"'\\]"
# Each of these is wider than its shape: without what stands before it, what comes behind it, and how long it may be.
_TRACES = (
    r"A[KS]IA[A-Z0-9]{16}",
    rf"AIza{_WORD}{{20}}",
    rf"sk-{_WORD}{{16}}",
    r"[rs]k_(?:live|test)_[A-Za-z0-9_]{10}",
    r"gh[oprsu]_[A-Za-z0-9_]{10}",
    r"github_pat_[A-Za-z0-9_]{10}",
    rf"xox[a-z]-{_WORD}{{8}}",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_\-/]{12}",
    rf"eyJ[A-Za-z0-9_]{{10}}{_WORD}*\.{_WORD}{{8}}",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY",
    # A backslash may stand here: control characters are escaped in JSON, and may be in a password.
    r"://[^/?#:@\"'<> ]*:[^/?#@\"'<> ]+@",
    (
        rf"[Bb](?:earer|EARER){_BLANK}+"
        r"(?:[A-Za-z]?[a-z]{0,40}[0-9A-Z]|[A-Za-z]{1,40}[._\-~][A-Za-z0-9]|[A-Za-z]{20})"
    ),
    (
        rf"[Aa](?:uthorization|UTHORIZATION){_QUOTE}*{_BLANK}*[:=]{_BLANK}*{_QUOTE}*"
        rf"(?:[Bb]asic|[Bb]earer|[Tt]oken|ApiKey){_BLANK}+[A-Za-z0-9\-._~+/]{{4}}"
    ),
)
_loaded: list[Look] = []


def look_for(length: int) -> Look | None:
    """What tells whether a shape may be in JSON text, read byte by byte; None where words have to do."""
    if _loaded:
        return _loaded[0]
    if length < _LONG:
        return None
    _loaded.append(load())
    return _loaded[0]


def load() -> Look:
    """The engine, with every trace."""
    import jsonschema_rs  # noqa: PLC0415 - it takes longer to load than all short texts of a small program to look at

    # To ask whether a text has a pattern in it is one schema; as `RegexOptions`, it is read once and never back.
    schema = {"pattern": "|".join(_TRACES)}
    return jsonschema_rs.Draft202012Validator(schema, pattern_options=jsonschema_rs.RegexOptions()).is_valid


def has_short_word(text: str) -> bool:
    """Whether a shape can be in a text although it has no long word."""
    if "sk-" in text or "earer" in text or "PRIVATE KEY" in text or ("://" in text and "@" in text):
        return True
    return "xox" in text or "AIza" in text or "EARER" in text or "hooks.slack.com/" in text


def has_long_word(text: str) -> bool:
    """Whether a shape with a long word and without a short one can be in a text."""
    # Word by word takes a third of what one pattern of them all does.
    if "AKIA" in text or "ASIA" in text or "eyJ" in text or "k_live_" in text or "k_test_" in text:
        return True
    if "uthorization" in text or "UTHORIZATION" in text or "github_pat_" in text:
        return True
    return "gho_" in text or "ghp_" in text or "ghr_" in text or "ghs_" in text or "ghu_" in text
