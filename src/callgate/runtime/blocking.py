"""BlockingCallgate: the gate for code that cannot await. Every method is the async gate's, waited for."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

from callgate.errors import ConfigurationError
from callgate.runtime.under_way import is_waited_for
from callgate.sync import Portal


class AsyncGate(Protocol):
    """What is waited for: a gate that opens and closes. Its other methods are found by name."""

    async def __aenter__(self) -> Any: ...

    async def close(self) -> None:
        """Let go."""
        ...


class BlockingCallgate:
    """A gate on a loop of its own; `with Callgate.open_sync() as gate: gate.call(...).unwrap()`."""

    def __init__(self, make: Callable[[], AsyncGate]) -> None:
        self._gate = make()
        self._portal: Portal | None = None
        self._closing = threading.RLock()  # also a signal handler may close, amid a closing

    def __enter__(self) -> Self:
        self._portal = Portal()
        try:
            self._portal.run(self._gate.__aenter__())
        except BaseException:
            self._close_portal()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what runs, write what waits, and let go. Twice is once; who comes second waits for the first's end."""
        portal = self._portal
        if portal is None or portal.inherited:
            return
        portal.check_thread()
        if not self._closing.acquire(blocking=not is_waited_for()):
            return
        try:
            if self._portal is not None:
                portal.run(self._gate.close())
        finally:
            self._close_portal()
            self._closing.release()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._gate, name)
        return functools.wraps(found)(functools.partial(self._run, found)) if callable(found) else found

    def _run(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        portal = self._portal
        if portal is None:
            if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
                raise ConfigurationError("the gate is not open: use `with Callgate.open_sync(...) as gate:`")
            return method(*args, **kwargs)
        if inspect.isasyncgenfunction(method):
            return portal.iterate(method(*args, **kwargs))
        return portal.run(_awaited(method, args, kwargs))

    def _close_portal(self) -> None:
        if self._portal is not None:
            self._portal.close()
            self._portal = None


async def _awaited(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = method(*args, **kwargs)
    return await result if inspect.isawaitable(result) else result
