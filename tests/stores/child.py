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


async def fork_and_write(store: SqliteStore, name: str) -> None:
    """A child opens a store of its own while the parent goes on with its own."""
    child = os.fork()
    if not child:
        own = SqliteStore(vars(store)["_path"], clock=HandClock())
        say(f"child {own.owner}")
        asyncio.run(_open_and_write(own, name))  # the loop that runs is the parent's
        os._exit(0)
    await store.write(lambda tx: tx.append(a_draft("parent", call=name)))
    status = end_of(child)
    await store.write(lambda tx: tx.append(a_draft("parent again", call=name)))
    await store.close()
    say(f"done {status}")


def end_of(process: int) -> int:
    return os.waitpid(process, 0)[1]


async def _open_and_write(store: SqliteStore, name: str) -> None:
    await store.open()
    await store.write(lambda tx: tx.append(a_draft("child", call=name)))
    await store.close()


async def main(path: Path, what: str, name: str) -> None:
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    say(f"owner {store.owner}")
    await {
        "claim": claim_without_end,
        "write": write_some,
        "fork_and_die": fork_and_die,
        "fork_and_write": fork_and_write,
    }[what](store, name)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
