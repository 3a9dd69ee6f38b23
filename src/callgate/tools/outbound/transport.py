"""Transport: one request, one connection, to an address that was judged right before. Imports the HTTP client.

The name is looked up once, every address it has is judged, and the connection goes to one of these very addresses;
the certificate is checked against the name. Redirects, and what the answers mean, are others' affair.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import httpcore2
import httpx2

from callgate.policy.hosts import is_private
from callgate.tools.outbound.streams import CountedStream
from callgate.tools.outbound.troubles import REDIRECTS, AnswerLost, AnswerUnfit, HostRefused, NotConnected
from callgate.tools.outbound.unpacking import CODINGS, PackedWrongly, Unpacking

if TYPE_CHECKING:
    from callgate.model.grounds import Grounds
    from callgate.tools.outbound.network import Network

USUAL_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_CONNECTING = 10.0
"""Seconds for each address."""
_MOST_ADDRESSES = 4
# Ports of other protocols, which browsers do not speak HTTP to either: a request must not be taken for a mail.
_OTHER_PORTS = frozenset(
    {0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109}
    | {110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530}
    | {531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190}
    | {5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server said."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in small letters."""
    content: bytes
    """Unpacked."""
    complete: bool
    """Whether the content is all of it: neither cut here, nor broken off on its way."""
    url: str
    """Where it came from in the end."""
    redirected_from: str | None = None
    """Where it was asked for at first, if that is another place."""
    strayed: bool = False
    """Whether the way there led through another origin: it knows nothing of the credentials and conditions that
    were sent at first, and speaks for nobody but itself."""

    def header(self, name: str) -> str:
        """The first header of that name; empty if there is none."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def leads_to(self) -> str | None:
        """Where a redirect leads, and empty if it does not say; None of any other answer."""
        return self.header("location") if self.status in REDIRECTS else None


def read_url(text: str) -> httpx2.URL:
    """A URL as the client understands it.

    Raises:
        ValueError: It is none of http or https, or cannot be read.
    """
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise ValueError(f"url cannot be read: {error}") from None
    if url.scheme not in USUAL_PORTS or not url.host:
        raise ValueError("url must begin with http:// or https:// and name a host")
    if url.userinfo or url.port == 0:
        raise ValueError("url has a user name in it, or port 0; leave it out")
    return url


def port_of(url: httpx2.URL) -> int:
    """The port it leads to, said or usual."""
    return USUAL_PORTS[url.scheme] if url.port is None else url.port


class JudgedBackend(httpcore2.AsyncNetworkBackend):
    """Where every connection of a tool is made: what is not judged here is not connected to."""

    def __init__(self, network: Network, grounds: Grounds) -> None:
        self._network = network
        self._grounds = grounds
        self._stream: CountedStream | None = None
        """The last connection."""

    @property
    def connected(self) -> bool:
        """Whether something may have been sent."""
        return self._stream is not None

    @property
    def torn(self) -> bool:
        """Whether the last connection was encrypted, and ended without its server saying so."""
        return self._stream is not None and self._stream.torn

    def held(self, content: int) -> None:
        """So many bytes of content came over the last connection."""
        if self._stream is not None:
            self._stream.held(content)

    async def connect_tcp(  # noqa: PLR0917 - as its port has it
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - one time covers all of it, see `client`
        local_address: str | None = None,  # noqa: ARG002 - none is set
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 - none are set
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._judged_addresses(host, port)
        failures: list[str] = []
        for address in addresses[:_MOST_ADDRESSES]:
            try:
                stream = await self._network.connector.connect(address, port, timeout=_CONNECTING)
            except OSError as error:
                failures.append(f"{address}: {error}")
            else:
                # One for each request, so what is counted begins anew with each redirect.
                self._stream = CountedStream(stream, host=host)
                return self._stream
        raise NotConnected(f"{host} cannot be reached at port {port}: {'; '.join(failures)}")

    async def _judged_addresses(self, host: str, port: int) -> Sequence[str]:
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        reason = self._grounds.host_refused(place)
        if reason is not None:
            raise HostRefused(reason)
        if port in _OTHER_PORTS:
            raise HostRefused(f"port {port} is for another protocol than HTTP")
        addresses = await self._network.addresses(host, port)
        private = [address for address in addresses if is_private(address)]
        if private and not self._grounds.private_addresses:
            advice = "in callgate.yaml, set scopes.net.private_addresses to true and narrow scopes.net.hosts"
            raise HostRefused(f"{host} leads to the private address {private[0]}; {advice}")
        return addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """One request."""

    method: str
    url: httpx2.URL
    headers: Mapping[str, str]
    content: bytes = b""

    def lines(self) -> list[tuple[bytes, bytes]]:
        """Its headers as they are sent, ours included."""
        ours = {"host": self.url.netloc.decode(), "connection": "close", "accept-encoding": "gzip, deflate"}
        if self.content or self.method == "POST":
            ours["content-length"] = str(len(self.content))
        return [(name.encode(), value.encode("latin-1")) for name, value in {**ours, **self.headers}.items()]


async def exchange(backend: JudgedBackend, network: Network, *, sending: Sending, limit: int, follow: bool) -> Answer:
    """Send a request, and read at most `limit` bytes of the answer, packed and unpacked. Follows nothing.

    Args:
        backend: Makes the connection.
        network: Has the trust.
        sending: The request.
        limit: Bytes; what is more is left unread, and the answer says so.
        follow: Whether a redirect is to be followed: then its body is of no interest.

    Raises:
        HostRefused: The server may not be spoken to.
        NotConnected: It was not reached.
        AnswerLost: What it answers breaks off, or is no HTTP.
        AnswerUnfit: It is packed in a way that was not asked for, or far more is around it than in it.
    """
    url = sending.url
    request = httpcore2.Request(
        method=sending.method,
        url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=port_of(url), target=url.raw_path),
        headers=sending.lines(),
        content=sending.content,
    )
    with _translated(url.host):
        async with httpcore2.AsyncConnectionPool(
            ssl_context=await network.tls() if url.scheme == "https" else None,
            max_connections=1,
            network_backend=backend,
        ) as pool:
            response = await pool.handle_async_request(request)
            try:
                return await _read(response, backend, url=url, limit=limit, follow=follow)
            finally:
                await response.aclose()


async def _read(
    response: httpcore2.Response, backend: JudgedBackend, *, url: httpx2.URL, limit: int, follow: bool
) -> Answer:
    headers = httpx2.Headers(response.headers)
    answer = Answer(
        status=response.status,
        headers=tuple((name.lower(), value) for name, value in headers.multi_items()),
        content=b"",
        complete=False,
        url=str(url),
    )
    if follow and answer.leads_to:
        return answer
    codings = [part.strip().lower() for part in headers.get_list("content-encoding", split_commas=True)]
    packed = [coding for coding in codings if coding and coding != "identity"]
    if len(packed) > 1 or not CODINGS.issuperset(packed):
        raise AnswerUnfit(f"{url.host} packed its answer as {', '.join(packed)[:100]}, which was not asked for")
    content, whole = await _take(response, backend, unpacking=Unpacking(packed[0]) if packed else None, limit=limit)
    return replace(answer, content=content, complete=whole)


async def _take(
    response: httpcore2.Response, backend: JudgedBackend, *, unpacking: Unpacking | None, limit: int
) -> tuple[bytes, bool]:
    """The content, and whether it is all of it: neither packed nor unpacked are there more bytes than the limit."""
    taken, seen = bytearray(), 0
    async with contextlib.aclosing(response.aiter_stream()) as chunks:
        async for chunk in chunks:
            backend.held(len(chunk))
            came = chunk[: limit - seen]
            taken += came if unpacking is None else unpacking.unpack(came, limit + 1 - len(taken))
            seen += len(chunk)
            if seen > limit or len(taken) > limit:
                return bytes(taken[:limit]), False
    return bytes(taken), not backend.torn and (unpacking is None or unpacking.whole)


@contextlib.contextmanager
def _translated(host: str) -> Generator[None]:
    try:
        yield
    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
        raise NotConnected(f"{host} cannot be reached: {error}") from error
    except PackedWrongly as error:
        raise AnswerUnfit(f"{host} packed its answer wrongly: {error}") from error
    except httpcore2.LocalProtocolError as error:
        raise ValueError(f"headers or url cannot be sent: {error}") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        raise AnswerLost(f"{host} broke off, or what it answers is no HTTP: {error}") from error
