"""Fetching a document that the operator named: the one way in which a door asks another server."""

from __future__ import annotations

from callgate.errors import CallgateError
from callgate.runtime.named_address import grounds_of_named

_SECONDS = 10.0
_LARGEST = 1024 * 1024
_FINE = 200


class NotFetched(CallgateError):
    """The document could not be had."""


async def fetch_document(url: str, *, private_addresses: bool) -> bytes:
    """The bytes at an address; redirects are followed, each judged as the first was.

    Args:
        url: http or https.
        private_addresses: Whether it may be on this machine or its network.

    Raises:
        NotFetched: It is not there, too large, too slow, or where it may not be.
    """
    from callgate.tools.outbound.client import Client, Limits  # noqa: PLC0415 - an extra
    from callgate.tools.outbound.network import Network  # noqa: PLC0415

    grounds = grounds_of_named(private_addresses=private_addresses)
    try:
        limits = Limits(seconds=_SECONDS, content=_LARGEST)
        answer = await Client(Network(), grounds).get(url, headers={}, limits=limits)
    except (CallgateError, OSError, ValueError) as error:
        raise NotFetched(f"{url} cannot be fetched ({type(error).__name__})") from None
    if answer.status != _FINE or not answer.complete:
        raise NotFetched(f"{url} answered {answer.status}")
    return answer.content
