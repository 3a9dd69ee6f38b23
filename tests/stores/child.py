"""A process of its own that uses a store as it is told, and says on standard output what was acknowledged."""

import asyncio
import os
import sys
import time
from pathlib import Path

from callgate.model.attempt import AttemptState
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import HandClock, a_draft, an_attempt


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def claim_without_end(store: SqliteStore, name: str) -> None:
    """Claim keys, twenty at a time, and settle every second one."""

    async def caller(number: int) -> None:
        for n in range(100_000):
            key = f"{name}-{number}-{n}"
            row = an_attempt(key, owner=store.owner)
            await store.write(
                lambda tx, row=row, key=key: (tx.put_attempt(row), tx.append(a_draft("claimed", call=key)))
            )
            say(f"claimed {key}")
            if n % 2:
                done = an_attempt(
                    key, owner=store.owner, state=AttemptState.SUCCEEDED, ended_at=1.0, outcome=b'{"n":%d}' % n
                )
                await store.write(
                    lambda tx, row=done, key=key: (tx.put_attempt(row), tx.append(a_draft("settled", call=key)))
                )
                say(f"settled {key}")

    await asyncio.gather(*(caller(number) for number in range(20)))


async def write_some(store: SqliteStore, name: str) -> None:
    """A hundred units, and as many events behind them."""
    for n in range(100):
        await store.write(lambda tx, n=n: tx.append(a_draft("unit", call=f"{name}-{n}")))
        store.behind(a_draft("behind", call=f"{name}-{n}"))
    await store.close()
    say("done")


async def fork_and_die(store: SqliteStore, _: str) -> None:
    """Leave a child behind that lives on with everything it inherited."""
    ready, tell = os.pipe()
    child = os.fork()
    if not child:
        await live_on(store, tell)
    os.read(ready, 1)
    say(f"{store.owner} {child}")
    os._exit(0)


async def live_on(store: SqliteStore, tell: int) -> None:
    """The child: try everything the parent's store could do, then wait to be ended."""
    for use in (store.write, store.read, store.scan):
        try:
            await use(lambda _: None)
        except Exception as error:  # noqa: BLE001
            say(f"child: {error}")
    try:
        store.behind(a_draft())
    except Exception as error:  # noqa: BLE001
        say(f"child: {error}")
    os.write(tell, b"x")
    wait_to_be_ended()


def wait_to_be_ended() -> None:
    time.sleep(60)  # until it is killed
    os._exit(0)


async def fork_and_open(store: SqliteStore, name: str) -> None:
    """A child, and a child of that, open the store that the parent goes on with, and closes."""
    path = vars(store)["_path"]
    closed, tell_closed = os.pipe()
    tried, tell_tried = os.pipe()
    child = os.fork()
    if not child:
        try_to_write(path, "child")
        fork = os.fork()
        if not fork:
            try_to_write(path, "its fork")
            os._exit(0)
        end_of(fork)
        os.write(tell_tried, b"x")
        os.read(closed, 1)
        try_to_write(path, "child, when the parent has closed")
        os._exit(0)
    await store.write(lambda tx: tx.append(a_draft("parent", call=name)))
    os.read(tried, 1)
    await store.write(lambda tx: tx.append(a_draft("parent again", call=name)))
    await store.close()
    os.write(tell_closed, b"x")
    say(f"done {end_of(child)}")


async def fork_and_open_another(store: SqliteStore, _: str) -> None:
    """A child opens a store that the parent does not have."""
    child = os.fork()
    if not child:
        try_to_write(vars(store)["_path"].with_name("another.db"), "child")
        os._exit(0)
    status = end_of(child)
    await store.close()
    say(f"done {status}")


def end_of(process: int) -> int:
    return os.waitpid(process, 0)[1]


def try_to_write(path: Path, who: str) -> None:
    """In a forked child, where the loop that runs is the parent's: open, write, close, and say what came of it."""
    try:
        asyncio.run(_open_and_write(SqliteStore(path, clock=HandClock())))
    except Exception as error:  # noqa: BLE001 - it is told
        say(f"{who}: {error}")
    else:
        say(f"{who}: opened")


async def _open_and_write(store: SqliteStore) -> None:
    await store.open()
    await store.write(lambda tx: tx.append(a_draft("child")))
    await store.close()


async def main(path: Path, what: str, name: str) -> None:
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    say(f"owner {store.owner}")
    await {
        "claim": claim_without_end,
        "write": write_some,
        "fork_and_die": fork_and_die,
        "fork_and_open": fork_and_open,
        "fork_and_open_another": fork_and_open_another,
    }[what](store, name)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
