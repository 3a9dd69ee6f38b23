"""The mapping under a snapshot: immutable, and equal to a dictionary in every answer."""

from hypothesis import given
from hypothesis import strategies as st

from callgate.registry.shards import Shards

changes = st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.integers())), max_size=60)


@given(changes, changes)
def test_it_answers_as_a_dictionary_does_and_older_ones_stay_as_they_were(
    first: list[tuple[str, int | None]], second: list[tuple[str, int | None]]
):
    before, expected_before = changed(Shards[int](), {}, first)
    after, expected_after = changed(before, expected_before, second)
    for shards, expected in ((before, expected_before), (after, expected_after)):
        assert len(shards) == len(expected)
        assert sorted(shards) == sorted(expected.values())
        assert all(shards.get(key) == expected.get(key) for key, _ in (*first, *second))


def changed(
    shards: Shards[int], expected: dict[str, int], steps: list[tuple[str, int | None]]
) -> tuple[Shards[int], dict[str, int]]:
    edit, model = shards.edit(), dict(expected)
    for key, value in steps:
        if value is None:
            edit.drop(key)
            model.pop(key, None)
        else:
            edit.put(key, value)
            model[key] = value
        assert edit.get(key) == model.get(key)
    return edit.done(), model
