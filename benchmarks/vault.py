"""The vault with 10,000 notes: searching, by everything that a search does, and moving a note with 500 back links.

Each search takes in what changed first, as it does in use: searches one after the other, seconds apart, and each after
another program changed a note.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
import uuid
from pathlib import Path
from typing import Any

from callgate import Callgate, Context
from callgate.model.levels import Autonomy

NOTES = 10_000
BACK_LINKS = 500
SEARCHES = 200
APART = 20
SECONDS_APART = 2.5
CHANGES = 60
MOVES = 3
_SYLLABLES = [f"{first}{second}" for first in "bdfgklmnrst" for second in ("a", "e", "io", "un")]
_WORDS = [f"{first}{second}" for first in _SYLLABLES for second in _SYLLABLES]
_WEIGHTS = [1 / (place + 10) for place in range(len(_WORDS))]
"""Few words are common and many are rare, as in what people write."""
_SENTENCES = 12


async def measure(folder: Path) -> dict[str, Any]:
    """Milliseconds and seconds, through a gate with a store on the disk."""
    work = folder / "vault-work"
    luck = random.Random(1)
    _write_notes(work / "vault" / "agent=agent" / "default", luck)
    store = f"sqlite:///{work}/.callgate/callgate.db"
    async with Callgate.open(store, working_directory=work, builtin_tools=["vault"]) as gate:
        begun = time.perf_counter()
        (await gate.call("vault_create_index", {"folder": "f0"}, _asker(), timeout=120)).unwrap()
        indexed = time.perf_counter() - begun
        (await gate.call("vault_search", {"query": "warm"}, _asker(), timeout=120)).unwrap()
        searches = [await _timed(gate, "vault_search", {"query": _query(luck), "limit": 20}) for _ in range(SEARCHES)]
        apart: list[float] = []
        for _ in range(APART):
            await asyncio.sleep(SECONDS_APART)
            apart.append(await _timed(gate, "vault_search", {"query": _query(luck), "limit": 20}))
        changed: list[float] = []
        for at in range(CHANGES):
            _change(work / "vault" / "agent=agent" / "default", luck.randrange(NOTES), text=f"Changed {at} times.\n")
            changed.append(await _timed(gate, "vault_search", {"query": _query(luck), "limit": 20}))
        moves: list[float] = []
        here, there = "hub.md", "moved/centre of all.md"
        for _ in range(MOVES):
            moves.append(await _timed(gate, "vault_move", {"old_path": here, "new_path": there}))
            here, there = there, here
    return {
        "notes": NOTES,
        "indexing_s": round(indexed, 2),
        "search_median_ms": round(statistics.median(searches) * 1000, 2),
        "search_p95_ms": _p95_ms(searches),
        "search_seconds_apart_p95_ms": _p95_ms(apart),
        "search_after_a_change_p95_ms": _p95_ms(changed),
        "move_of_500_back_links_s": round(statistics.median(moves), 3),
    }


def _write_notes(folder: Path, luck: random.Random) -> None:
    for at in range(NOTES):
        place = folder / f"f{at % 100}"
        place.mkdir(parents=True, exist_ok=True)
        link = "See [[hub#part|the hub]].\n" if at < BACK_LINKS else ""
        sentences = [" ".join(luck.choices(_WORDS, _WEIGHTS, k=12)).capitalize() + "." for _ in range(_SENTENCES)]
        head = (
            f"---\ntags: [{luck.choice(_WORDS)}, {luck.choice(_WORDS)}]\n---\n# {' '.join(luck.choices(_WORDS, k=3))}\n"
        )
        text = "\n\n".join(sentences)
        (place / f"note {at}.md").write_text(f"{head}\n{text}\n\n[[note {luck.randrange(NOTES)}]] {link}")
    (folder / "hub.md").write_text("# Hub\n\nThe middle of it all.\n")


def _change(folder: Path, at: int, *, text: str) -> None:
    with (folder / f"f{at % 100}" / f"note {at}.md").open("a") as note:
        note.write(text)


def _p95_ms(taken: list[float]) -> float:
    return round(statistics.quantiles(taken, n=20)[-1] * 1000, 2)


def _query(luck: random.Random) -> str:
    return " ".join(luck.choices(_WORDS, _WEIGHTS, k=luck.randint(1, 3)))


def _asker() -> Context:
    key = uuid.uuid4().hex
    return Context(autonomy=Autonomy.A4, session=key, idempotency_key=key)


async def _timed(gate: Callgate, name: str, arguments: dict[str, Any]) -> float:
    asker = _asker()
    begun = time.perf_counter()
    (await gate.call(name, arguments, asker)).unwrap()
    return time.perf_counter() - begun
