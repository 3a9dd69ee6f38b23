"""Formats: whether a text has the format that its schema gives it, so that it is no path and no host besides.

JSON Schema leaves formats to who validates. Those with a form of their own are looked at here; of others (`sql`, say)
the author of a tool says that no text in them is one, and is believed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_DATE = r"\d{4}-?\d\d-?\d\d"
_TIME = r"\d\d:?\d\d(:?\d\d([.,]\d+)?)?\s?(Z|[+-]\d\d(:?\d\d)?)?"
_MAIL = r"[^\s/\\:<>@]+@[^\s/\\:<>@]+"
_UUID = r"(urn:uuid:)?\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?"
_ADDRESS = r"(?!file:)[a-z][a-z0-9+.-]*://\S*"
"""Without a scheme it could be the name of a file as well, and is judged as one."""
_V4 = r"\d+(\.\d+)*(/\d+)?"
_V6 = r"[0-9a-f]*:[0-9a-f:.]*(%\w+)?(/\d+)?"

_FORMS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(form, re.IGNORECASE)
    for names, form in (
        (("uuid", *(f"uuid{version}" for version in range(1, 9))), _UUID),
        (("date",), _DATE),
        (("time",), _TIME),
        (("date-time",), rf"{_DATE}[T_ ]{_TIME}"),
        (("duration",), r"[+-]?P[0-9YMWDTHS.,]+"),
        (("email", "idn-email"), _MAIL),
        (("name-email",), rf"[^/\\<>@]*<{_MAIL}>|{_MAIL}"),
        (("uri", "url", "iri", "multi-host-uri", "uri-reference", "iri-reference"), _ADDRESS),
        (("host", "hostname", "idn-hostname"), _ADDRESS),
        (("ipv4", "ipv4interface", "ipv4network"), _V4),
        (("ipv6", "ipv6interface", "ipv6network"), _V6),
        (("ipvanyaddress", "ipvanyinterface", "ipvanynetwork"), f"{_V4}|{_V6}"),
    )
    for name in names
}


def are_checked(formats: frozenset[str]) -> bool:
    """Whether some of them have a form to look at."""
    return not _FORMS.keys().isdisjoint(formats)


def has_one(text: str, formats: frozenset[str]) -> bool:
    """Whether a text has one of these formats, as far as that can be seen."""
    return any(form is None or form.fullmatch(text) for form in map(_FORMS.get, formats))
