"""Client: the one way out of tools that ask servers. Judges every address and redirect; keeps nothing between calls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from callgate.tools.outbound.headers import for_another_origin
from callgate.tools.outbound.troubles import AnswerUnfit, ConnectTimedOut, HostRefused, TooSlow

if TYPE_CHECKING:
    import httpx2

    from callgate.model.grounds import Grounds
    from callgate.tools.outbound.network import Network
    from callgate.tools.outbound.transport import Answer, JudgedBackend

MOST_REDIRECTS = 10
_WEB = re.compile(r"https?://", re.IGNORECASE)
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one request may take, its redirects included."""

    seconds: float
    left: float | None = None
    """What is left of these seconds, where tries before this one took from them."""
    content: int
    """Bytes, packed and unpacked."""


class Client:
    """Asks servers on behalf of one call."""

    def __init__(self, network: Network, grounds: Grounds) -> None:
        self._network = network
        self._grounds = grounds

    async def get(self, url: str, *, headers: Mapping[str, str], limits: Limits) -> Answer:
        """Fetch; redirects are followed, each judged as the first address was.

        Raises:
            ValueError: The URL is none of http or https.
            HostRefused: It, or one it leads to, may not be spoken to.
            TimeoutError: It took too long.
            OSError: It could not be reached or read.
        """
        async with self._in_time(url, limits) as backend:
            return await self._follow(backend, url, headers=dict(headers), limit=limits.content)

    async def post(self, url: str, content: bytes, *, headers: Mapping[str, str], limits: Limits) -> Answer:
        """Send; a redirect is an answer like others, and nothing is sent on to where it leads.

        Raises:
            ValueError: As `get`; and so the others.
        """
        from callgate.tools.outbound.transport import Sending, exchange  # noqa: PLC0415 - an extra

        target = self.judge(url)
        sending = Sending(method="POST", url=target, headers=headers, content=content)
        async with self._in_time(url, limits) as backend:
            return await exchange(backend, self._network, sending=sending, limit=limits.content, follow=False)

    def judge(self, text: str) -> httpx2.URL:
        """A URL that may be asked, as far as its text says.

        Raises:
            ValueError: It is none of http or https.
            HostRefused: Its host may not be spoken to.
        """
        from callgate.tools.outbound.transport import read_url  # noqa: PLC0415 - an extra

        if not _WEB.match(text):
            raise ValueError(f"url must begin with http:// or https://, not {text[:_SHOWN]!r}")
        reason = self._grounds.host_refused(text)
        if reason is not None:
            raise HostRefused(reason)
        return read_url(text)

    async def _follow(self, backend: JudgedBackend, start: str, *, headers: dict[str, str], limit: int) -> Answer:
        from callgate.tools.outbound.transport import Sending, exchange  # noqa: PLC0415 - an extra

        url, strayed = self.judge(start), False
        for redirects in range(MOST_REDIRECTS + 1):
            sending = Sending(method="GET", url=url, headers=headers)
            answer = await exchange(backend, self._network, sending=sending, limit=limit, follow=True)
            if not answer.leads_to:
                return replace(answer, redirected_from=start if redirects else None, strayed=strayed)
            there = self._led_to(url, answer.leads_to)
            if _origin(there) != _origin(url):
                headers, strayed = for_another_origin(headers), True
            url = there
        raise AnswerUnfit(f"{start[:_SHOWN]} leads on and on; gave up after {MOST_REDIRECTS} redirects")

    def _led_to(self, url: httpx2.URL, location: str) -> httpx2.URL:
        """Where a redirect leads, judged like an address that was asked for."""
        try:
            there = self.judge(urljoin(str(url), location))
        except ValueError as error:
            raise HostRefused(f"{url.host} leads to {location[:_SHOWN]!r}: {error}") from None
        except HostRefused as error:
            raise HostRefused(f"{url.host} leads elsewhere: {error}") from None
        if url.scheme == "https" and there.scheme != "https":
            raise HostRefused(f"{url.host} leads from https to {there.host} by http, where anybody could listen")
        return there

    @asynccontextmanager
    async def _in_time(self, url: str, limits: Limits) -> AsyncGenerator[JudgedBackend]:
        """The time covers all of it: names, connections, redirects, and servers that send a byte now and then."""
        from callgate.tools.outbound.transport import JudgedBackend  # noqa: PLC0415 - an extra

        backend = JudgedBackend(self._network, self._grounds)
        try:
            async with asyncio.timeout(limits.seconds if limits.left is None else limits.left):
                yield backend
        except TimeoutError:
            kind = TooSlow if backend.connected else ConnectTimedOut
            raise kind(f"{url[:_SHOWN]} did not answer in full within {limits.seconds:g} seconds") from None


def _origin(url: httpx2.URL) -> tuple[str, str, int]:
    from callgate.tools.outbound.transport import port_of  # noqa: PLC0415 - an extra

    return url.scheme, url.host, port_of(url)
