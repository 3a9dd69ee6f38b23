"""Reads what has to do with time: time limits, quiet hours, and observe mode with its end."""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, ListOf, MapOf, Reading
from callgate.settings.leaves import Duration, Text
from callgate.settings.selectors import parse_selector
from callgate.settings.values import Observe, QuietHours
from callgate.settings.wording import quote

LONGEST_OBSERVE = 7 * 86400.0
"""Observe mode ends after seven days at most."""

_AHEAD = 86400.0
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2}))?"
_ZONE = r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}"
_TOOL_NAME = r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*"


def parse_time_of_day(text: str) -> int:
    """Minutes after midnight.

    Raises:
        Fault: It is not `HH:MM`.
    """
    if not re.fullmatch(_TIME, text):
        raise Fault(f'{quote(text)} is no time of day; write it as "22:00"')
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)


def parse_moment(text: str) -> float:
    """Seconds since the epoch.

    Raises:
        Fault: It is neither a date (midnight UTC) nor a date and time with its zone.
    """
    if not re.fullmatch(_MOMENT, text):
        raise Fault(f'{quote(text)} is no moment; write it as "2026-01-31" or "2026-01-31T18:00:00Z"')
    try:
        moment = dt.datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    except ValueError:
        raise Fault(f"{quote(text)} is not in the calendar") from None


def parse_zone(text: str) -> str:
    """The name of a time zone that this machine knows.

    Raises:
        Fault: It knows none of that name.
    """
    if text != "UTC" and not _knows_zone(text):
        raise Fault(f"unknown time zone {quote(text)}; write one as Europe/Berlin (the package tzdata has them all)")
    return text


def _knows_zone(text: str) -> bool:
    if not re.fullmatch(_ZONE, text):
        return False
    try:
        zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _build_quiet_hours(fields: Fields, _: Reading) -> QuietHours:
    if fields["from"] == fields["to"]:
        raise Fault("from and to are equal; quiet hours begin at one time and end at another")
    rest = {key: value for key, value in fields.items() if key == "timezone"}
    return QuietHours(start=fields["from"], end=fields["to"], **rest)


_CLOCK = Text(pattern=_TIME, needs='a time of day such as "22:00"', parse=parse_time_of_day)
QUIET_HOURS = Block(
    {
        "from": Key(_CLOCK, "When they begin, as HH:MM in quotes.", required=True),
        "to": Key(_CLOCK, "When they end; before `from` is the next day.", required=True),
        "timezone": Key(Text(pattern=_ZONE, needs="a time zone", parse=parse_zone), "A time zone's name.", "UTC"),
    },
    _build_quiet_hours,
)


def _build_observe(fields: Fields, reading: Reading) -> Observe:
    since: float = fields["since"]
    if ("until" in fields) == ("for" in fields):
        raise Fault("needs either until or for: observe mode has an end")
    until: float = fields["until"] if "until" in fields else since + fields["for"]
    if since > reading.now + _AHEAD:
        raise Fault("since is in the future; observe mode is counted from the day it is switched on")
    if not since < until <= since + LONGEST_OBSERVE:
        raise Fault("ends at most 7 days after since, and not before it")
    return Observe(source=fields["source"], since=since, until=until, by=fields["by"])


def parse_source(text: str) -> str:
    """A `source:…` selector, or `*` for all.

    Raises:
        ValueError: It is neither.
    """
    if text != "*" and parse_selector(text).kind != "source":
        raise Fault(f"{quote(text)} is no source; write source:mcp, or * for all")
    return text


_MOMENT_TEXT = Text(pattern=_MOMENT, needs="a moment", parse=parse_moment)
OBSERVE = ListOf(
    Block(
        {
            "source": Key(
                Text(pattern=r"\*|source:[a-z]+", needs="source:… or *", parse=parse_source),
                "The source it is for, or * for all.",
                required=True,
            ),
            "since": Key(_MOMENT_TEXT, "When it was switched on.", required=True),
            "until": Key(_MOMENT_TEXT, "When it ends, at most 7 days after since."),
            "for": Key(Duration(most=LONGEST_OBSERVE), "How long it lasts, instead of until; at most 7d."),
            "by": Key(Text(needs="the administrator's name"), "Who switched it on.", required=True),
        },
        _build_observe,
    )
)


def _check_tool(name: str) -> None:
    if not re.fullmatch(_TOOL_NAME, name):
        raise Fault(f"{quote(name)} is no tool name; time limits are by exact name")


def _check_user(name: str) -> None:
    if name != name.strip() or not name:
        raise Fault(f"{quote(name)} is no user; leave out the space around it")


def _build_timeouts(fields: Fields, _: Reading) -> Fields:
    return fields


TIMEOUTS = Block(
    {
        "tools": Key(MapOf(Duration(), pattern=_TOOL_NAME, check=_check_tool), "Time limits by tool name.", {}),
        "users": Key(MapOf(Duration(), pattern=r"\S(.*\S)?", check=_check_user), "Time limits by user.", {}),
    },
    _build_timeouts,
)
