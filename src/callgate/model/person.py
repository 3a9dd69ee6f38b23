"""Who is who: whether two names mean one person. Knows nothing of what anybody may decide.

Where it counts that two are not one (an agent and who decides, the first and the second yes, the user and somebody
else), a name is taken in its widest sense: as one that looks, sounds or is typed alike must not stand in for another.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

from callgate.errors import ConfigurationError
from callgate.model.visible import hides

TRYING = "console:"
"""What the names begin with under which people try tools."""


def named(by: Any) -> str:
    """The name of who does something, as it is said in a program.

    Raises:
        ConfigurationError: It is no text.
    """
    if not isinstance(by, str):
        raise ConfigurationError(f"by is the name of a person, as text, not {type(by).__name__}")
    return by


def same_person(one: str | None, other: str | None) -> bool:
    """Whether two names are spellings of one: case, width, spaces around and hidden characters do not count."""
    return one == other or (one is not None and other is not None and person_key(one) == person_key(other))


def agent_of(person: str) -> str:
    """The principal under which a person tries tools; no agent's credential has such a name."""
    return f"{TRYING}{person}"


def is_own_agent(person: str, principal: str) -> bool:
    """Whether a call of this principal is the person's own: made in their name, or by the agent they try tools with."""
    return same_person(person, principal) or same_person(person, person_key(principal).removeprefix(TRYING))


@lru_cache(maxsize=1024)
def person_key(name: str) -> str:
    """A name in the spelling it is compared in; empty if nothing of it can be seen."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(" " if letter.isspace() else letter for letter in folded if letter.isspace() or not hides(letter))
    return " ".join(seen.split())
