"""archive_extract: files out of an archive into a new directory beside it, all of them or none."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from callgate.adapters.function import tool
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.policy.git_places import is_shape
from callgate.policy.ways import is_inside
from callgate.tools.archives.arguments import ArchiveName, MemberName, MemberPattern
from callgate.tools.archives.examining import Archive, not_there, prove
from callgate.tools.archives.limits import SECONDS
from callgate.tools.archives.members import ENDINGS, Member
from callgate.tools.archives.pouring import Kept, Sink
from callgate.tools.archives.sections import count_sections, text_of
from callgate.tools.archives.shelf import Opened, Shelf, file_of
from callgate.tools.archives.stage import Stage, free_name, staged
from callgate.tools.confined import Confined, Held, inside
from callgate.tools.foreseen import foreseen
from callgate.tools.turns import one_writer

_LARGEST_DOCUMENT = 16 * 1024 * 1024
_LISTED = 50

_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "extracted": {"type": "integer", "description": "Files that were unpacked."},
        "processed": {"type": "integer", "description": "Text documents among them that were read."},
        "sections_total": {"type": "integer", "description": "Sections of these documents."},
        "stored_in": {"type": "string", "description": "The new directory."},
    },
    "required": ["extracted", "processed", "sections_total", "stored_in"],
    "additionalProperties": False,
}


@foreseen()
def would_extract(arguments: dict[str, Any], ctx: ToolContext, *, shelf: Shelf) -> Preview:
    """What would be unpacked, and which archive that was worked out from."""
    confined = Confined(ctx.grounds())
    with shelf.find(arguments.get("archive_name"), ctx) as opened, confined.spot(opened.held.place) as beside:
        chosen = _chosen(opened.archive, pattern=arguments.get("pattern"), files=arguments.get("files"))
        where = _destination(confined, opened, folder=beside.folder, made=_made(opened.archive, chosen))
        lines = [f"{each.size:>12} {each.name}" for each in chosen[:_LISTED]]
        more = [f"… and {len(chosen) - _LISTED} more"] if len(chosen) > _LISTED else []
        total = sum(each.size for each in chosen)
        head = f"{len(chosen)} files, {total} bytes, out of {opened.held.place} into the new directory {where}"
        return Preview(text="\n".join((head, *lines, *more)), state=_state(opened, where))


def _touches(arguments: dict[str, Any]) -> dict[str, list[str]]:
    """The file of the archive that is named; what lies inside of it is nothing on this machine."""
    name = arguments.get("archive_name")
    return {} if name is None else {"paths": [file_of(name)]}


def make_extract(shelf: Shelf) -> Any:
    """The tool, with what sessions opened."""

    @tool(
        effects="modifies_files",
        scopes=["fs:read", "fs:write"],
        risk="medium",
        destructive=False,
        concurrency_safe=False,
        idempotent=False,
        timeout=SECONDS,
        output_schema=_OUTPUT,
        check=shelf.check,
        resources=_touches,
        preview=partial(would_extract, shelf=shelf),
        marks_effect=True,
        examples=[{}, {"pattern": "*.md"}],
    )
    def archive_extract(
        archive_name: ArchiveName | None = None,
        pattern: MemberPattern | None = None,
        *,
        files: list[MemberName] | None = None,
        process_documents: bool = True,
        ctx: ToolContext,
    ) -> dict[str, Any]:
        """Unpack files of an archive that archive_open was called for, into a new directory beside it; all or none.

        Args:
            archive_name: The archive_name that archive_open gave; the last one opened when nothing is said, but at the
                shell, where each call is a process of its own, it has to be said.
            pattern: Only files like this: *.md
            files: Only these, by the names that archive_open lists.
            ctx: Where it may go.
            process_documents: Also read the text documents among them, and count their sections.
        """
        confined = Confined(ctx.grounds())
        with shelf.find(archive_name, ctx) as opened, confined.spot(opened.held.place) as beside:
            chosen = _chosen(opened.archive, pattern=pattern, files=files)
            made = _made(opened.archive, chosen)
            _refuse_another(ctx, opened, where=_destination(confined, opened, folder=beside.folder, made=made))

            def judge(top: str) -> None:
                _refuse_another(ctx, opened, where=top)
                _refuse_places(confined, made, top=top)

            documents = _Documents()
            prove(opened.archive, chosen, into=documents.sink if process_documents else Sink)
            with staged(confined, beside.folder) as stage:
                _fill(stage, opened.archive, made=made)
                # Whoever writes a file there is judged by what lies beside it, and so are we: one after the other.
                with one_writer(beside.folder, ctx), ctx.effect_sync():
                    stored = stage.publish(_stem(opened.held.place), judge)
        return {
            "extracted": len(chosen),
            "processed": documents.processed,
            "sections_total": documents.sections,
            "stored_in": stored,
        }

    return archive_extract


def _made(archive: Archive, chosen: tuple[Member, ...]) -> tuple[Member, ...]:
    """All that is made: the files, and with all of them also the directories that the archive names."""
    whole = len(chosen) == len(archive.files)
    return (*(each for each in archive.members if whole and each.is_directory), *chosen)


def _fill(stage: Stage, archive: Archive, *, made: tuple[Member, ...]) -> None:
    for each in made:
        if each.is_directory:
            stage.make_directory(each.name)
    archive.format.pour(tuple(each for each in made if not each.is_directory), stage.writer())


def _chosen(archive: Archive, *, pattern: str | None, files: list[str] | None) -> tuple[Member, ...]:
    names = {each.name for each in archive.files}
    missing = [name for name in files or () if name not in names]
    if missing:
        raise ValueError(f"files names {missing[0]!r}, which {not_there(archive, missing[0])}")
    chosen = tuple(
        each
        for each in archive.files
        if (files is None or each.name in files)
        and (pattern is None or fnmatchcase(each.name, pattern) or fnmatchcase(each.name.rpartition("/")[2], pattern))
    )
    if not chosen and archive.files:
        raise ValueError("pattern and files leave nothing to extract; archive_open lists the files")
    return chosen


def _destination(confined: Confined, opened: Opened, *, folder: Held, made: tuple[Member, ...]) -> str:
    """The new directory as it would be called now, after it and all that comes into it was judged."""
    stem = _stem(opened.held.place)
    confined.refuse(inside(folder.place, stem), None)  # nor a name that resembles one of ours
    top = inside(folder.place, free_name(folder, stem))
    _refuse_places(confined, made, top=top)
    return top


def _refuse_another(ctx: ToolContext, opened: Opened, *, where: str) -> None:
    """While a person thinks, and the preview is made anew, another archive may be opened, and the name be taken.

    Raises:
        PermissionError: This is not what the person agreed to.
    """
    if not ctx.is_as_shown(_state(opened, where)):
        what = f"{opened.held.place}, into the new directory {where}, is not what was approved"
        raise PermissionError(f"{what}: another archive was opened or the name was taken since; ask again")


def _state(opened: Opened, where: str) -> str:
    """What a person agrees to: these bytes, from this place to that one."""
    bound = f"{opened.digest}\0{opened.held.place}\0{where}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(bound).hexdigest()


def _refuse_places(confined: Confined, made: tuple[Member, ...], *, top: str) -> None:
    """What lies in a .git, or would come to lie where nobody may write, is refused: under the name it will have."""
    confined.refuse(top, None)
    for each in made:
        confined.refuse(inside(top, each.name), None)
    _refuse_repositories(confined, made, top=top)


def _refuse_repositories(confined: Confined, made: tuple[Member, ...], *, top: str) -> None:
    """A repository without a .git, too, before any of it is there: judged as it grows, its members' order would decide.

    Raises:
        PermissionError: One would come to be where none is opened.
    """
    if any(is_inside(top, opened) for opened in confined.grounds.git):
        return
    held: defaultdict[str, set[str]] = defaultdict(set)
    for each in made:
        above = each.name
        while above:
            above, _, name = above.rpartition("/")
            held[above].add(name)
    for folder, names in held.items():
        if is_shape(names):
            what = (
                f"{confined.show(inside(top, folder) if folder else top)} would be a git repository by what lies in it"
            )
            raise PermissionError(f"{what}, which tools do not write to; leave that out, or have a person unpack it")


def _stem(place: str) -> str:
    name = place.rpartition("/")[2]
    ending = next((ending for ending in ENDINGS if name.lower().endswith(ending)), "")
    stem = name[: len(name) - len(ending)].strip(". ")
    return stem if stem and stem != name else f"{stem or 'archive'}-files"


class _Documents:
    """The text documents among what is unpacked, and their sections."""

    def __init__(self) -> None:
        self.processed = 0
        self.sections = 0

    def sink(self, member: Member) -> Sink:
        """What takes a member, and counts it if it is one."""
        return Sink(member) if member.size > _LARGEST_DOCUMENT or member.is_archive else _Read(member, self)


class _Read(Kept):
    """Counted as soon as all of it is there."""

    def __init__(self, member: Member, documents: _Documents) -> None:
        super().__init__(member)
        self._documents = documents

    def end(self) -> None:
        super().end()
        text = text_of(self.data)
        self.data = bytearray()
        if text is not None:
            self._documents.processed += 1
            self._documents.sections += count_sections(text)
