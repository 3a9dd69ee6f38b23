"""Who is asked at once, as `ask=` of a gate says: whoever sits at the terminal, or an object of the program's own."""

from __future__ import annotations

from callgate.errors import ConfigurationError
from callgate.ports import Asker
from callgate.runtime.terminal import TerminalAsker


def asker_of(ask: str | Asker | None) -> Asker | None:
    """Who is asked; None where nobody is, and calls wait.

    Raises:
        ConfigurationError: It can ask nobody.
    """
    if ask is None:
        return None
    if isinstance(ask, str):
        if ask == "terminal":
            return TerminalAsker()
        raise ConfigurationError(f'ask must be "terminal" or an Asker, not {ask!r}')
    if isinstance(ask, type):
        raise ConfigurationError(f'ask must be "terminal" or an Asker, not the class {ask.__name__}: make one of it')
    lacking = [f"{name}(…)" for name in ("ask", "tell") if not callable(getattr(ask, name, None))]
    lacking += [] if hasattr(ask, "assurance") else ["assurance"]
    if lacking:
        raise ConfigurationError(f'ask must be "terminal" or an Asker, not {ask!r}: it has no {", ".join(lacking)}')
    return ask
