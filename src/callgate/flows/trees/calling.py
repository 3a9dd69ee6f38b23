"""The calls of one run of a tree: each activation of a leaf has its own key, waits for people, and can be cancelled.

Knows how to make one call and how leaves are told apart; knows no tree library and no gate.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

from callgate.flows.trees.answer import Answer, answer_of
from callgate.model.call import Call
from callgate.model.context import LONGEST_NAME, Context
from callgate.model.outcome import Outcome, Pending
from callgate.model.pauses import LONGEST, pauses
from callgate.model.step_key import step_key


class TreeGate(Protocol):
    """What the calls of a tree need of a gate."""

    @property
    def home(self) -> asyncio.AbstractEventLoop:
        """The loop that calls are made on."""
        ...

    async def call(self, call: Call, context: Context, /) -> Outcome:
        """Make a call, or tell again how it ended where an earlier run went past that."""
        ...

    def let_go(self, call: Call, /) -> None:
        """The run goes on without a call that has not ended; from any thread."""
        ...

    async def is_decided(self, approval_id: str, /) -> bool:
        """Whether a question is no longer open."""
        ...

    async def recorded(self, key: str, context: Context, /) -> Outcome | None:
        """What the ledger says of a key."""
        ...

    async def withdraw(self, approval_id: str, /) -> None:
        """Nobody wants the answer any more."""
        ...

    def is_safe(self, tool: str, /) -> bool:
        """Whether calls of the tool may overlap others."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafCall:
    """What one activation of a leaf asks for."""

    tool: str
    arguments: Mapping[str, Any]
    user: str
    path: tuple[str, ...]
    """Where in the tree the leaf is: names, from the root on."""
    timeout: float | None = None


class Started:
    """A call that was started. Its end is told once, on the loop that made it."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        """How it ended; None while it has not."""
        self.waits_for: str | None = None
        """The approval it waits for, while it does."""
        self._stop: Callable[[], object] = lambda: None
        self._listeners: list[Callable[[Answer], None]] = []
        self._lock = threading.Lock()
        """A tree may be ticked on another thread than that of the gate."""

    def stoppable(self, stop: Callable[[], object]) -> None:
        """Say how it is cancelled."""
        self._stop = stop

    def cancel(self, told: Callable[[Answer], None]) -> None:
        """Let it go; `told` is called with its end, where it had begun."""
        with self._lock:
            ended = self.answer
            if ended is None:
                self._listeners.append(told)
        if ended is None:
            self._stop()
        else:
            told(ended)

    def end(self, answer: Answer) -> None:
        """It ended."""
        self.waits_for = None
        with self._lock:
            self.answer = answer
        for listener in self._listeners:
            listener(answer)


class Executor(Protocol):
    """Whatever starts the calls of leaves."""

    def start(self, call: LeafCall, /) -> Started:
        """Start one."""
        ...


class TreeCalls:
    """The calls of one run.

    Args:
        gate: Who makes them.
        context: Who asks; its user, where it names one, is the tree's.
        run: The name of the run: resumed under it, a tree finds what it did.
    """

    def __init__(self, gate: TreeGate, context: Context, *, run: str) -> None:
        self._gate = gate
        self._context = context
        self._activations: defaultdict[tuple[str, ...], itertools.count[int]] = defaultdict(itertools.count)
        self._alone = asyncio.Lock()
        self._tasks: set[asyncio.Future[None] | Future[None]] = set()
        self.run = run
        self.changed: Callable[[], None] = lambda: None
        """Called on the gate's loop whenever a call ended, or began to wait for a person."""
        self.keeps_questions = False
        """Whether questions stay open when their leaves are stopped: somebody will come back for them."""

    @property
    def user(self) -> str | None:
        """The user of the run, where its context names one."""
        return self._context.user

    def start(self, call: LeafCall, /) -> Started:
        """Start the next activation of a leaf.

        Raises:
            ValueError: The user is nobody, or not the run's.
            RuntimeError: The gate's loop is closed.
        """
        context = self._context_of(call)
        number = next(self._activations[call.path])
        key = step_key("tree", self.run, *call.path, call.tool, number)
        made = Call(call.tool, call.arguments, key=key, timeout=call.timeout)
        started = Started()
        task = self._begin(self._bring_to_end(made, context, started=started))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def stop() -> None:
            # Said at once: the tree may call the next leaf before this one has heard of its end.
            self._gate.let_go(made)
            task.cancel()

        started.stoppable(stop)
        return started

    async def settled(self) -> None:
        """Wait until everything that was started has ended, and is recorded."""
        while running := [task for task in self._tasks if isinstance(task, asyncio.Future) and not task.done()]:
            await asyncio.wait(running)

    def _context_of(self, call: LeafCall) -> Context:
        user = self._context.user
        if user is not None and user != call.user:
            message = f"the tree runs for {user}, and its blackboard names another user"
            raise ValueError(message)
        task, step = self._context.task_id or self.run, "/".join(call.path)[-LONGEST_NAME:]
        return replace(self._context, user=call.user, task_id=task, step_id=step, idempotency_key=None)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Future[None] | Future[None]:
        try:
            here = asyncio.get_running_loop() is self._gate.home
        except RuntimeError:
            here = False
        if here:
            return self._gate.home.create_task(work)
        try:
            return asyncio.run_coroutine_threadsafe(work, self._gate.home)
        except RuntimeError:
            work.close()
            raise

    async def _bring_to_end(self, call: Call, context: Context, *, started: Started) -> None:
        try:
            answer = answer_of(await self._ended(call, context, started=started))
        except asyncio.CancelledError:
            answer = await self._cancelled(call, context, started=started)
        except Exception as error:  # noqa: BLE001 - a leaf fails, whatever it was
            answer = Answer(error=f"{type(error).__name__}: {error}")
        started.end(answer)
        self.changed()

    async def _ended(self, call: Call, context: Context, *, started: Started) -> Outcome:
        """The outcome, once people have decided whatever they have to."""
        while True:
            async with nullcontext() if self._gate.is_safe(call.tool) else self._alone:
                outcome = await self._gate.call(call, context)
            if not isinstance(outcome, Pending):
                return outcome
            asked_before, started.waits_for = started.waits_for, outcome.approval_id
            self.changed()
            if asked_before == outcome.approval_id:
                # Decided, and still in question: whatever that is, it must not keep the loop busy.
                await asyncio.sleep(LONGEST)
            await self._decided(outcome.approval_id)

    async def _decided(self, approval_id: str) -> None:
        # People decide in other processes, so that somebody has to look.
        pause = pauses()
        while not await self._gate.is_decided(approval_id):  # noqa: ASYNC110 - decided in another process
            await asyncio.sleep(next(pause))

    async def _cancelled(self, call: Call, context: Context, *, started: Started) -> Answer:
        """What became of a call that was let go: whether it took effect may be unknown, and then that is said."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine always runs in a task here
        task.uncancel()
        if started.waits_for is not None and not self.keeps_questions:
            await self._gate.withdraw(started.waits_for)
        assert call.key is not None  # noqa: S101 - made above
        recorded = await self._gate.recorded(call.key, context)
        return Answer(error=f"{call.tool} was cancelled") if recorded is None else answer_of(recorded)
