"""Quiet hours: whether a moment lies in the part of the day in which people do not want to be surprised."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from callgate.errors import ConfigurationError
from callgate.settings.values import QuietHours


class Quiet:
    """The quiet hours of one configuration.

    Raises:
        ConfigurationError: There is no such time zone.
    """

    def __init__(self, hours: QuietHours | None) -> None:
        self.hours = hours
        self._zone = UTC if hours is None else _zone(hours.timezone)

    def covers(self, now: float) -> bool:
        """Whether it is quiet at this time; hours may run over midnight, and equal ends are the whole day."""
        if self.hours is None:
            return False
        try:
            local = datetime.fromtimestamp(now, self._zone)
        except (ValueError, OverflowError, OSError):
            return True
        minute = local.hour * 60 + local.minute
        start, end = self.hours.start, self.hours.end
        return start <= minute < end if start < end else minute >= start or minute < end


def _zone(name: str) -> tzinfo:
    if name.upper() == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - needed only where quiet hours are set

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise ConfigurationError(f"there is no time zone {name!r}", key="quiet_hours.timezone") from error
