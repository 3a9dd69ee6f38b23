"""Stage: a hidden directory beside the archive that becomes visible with one rename, or is gone without a trace."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Generator

from callgate.tools.archives.members import Member
from callgate.tools.archives.pouring import Sink
from callgate.tools.archives.sweeping import new_stage, sweep
from callgate.tools.confined import Confined, Held, create, inside, write_all
from callgate.tools.replacing import is_there, not_renamed

_MOST_NAMES = 100


class Stage:
    """Where members are unpacked. Everything is made by handle, and nothing through a link."""

    def __init__(self, confined: Confined, folder: Held, *, name: str) -> None:
        self._confined = confined
        self._folder = folder
        self._name = name
        self._file: io.FileIO | None = None
        """What is being written, one member after the other."""
        self.published: str | None = None
        """The name it got."""

    def make_directory(self, path: str) -> None:
        """Make a directory, and those above it."""
        with self._inside(path):
            pass

    def writer(self) -> Callable[[Member], Sink]:
        """What makes a sink for each member that is to be unpacked."""
        stage = self

        class Written(Sink):
            """Writes a member to its file."""

            def __init__(self, member: Member) -> None:
                super().__init__(member)
                stage.close()
                above, _, name = member.name.rpartition("/")
                with stage._inside(above) as folder:
                    self._file = stage._file = io.FileIO(create(folder, name), "w")

            def take(self, data: bytes) -> None:
                write_all(self._file.fileno(), data)

            def end(self) -> None:
                self._file.close()
                super().end()

        return Written

    def close(self) -> None:
        """Let go of what is being written. Whoever pours may give up anywhere, so no sink can see to it."""
        if self._file is not None:
            self._file.close()

    def publish(self, wanted: str, judge: Callable[[str], None]) -> str:
        """Give it a name that is free, the wanted one if it is; from now on it is there, as a whole.

        Args:
            wanted: The name.
            judge: Asked about the path it would get, whatever name that is in the end; raises where it may not be.

        Raises:
            NotRenamed: It may not be there, or the system does not let it; nothing is.
            OSError: Something went wrong, and it may be there.
        """
        try:
            return self._publish(wanted, judge)
        except OSError as error:
            if not is_there(self._folder, self._name):
                raise
            said = str(error) if error.errno is None else f"{wanted} cannot be made: {error.strerror}"
            raise not_renamed(error, said) from error

    def _publish(self, wanted: str, judge: Callable[[str], None]) -> str:
        for _ in range(_MOST_NAMES):
            name = free_name(self._folder, wanted)
            place = inside(self._folder.place, name)
            judge(place)
            try:
                # What came meanwhile is left alone, but for an empty directory: the system replaces that.
                os.rename(self._name, name, src_dir_fd=self._folder.fd, dst_dir_fd=self._folder.fd)
            except OSError:
                if not is_there(self._folder, name):
                    raise
                continue  # it came meanwhile
            self.published = name
            return place
        raise FileExistsError(f"{wanted} and names like it are taken again and again; try later")

    @contextlib.contextmanager
    def _inside(self, path: str) -> Generator[Held]:
        """Hold a directory of the stage; it is made where it is not there."""
        with contextlib.ExitStack() as stack:
            held = stack.enter_context(self._confined.directory_at(self._folder, self._name))
            for part in path.split("/") if path else ():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=held.fd)
                held = stack.enter_context(self._confined.directory_at(held, part))
            yield held


@contextlib.contextmanager
def staged(confined: Confined, folder: Held) -> Generator[Stage]:
    """A stage in a directory that is held. Whatever was not published in the end is removed, also by the next one."""
    sweep(confined, folder)
    with new_stage(confined, folder) as name:
        stage = Stage(confined, folder, name=name)
        try:
            yield stage
        finally:
            stage.close()
            if stage.published is None:
                shutil.rmtree(name, ignore_errors=True, dir_fd=folder.fd)


def free_name(folder: Held, wanted: str) -> str:
    """The wanted name, or the first like it that nothing in a directory has.

    Raises:
        FileExistsError: So many of that name are there already.
    """
    for number in range(1, _MOST_NAMES):
        name = wanted if number == 1 else f"{wanted}-{number}"
        if not is_there(folder, name):
            return name
    raise FileExistsError(f"{wanted} and {_MOST_NAMES} names like it are taken; move some away")
