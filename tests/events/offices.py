"""Where evidence is made and looked at."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgate.events import vocabulary
from callgate.events.checkpointer import Checkpointer
from callgate.events.evidence import export, verify_evidence
from callgate.events.selection import EVERYTHING, Selection
from callgate.model.approval import ApprovalState
from callgate.ports import Store
from tests.events.rows import approval_of
from tests.events.stories import HandClock, HouseKeys, Story, record, record_many


@dataclass
class Office:
    """Where evidence is made."""

    store: Store
    keys: HouseKeys
    clock: HandClock
    folder: Path

    async def pack(self, name: str, *, selection: Selection = EVERYTHING, sign: bool = True) -> Path:
        path = self.folder / name
        await self.store.flush()
        await self.store.scan(
            lambda reader: export(
                reader,
                path,
                store_id=self.store.store_id,
                public_keys=self.keys.public_keys,
                now=5.0,
                selection=selection,
                signer=self.keys if sign else None,
            )
        )
        return path

    async def seal(self, *, record_it: bool = True) -> None:
        await Checkpointer(self.store, self.keys, clock=self.clock).sign(record=record_it)


async def furnish(office: Office) -> Office:
    """A record of a few calls and a question, signed."""
    await record_many(office.store, 3)
    story = Story()
    asked = story.draft(vocabulary.GATE_REQUIRED, approval_id="a1", state="pending", decision={"verdict": "confirm"})
    await office.store.write(lambda tx: tx.put_approval(approval_of(story, ApprovalState.PENDING)))
    await record(office.store, asked, Story().refused())
    await office.seal()
    return office


def refused(path: Path, words: str, **more: Any) -> None:
    report = verify_evidence(path, **more)
    assert not report.ok
    assert report.problems[0].startswith("refused: "), report.problems
    assert words in report.problems[0], report.problems
