"""A network of the tests that lets nothing out: names and addresses are invented, connections end at a local site."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import httpcore2

PUBLIC = "93.184.215.14"
"""An address that is nobody's business here: a connection to it ends at the site of the test."""
OTHER = "93.184.215.15"


@dataclass(slots=True)
class Names:
    """A resolver: for each name its answers, one after the other; the last one stays."""

    known: Mapping[str, Sequence[Sequence[str]]]
    asked: list[str] = field(default_factory=list[str])

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.known.get(host.removesuffix("."))
        if answers is None:
            raise OSError("no such name here")
        return answers[min(self.asked.count(host), len(answers)) - 1]


@dataclass(slots=True)
class Wall:
    """A connector, the witness: it writes down every address somebody wants, and connects public ones to loopback."""

    doors: Mapping[str, int]
    """By address: the local port that stands for it, whatever port was wanted."""
    wanted: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    async def connect(self, address: str, port: int, *, timeout: float) -> httpcore2.AsyncNetworkStream:
        self.wanted.append((address, port))
        if address not in self.doors:
            raise ConnectionRefusedError("nothing leaves from here")
        backend = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())
        return await backend.connect_tcp("127.0.0.1", self.doors[address], timeout=timeout)

    def addresses(self) -> set[str]:
        return {address for address, _ in self.wanted}


class Stuck:
    """A resolver that never answers."""

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        await asyncio.get_running_loop().create_future()
        raise AssertionError(host)
