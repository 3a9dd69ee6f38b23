"""What was worked out lately."""

from __future__ import annotations

from callgate import Context
from callgate.model.layer import Layer
from callgate.tools.agents.answers import Answers, question


def test_an_answer_is_kept_for_its_question_for_a_while_and_is_nobody_elses_to_change() -> None:
    now = 0.0
    kept = Answers(lambda: now)
    asked = question(Context(), query="a")
    assert kept.find(asked) is None
    kept.keep(asked, {"found": [1]})
    first = kept.find(asked)
    assert first is not None
    assert first == {"found": [1]}
    first["found"].append(2)
    assert kept.find(asked) == {"found": [1]}
    now = 1000.0
    assert kept.find(asked) is None


def test_another_asker_or_other_limits_make_another_question() -> None:
    asked = question(Context(), query="a")
    others = [
        question(Context(), query="b"),
        question(Context(user="eve"), query="a"),
        question(Context(principal="other"), query="a"),
        question(Context(session="other"), query="a"),
        question(Context(scopes=frozenset()), query="a"),
        question(Context(layers=(Layer(name="x", deny=("web_fetch",)),)), query="a"),
    ]
    assert asked not in others
    assert asked == question(Context(), query="a")


def test_the_oldest_goes() -> None:
    kept = Answers(lambda: 0.0)
    for number in range(65):
        kept.keep(question(Context(), query=number), {"number": number})
    assert kept.find(question(Context(), query=0)) is None
    assert kept.find(question(Context(), query=64)) == {"number": 64}
