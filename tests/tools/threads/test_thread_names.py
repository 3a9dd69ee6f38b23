"""Names that threads are kept under: whose they are and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Category
from callgate.runtime.clock import SystemClock
from callgate.stores.memory import MemoryStore
from callgate.tools.documents import SecretName
from callgate.tools.threads.threads import Threads

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


async def test_a_user_that_is_a_secret_is_refused_and_not_written_to_disk(tmp_path: Path) -> None:
    """Names are parts of keys, which are kept as they are."""
    async with Callgate.open(f"sqlite:///{tmp_path}/s.db", builtin_tools=["threads"]) as gate:
        outcome = await gate.call("thread_push", {"thread_id": "t", "content": "x"}, Context(user=TOKEN))
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error.category is Category.USER_INPUT
        assert "user is a secret" in outcome.error.message
        (await gate.call("thread_push", {"thread_id": "kept", "content": "x"}, Context(user="ann"))).unwrap()
    written = (tmp_path / "s.db").read_bytes()
    assert b"kept" in written
    assert TOKEN.encode() not in written


@pytest.mark.parametrize("names", [{"owner": ("user", TOKEN)}, {"thread_id": TOKEN}, {"project_id": TOKEN}])
async def test_no_name_of_a_push_is_a_secret(names: dict[str, object]) -> None:
    store = MemoryStore(clock=SystemClock())
    await store.open()
    named = {"owner": ("user", "ann"), "thread_id": "t", "content": "x", **names}
    with pytest.raises(SecretName):
        await Threads(store, SystemClock()).push(**named)  # pyright: ignore[reportArgumentType]
    await store.close()


async def test_whatever_is_read_of_threads_counts_as_strangers_words() -> None:
    """An agent may have read anywhere what it notes, and what it calls its threads."""
    async with Callgate.open("memory://", builtin_tools=["threads"]) as gate:
        told = {tool.name: tool.untrusted_output for tool in gate.tools()}
    assert told == {"thread_push": False, "thread_read": True, "thread_seek": True, "thread_list": True}
