"""Network: how names become addresses, and addresses connections.

Two ports, so that whoever needs other ways (a name server of one's own, a test that lets nothing out) hands them to
`offer.make`. Neither of them judges: what may be connected to is decided between them, in `transport`.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

from callgate.settings.values import WebSettings
from callgate.tools.outbound.troubles import NotConnected

if TYPE_CHECKING:
    from httpcore2 import AsyncNetworkStream

_LONGEST_REPLY = 8192
_USUAL_PORT = 80
_AGREED = b"200"


class Resolver(Protocol):
    """Names to addresses."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host, the best first; does not block the loop.

        Raises:
            OSError: It has none, or nobody could be asked.
        """
        ...


class Connector(Protocol):
    """Addresses to connections."""

    async def connect(self, address: str, port: int, *, timeout: float) -> AsyncNetworkStream:
        """Connect to that very address; looks nothing up.

        Raises:
            OSError: It could not.
        """
        ...


class SystemResolver:
    """Asks the system, each time on a thread of its own.

    A name server that does not answer holds such a thread for long: it must not hold those that others need, nor the
    end of the process.
    """

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Sequence[str]] = loop.create_future()

        def tell(settle: Callable[[Any], None], value: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(lambda: answer.done() or settle(value))

        def look_up() -> None:
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                tell(answer.set_exception, error)
            else:
                tell(answer.set_result, tuple(dict.fromkeys(str(where[0]) for *_, where in found)))

        threading.Thread(target=look_up, name="callgate-names", daemon=True).start()
        return await answer


class SystemConnector:
    """Connects by TCP."""

    async def connect(self, address: str, port: int, *, timeout: float) -> AsyncNetworkStream:
        import httpcore2  # noqa: PLC0415 - an extra

        backend = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())
        try:
            return await backend.connect_tcp(address, port, timeout=timeout)
        except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            raise NotConnected(str(error) or "no answer") from error


class ProxyConnector:
    """Connects through a proxy, which is told the address that was checked and never a name."""

    def __init__(self, proxy: str) -> None:
        parts = urlsplit(proxy)
        self._host, self._port = parts.hostname or "", parts.port or _USUAL_PORT
        self._connector = SystemConnector()
        self._resolver = SystemResolver()

    async def connect(self, address: str, port: int, *, timeout: float) -> AsyncNetworkStream:
        import httpcore2  # noqa: PLC0415 - an extra

        there = str(next(iter(await self._resolver.resolve(self._host, self._port))))
        stream = await self._connector.connect(there, self._port, timeout=timeout)
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        try:
            await stream.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode(), timeout=timeout)
            await self._expect_agreement(stream, timeout=timeout)
        except BaseException as error:
            await stream.aclose()
            if isinstance(error, (httpcore2.NetworkError, httpcore2.TimeoutException)):
                raise NotConnected(f"the proxy did not answer: {error}") from error
            raise
        return stream

    async def _expect_agreement(self, stream: AsyncNetworkStream, *, timeout: float) -> None:
        reply = b""
        # Byte by byte to its end: what comes after it belongs to the server behind.
        while not reply.endswith(b"\r\n\r\n"):
            byte = await stream.read(1, timeout=timeout)
            reply += byte
            if not byte or len(reply) > _LONGEST_REPLY:
                raise NotConnected("the proxy answered what is no HTTP")
        status = reply.split(b"\r\n", 1)[0].split(b" ")
        if len(status) < 2 or status[1] != _AGREED:  # noqa: PLR2004 - the version, the code
            shown = b" ".join(status[1:]).decode("ascii", "replace")
            raise NotConnected(f"the proxy refused to connect: {shown[:100]}")


def system_trust() -> ssl.SSLContext:
    """Trusts the authorities that the system trusts, or those of `SSL_CERT_FILE`."""
    import httpx2  # noqa: PLC0415 - an extra

    return httpx2.create_ssl_context()


@dataclass(slots=True, kw_only=True)
class Network:
    """What tools of one gate go out through."""

    resolver: Resolver = field(default_factory=SystemResolver)
    connector: Connector = field(default_factory=SystemConnector)
    trust: Callable[[], ssl.SSLContext] = system_trust
    """Makes the context that certificates are checked with."""
    _context: ssl.SSLContext | None = field(default=None, init=False)

    async def tls(self) -> ssl.SSLContext:
        """That context, made once: reading the authorities takes a while."""
        if self._context is None:
            context = await asyncio.to_thread(self.trust)
            # Otherwise an answer that is cut on its way ends like one that its server ended.
            context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
            self._context = context
        return self._context

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Where a host is; one that is an address already is not looked up.

        Raises:
            NotConnected: It is nowhere.
        """
        try:
            return (str(ipaddress.ip_address(host)),)
        except ValueError:
            pass
        try:
            found = await self.resolver.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise NotConnected(f"{host} has no address: {error}") from error
        if not found:
            raise NotConnected(f"{host} has no address")
        try:
            return tuple(str(ipaddress.ip_address(each)) for each in found)
        except ValueError as error:
            # A name here would be looked up again, by nobody who judges.
            raise NotConnected(f"{host} has what is no address: {error}") from error


def network_for(settings: WebSettings) -> Network:
    """The system's own, or through the proxy of the configuration."""
    return Network() if settings.proxy is None else Network(connector=ProxyConnector(settings.proxy))
