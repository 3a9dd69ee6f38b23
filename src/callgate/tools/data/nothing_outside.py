"""What the tools of this category touch: nothing. Their arguments are data, whatever the names in them are."""

from __future__ import annotations

from callgate.model.tool import Arguments


def nothing_outside(_: Arguments) -> None:
    """Say so: a column called `path` is no path, and large data is not searched for any."""
