"""Updating: brings an index in step with the files of its project, as far as the time allows.

What did not change is not read. What is left when the time is up is done by the next call.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace

from callgate.tools.confined import Below, Confined, Held, read_all
from callgate.tools.intelligence.apart import Apart, Lost
from callgate.tools.intelligence.index import Entry, Index, Known
from callgate.tools.intelligence.languages import language_of
from callgate.tools.intelligence.walking import LARGEST_SOURCE, Seen, seen

_FOR_ONE_FILE = 8.0
"""Seconds to parse it; a usual one takes some milliseconds."""
_FEW = 24
"""So many files are parsed by one process."""
_MOST_PROCESSES = 2
_BATCH = 64
_SETTLING = 2 * 10**9
"""Nanoseconds: a file changed so shortly before it was read may change again without another time."""
_LONGEST_LINE = 10_000
_TELLING = 1.0
"""Seconds between two words on how far it is."""


@dataclass(slots=True, kw_only=True)
class Updating:
    """One update of one index."""

    index: Index
    confined: Confined
    project: Held
    stop: Callable[[], bool]
    left: Callable[[], float]
    """Seconds until it is to stop."""
    tell: Callable[[float, str], None]
    _told: float = field(default_factory=time.monotonic)

    def run(self, files: dict[str, Seen], known: dict[str, Known]) -> int:
        """Bring the index in step with what a walk saw.

        Returns:
            How many files are still to be read.
        """
        gone = {path: known[path] for path in known.keys() - files.keys()}
        todo = [file for path, file in files.items() if _differs(file, known.get(path))]
        if not todo:
            self._forget(gone)
            return 0
        reading = _Reading(
            confined=self.confined,
            project=self.project,
            known=known,
            gone={each.digest: path for path, each in gone.items()},
            left=self.left,
        )
        done = self._take(reading, todo)
        if done == len(todo):
            self._forget(path for path in gone if path not in reading.moved)
        return len(todo) - done

    def _forget(self, paths: Iterable[str]) -> None:
        dropped = list(paths)
        if dropped:
            with self.index.writing():
                self.index.drop(dropped)

    def _take(self, reading: _Reading, todo: Sequence[Seen]) -> int:
        """Read and parse on threads, write here."""
        crew = _Crew(reading, self.stop)
        for file in todo:
            crew.waiting.put(file)
        count = 1 if len(todo) <= _FEW else min(_MOST_PROCESSES, os.cpu_count() or 1)
        # In a copy of this context: what a handler imports comes from what is installed, also on its threads.
        threads = [threading.Thread(target=copy_context().run, args=(crew.work,), daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            return self._write(crew.results, workers=count, total=len(todo))
        finally:
            crew.finished.set()
            for thread in threads:
                thread.join()

    def _write(self, results: _Results, *, workers: int, total: int) -> int:
        done, batch = 0, list[_Step]()
        while workers or batch:
            item = results.get() if workers else None
            if isinstance(item, BaseException):
                raise item
            if item is None:
                workers -= workers > 0
            else:
                batch.append(item)
            if batch and (len(batch) >= _BATCH or not workers):
                done += self._commit(batch)
                batch = []
                self._say(done, total)
        return done

    def _commit(self, batch: Sequence[_Step]) -> int:
        with self.index.writing():
            for step in batch:
                step(self.index)
        return len(batch)

    def _say(self, done: int, total: int) -> None:
        if time.monotonic() - self._told > _TELLING:
            self._told = time.monotonic()
            self.tell(done / total, f"indexed {done} of {total} files")


_Step = Callable[[Index], None]
"""What is to be written of a file."""
_Results = queue.SimpleQueue[_Step | BaseException | None]
"""What the crew did; None where one of them has nothing more to do."""


@dataclass(slots=True)
class _Crew:
    """Those who read and parse; each has a process of its own."""

    reading: _Reading
    stop: Callable[[], bool]
    waiting: queue.SimpleQueue[Seen] = field(default_factory=queue.SimpleQueue[Seen])
    results: _Results = field(default_factory=_Results)
    finished: threading.Event = field(default_factory=threading.Event)

    def work(self) -> None:
        """What one of them does, until there is nothing to do or no time."""
        try:
            with Apart() as apart, Below(self.reading.confined, self.reading.project) as below:
                self._go_on(_Hands(below, apart))
        except queue.Empty:
            pass
        except BaseException as error:  # noqa: BLE001 - told where it is waited for
            self.results.put(error)
        self.results.put(None)

    def _go_on(self, hands: _Hands) -> None:
        while not (self.finished.is_set() or self.stop()):
            step = self.reading.read(self.waiting.get_nowait(), hands)
            if step is None:
                return
            self.results.put(step)


@dataclass(frozen=True, slots=True)
class _Hands:
    """What opens files, and what parses them."""

    below: Below
    apart: Apart


@dataclass(slots=True, kw_only=True)
class _Reading:
    """Reads files, and says what is to be written of each."""

    confined: Confined
    project: Held
    known: dict[str, Known]
    gone: dict[str, str]
    """By digest: files that are no longer where they were."""
    left: Callable[[], float]
    moved: set[str] = field(default_factory=set[str])
    _moving: threading.Lock = field(default_factory=threading.Lock)

    def read(self, file: Seen, hands: _Hands) -> _Step | None:
        """What is to be written of it; None where there is no time left."""
        now = time.time_ns()
        try:
            with hands.below.file(file.path) as held:
                content = read_all(held.fd, LARGEST_SOURCE + 1)
                file = seen(file.path, held.status)
        except (OSError, ValueError):
            return _put(file, "", trouble="it cannot be opened")
        unsettled = now - file.changed < _SETTLING
        digest = hashlib.sha256(content).hexdigest()
        known = self.known.get(file.path)
        if known is not None and known.digest == digest:
            return lambda index: index.touch(file.path, state=file.state, unsettled=unsettled)
        old = self._moved_from(digest, file.path)
        if old is not None:
            return lambda index: index.rename(old, file.path, state=file.state, unsettled=unsettled)
        trouble = _unreadable(content)
        if trouble:
            return _put(file, digest, trouble=trouble, unsettled=unsettled)
        entry = Entry(
            path=file.path,
            language=language_of(file.path),
            state=file.state,
            unsettled=unsettled,
            digest=digest,
        )
        return self._parse(entry, content, apart=hands.apart)

    def _moved_from(self, digest: str, path: str) -> str | None:
        old = self.gone.get(digest)
        if old is None or language_of(old) != language_of(path):
            return None
        with self._moving:
            if old in self.moved:
                return None
            self.moved.add(old)
        return old

    def _parse(self, entry: Entry, content: bytes, *, apart: Apart) -> _Step | None:
        request = {"do": "extract", "language": entry.language}
        try:
            whole = replace(entry, found=apart.ask(request, content, seconds=_FOR_ONE_FILE, left=self.left()))
        except Lost:
            if self.left() <= 0:
                return None
            whole = replace(entry, trouble="it could not be parsed")
        return lambda index: index.put(whole)


def _put(file: Seen, digest: str, *, trouble: str, unsettled: bool = False) -> _Step:
    entry = Entry(
        path=file.path,
        language=language_of(file.path),
        state=file.state,
        unsettled=unsettled,
        digest=digest,
        trouble=trouble,
    )
    return lambda index: index.put(entry)


def _differs(file: Seen, known: Known | None) -> bool:
    return known is None or known.unsettled or known.state != file.state


def _unreadable(content: bytes) -> str:
    if len(content) > LARGEST_SOURCE:
        return "it is too large"
    if b"\0" in content:
        return "it is binary"
    if max(map(len, content.split(b"\n"))) > _LONGEST_LINE:
        return "it was written by a program, with lines nobody reads"
    return ""
