"""Seeded schedules over the transition function: owners that crash, pause and come back late, a store that fails.

The world counts effects; the ledger is only told what an owner could know. Whatever the schedule, the ledger must
never say less happened than did, no key may have two effects, and what callers were told stays true.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from callgate.ledger.transitions import Answer, Claim, Move, OwnerGone, Resolve, Settle, look, move
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.levels import Happened

KEY = AttemptKey("agent", "s", "k")
SCHEDULES = 4_000
STEPS = 40


@dataclass
class Owner:
    """One process: it claims, checks its fence, has its effect, and tries to settle."""

    name: str
    alive: bool = True
    row: Attempt | None = None
    entered: bool = False
    effect_done: bool = False
    timed_out: bool = False
    returned: bool = False
    call: int = 0


@dataclass
class World:
    """The store's row, the effects that really happened, and what was acknowledged to callers."""

    chance: random.Random
    idempotent: bool
    row: Attempt | None = None
    effects: list[str] = field(default_factory=list[str])
    acknowledged: list[tuple[str, AttemptState]] = field(default_factory=list[tuple[str, AttemptState]])
    now: float = 0.0

    def write(self, fact: Any) -> Move | None:
        """One transaction. None: it failed, or its acknowledgement was lost (the row may then have changed)."""
        step = move(self.row, fact)
        fate = self.chance.random()
        if fate < 0.1:
            return None
        if step.changed:
            self.row = step.row
        return None if fate < 0.15 else step


def play(seed: int, *, idempotent: bool) -> World:
    """One schedule of random steps by two owners."""
    chance = random.Random(seed)
    world = World(chance, idempotent)
    owners = [Owner("A"), Owner("B")]
    for turn in range(STEPS):
        world.now = float(turn)
        owner = chance.choice(owners)
        if not owner.alive:
            owners[owners.index(owner)] = Owner(f"{owner.name}'")
            continue
        step(world, owner, owners)
        check(world)
    return world


def step(world: World, owner: Owner, owners: list[Owner]) -> None:
    """Whatever this owner could do next, or what could befall it."""
    fate = world.chance.random()
    if fate < 0.12:
        owner.alive = False
    elif fate < 0.2:
        recover(world, owners)
    elif owner.row is None:
        start(world, owner)
    elif not owner.entered:
        enter(world, owner)
    elif not owner.effect_done and not owner.returned and fate < 0.75:
        owner.effect_done = True
        world.effects.append(f"{owner.name}/{owner.call}")
    else:
        end(world, owner, fate)


def start(world: World, owner: Owner) -> None:
    owner.call += 1
    if look(world.row, "f", idempotent=world.idempotent) is not Answer.CLAIMED:
        return
    claimed = world.write(
        Claim(
            key=KEY,
            call_id=f"{owner.name}/{owner.call}",
            trace_id="t",
            tool="pay",
            definition_hash="d",
            fingerprint="f",
            final_fingerprint="f",
            owner=owner.name,
            now=world.now,
            idempotent=world.idempotent,
        )
    )
    # A claim whose acknowledgement was lost is not a claim: the handler is not entered.
    if claimed is not None and claimed.answer is Answer.CLAIMED:
        owner.row, owner.entered, owner.effect_done = claimed.row, False, False
        owner.timed_out = owner.returned = False


def enter(world: World, owner: Owner) -> None:
    """The fence is read again right before the handler is entered."""
    mine, row = owner.row, world.row
    assert mine is not None
    if row is None or (row.fence, row.owner, row.call_id) != (mine.fence, mine.owner, mine.call_id):
        owner.row = None
        return
    owner.entered = True


def end(world: World, owner: Owner, fate: float) -> None:
    mine = owner.row
    assert mine is not None
    common: dict[str, Any] = {"call_id": mine.call_id, "owner": mine.owner, "fence": mine.fence, "now": world.now}
    if not owner.timed_out and not owner.returned and fate < 0.85:
        owner.timed_out = True
        state = Settle(state=AttemptState.UNKNOWN, cause="timeout", ended=False, **common)
        settled = world.write(state)
        if settled is not None and settled.answer is Answer.APPLIED:
            world.acknowledged.append((mine.call_id, AttemptState.UNKNOWN))
        return
    # The handler is back; a record the store would not take is tried again, the handler is not.
    owner.returned = True
    if owner.effect_done and fate < 0.95:
        fact = Settle(state=AttemptState.SUCCEEDED, outcome=mine.call_id.encode(), **common)
    elif owner.effect_done:
        # It stumbled after its effect, and cannot know.
        fact = Settle(state=AttemptState.FAILED, happened=Happened.POSSIBLE, **common)
    else:
        fact = Settle(state=AttemptState.FAILED, happened=Happened.NONE, **common)
    settled = world.write(fact)
    if settled is None:
        return
    owner.row = None
    if settled.answer is Answer.APPLIED:
        world.acknowledged.append((mine.call_id, fact.state))


def recover(world: World, owners: list[Owner]) -> None:
    """Another process finds owners that are gone, or a person looks at an unknown and tells the truth."""
    alive = {owner.name for owner in owners if owner.alive}
    row = world.row
    if row is None:
        return
    if row.owner not in alive:
        world.write(OwnerGone(owner=row.owner, now=world.now))
    elif row.open_question:
        said = Resolve(happened=bool(world.effects), by="person", now=world.now, call_id=row.call_id)
        step = move(row, said)
        if step.changed and step.row is not None:
            world.row = step.row
            world.acknowledged.append((row.call_id, step.row.state))


def check(world: World) -> None:
    """What must hold after every step."""
    if not world.idempotent:
        assert len(world.effects) <= 1, world.effects
    row = world.row
    if world.effects:
        # An effect that happened reads started, succeeded or unknown, or failed by an attempt that says that it may
        # have had it: never absent. Whichever attempt under the key had it, and whatever later ones did.
        assert row is not None
        assert row.state is not AttemptState.FAILED or row.open_question
    for call, state in world.acknowledged:
        if row is not None and row.call_id == call and state is AttemptState.SUCCEEDED:
            assert row.state is AttemptState.SUCCEEDED


@pytest.mark.parametrize("idempotent", [False, True])
def test_no_schedule_of_faults_crashes_and_late_results_breaks_the_ledger(*, idempotent: bool) -> None:
    kinds: dict[AttemptState | None, int] = {}
    happened = 0
    for seed in range(SCHEDULES):
        world = play(seed, idempotent=idempotent)
        state = world.row.state if world.row is not None else None
        kinds[state] = kinds.get(state, 0) + 1
        happened += bool(world.effects)
    # The schedules really reach every end, or the test would prove nothing.
    assert {AttemptState.SUCCEEDED, AttemptState.UNKNOWN, AttemptState.STARTED} <= set(kinds)
    assert happened > SCHEDULES // 2
