"""Worker: the one thread on which the store waits for disks and locks, so that the event loop never does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue


class Job:
    """Something to do on the thread; `done` is set when it was."""

    __slots__ = ("_task", "done", "error")

    def __init__(self, task: Callable[[], None]) -> None:
        self._task = task
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do it, and keep what went wrong for whoever asked."""
        try:
            self._task()
        except BaseException as error:  # noqa: BLE001 - whoever asked must hear of it, whatever it is
            self.error = error
        finally:
            self.done.set()


class Worker:
    """A thread that does jobs in order until it is stopped."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Job, Callable[[Job], None]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def do(self, task: Callable[[], None], then: Callable[[Job], None]) -> Job:
        """Have a task done; `then` is called on the thread when it is."""
        job = Job(task)
        self._jobs.put((job, then))
        return job

    async def wait_for(self, task: Callable[[], None]) -> None:
        """Have a task done, and wait; what it raises comes out here."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def tell(job: Job) -> None:
            if done.done():
                return
            if job.error is None:
                done.set_result(None)
            else:
                done.set_exception(job.error)

        def report(job: Job) -> None:
            loop.call_soon_threadsafe(tell, job)

        self.do(task, report)
        await done

    def stop(self) -> None:
        """End after the jobs that were given."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (order := self._jobs.get()) is not None:
            job, then = order
            job.run()
            then(job)
