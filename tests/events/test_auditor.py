"""When the record is signed: as a gate opens, now and then while it is open, and as it closes."""

from callgate.ports import Store
from callgate.runtime.auditing import Auditor
from callgate.secrets.keys import throwaway_keys
from tests.events.stories import HandClock, Story, record_many


async def signed(store: Store) -> int:
    return len(await store.read(lambda reader: reader.checkpoints()))


async def test_the_record_is_signed_at_the_start_and_at_most_once_a_minute(store: Store, clock: HandClock):
    auditor = Auditor(store, throwaway_keys(), clock)
    await auditor.start()
    assert await signed(store) == 1
    store.behind(Story().draft("health.changed"))
    clock.turn(59)
    await auditor.now_and_then()
    assert await signed(store) == 1, "the last time was just now"
    clock.turn(1)
    await auditor.now_and_then()
    assert await signed(store) == 2, "what was still on its way is signed too"
    assert (await auditor.verify()).unsigned == 0
    clock.turn(60)
    await auditor.now_and_then()
    assert await signed(store) == 2, "nothing was new"


async def test_a_closed_auditor_leaves_nothing_unsigned(store: Store, clock: HandClock):
    auditor = Auditor(store, throwaway_keys(), clock)
    await auditor.start()
    await record_many(store, 2)
    await auditor.close()
    assert await signed(store) == 2
    assert (await store.read(lambda reader: reader.events()))[-1].type == "stream.closed"
    report = await auditor.verify()
    assert report.ok, report.problems
    assert report.unsigned == 0
