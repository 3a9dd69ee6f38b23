"""Identifiers."""

import os
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from callgate.model.ids import uuid7, uuid7s


@pytest.mark.requirement("REG-07")
def test_ids_are_uuids_of_version_seven_that_sort_by_creation():
    made = [uuid7() for _ in range(5000)] + uuid7s(5000) + uuid7s(2) + [uuid7()]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    for text in made[::97]:
        parsed = uuid.UUID(text)
        assert (parsed.version, parsed.variant, str(parsed)) == (7, uuid.RFC_4122, text)


def test_no_ids_are_no_ids():
    assert uuid7s(0) == []


def test_threads_never_get_the_same_id():
    def some(count: int) -> list[str]:
        return [*uuid7s(count), uuid7()]

    with ThreadPoolExecutor(4) as pool:
        made = [text for part in pool.map(some, [50] * 100) for text in part]
    assert len(set(made)) == len(made)


def test_a_forked_child_does_not_repeat_its_parents_ids():
    uuid7()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, uuid7().encode())
        os._exit(0)
    os.waitpid(child, 0)
    mine, theirs = uuid7(), os.read(reader, 36).decode()
    assert len(theirs) == 36
    assert mine[-12:] != theirs[-12:]
    for handle in (reader, writer):
        os.close(handle)
