"""Striking out: no secret that was handed out, and nothing shaped like a credential, leaves in a value or a text.

It is a net under careless tools, not a wall around hostile ones: a handler that has a secret can always write it in a
way nobody looks for. Looked for are the forms of `encodings` and the shapes of `shapes`. Secrets with fewer than four
characters are refused when they are handed out, because no text could be kept clean of them.
"""

from __future__ import annotations

import re
import threading
from typing import Any

import orjson

from callgate.errors import ConfigurationError
from callgate.secrets.encodings import SHORTEST, forms_of
from callgate.secrets.known import Known
from callgate.secrets.placeholders import ANY, OPENING, placeholder
from callgate.secrets.private import Private
from callgate.secrets.walk import rewrite, texts

# What orjson would write in a way of its own has to be walked instead.
_OPENING_BYTES = OPENING.encode()
_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


class Striker(Private):
    """Knows every secret handed out in this process, and strikes them. Remembering while others strike is safe."""

    __slots__ = ("_known", "_lock", "_values")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: set[str] = set()
        self._known = Known()

    def remember(self, value: str, *, connector: str, key: str) -> None:
        """Strike this value from now on, in all its forms, for the life of the process.

        Raises:
            ConfigurationError: It is too short to be struck, so it must not be handed out.
        """
        bare = value.strip()
        if bare in self._values:
            return
        check_length(bare, connector=connector, key=key)
        with self._lock:
            self._known = self._known.learn(forms_of(bare), placeholder(connector, key))
            self._values.add(bare)

    @property
    def known(self) -> object:
        """Another one whenever a secret was learnt."""
        return self._known

    def strike(self, value: Any, *, suspected: bool = False) -> Any:
        """The value with everything secret in it replaced; the same object when there was nothing.

        Nested values and keys are struck as well. In a value that has something to strike, or that is no JSON, parts
        that are nested too deeply, contain themselves or cannot be read are replaced by a word about it.

        Args:
            value: Anything.
            suspected: Whether its JSON text was looked at (`suspects`), so that it need not be looked at again.
        """
        known = self._known

        def is_innocent(part: Any) -> bool:
            return not known.may_be_in(orjson.dumps(part, option=_OPTIONS))

        try:
            if not suspected and is_innocent(value):
                return value
        except (TypeError, RecursionError):
            return rewrite(value, known.strike)  # It has no JSON text to look at, whatever its parts have.
        return rewrite(value, known.strike, spared=is_innocent)

    def suspects(self, text: bytes) -> bool:
        """Whether something in this JSON text may have to be struck; most texts show at once that nothing has."""
        return self._known.may_be_in(text)

    def suspects_shared(self, text: bytes) -> bool:
        """As `suspects`, of a text that comes again and again: until a secret is learnt, it is looked through once."""
        return self._known.may_be_in_shared(text)

    def strike_text(self, text: str) -> str:
        """The text with everything secret in it replaced. Strike before cutting: half a secret is not recognised."""
        return self.strike(text)

    def strike_trace(self, trace: str) -> str:
        """The name of a trace without secrets. One that is a UUID, as most are, is either all of a secret or none."""
        if _UUID(trace) is not None and trace not in self._values:
            return trace
        return self._known.strike(trace)

    def contains_placeholder(self, arguments: Any) -> str | None:
        """The first placeholder in a value (or in its JSON bytes): whoever sends one does not have the secret."""
        unusual = self._known.unusual
        if type(arguments) is bytes and not unusual and _OPENING_BYTES not in arguments:
            return None
        try:
            data = arguments if type(arguments) is bytes else orjson.dumps(arguments, option=_OPTIONS)
        except (TypeError, RecursionError):
            found = (_placeholder_in(text, unusual) for text in texts(arguments))
            return next((text for text in found if text is not None), None)
        return _placeholder_in(data.decode("latin-1"), unusual) if unusual or _OPENING_BYTES in data else None

    def marks(self, value: Any) -> bool:
        """Whether something was struck from this value, now or before."""
        return self.contains_placeholder(value) is not None


def check_length(value: str, *, connector: str, key: str) -> None:
    """Refuse a secret that could not be struck.

    Raises:
        ConfigurationError: It has fewer than four characters, blanks around it not counted.
    """
    if len(value.strip()) < SHORTEST:
        why = f"has fewer than {SHORTEST} characters, too few to be struck from texts; use a longer one"
        raise ConfigurationError(f"the secret {connector}/{key} {why}")


def _placeholder_in(text: str, unusual: tuple[str, ...]) -> str | None:
    if OPENING not in text and not unusual:
        return None
    found = (match[0] for match in ANY.finditer(text))
    return next((text for text in found if text.startswith(OPENING) or text in unusual), None)


_process = Striker()


def process_striker() -> Striker:
    """The striker of this process: what one gate handed out is struck by every other, also after that one closed."""
    return _process
