"""The digest of a tool's code."""

import functools
import subprocess
import sys
from typing import Any

from callgate.adapters.digest import code_digest

SOURCE = """
def f(x, y=1):
    '''Doc.'''
    if x in {"b", "a", "c", 1, 2.5, None}:
        return [z for z in range(y) if z not in (1, ("q", b"w"))]
    return lambda: (x, "text")
"""


def make(source: str = SOURCE, name: str = "f") -> Any:
    place: dict[str, Any] = {}
    exec(compile(source, "<nowhere>", "exec"), place)
    return place[name]


def test_the_same_code_has_the_same_digest_without_its_source():
    assert code_digest(make()) == code_digest(make())
    assert len(code_digest(make())) == 64


def test_another_process_with_other_hash_seeds_gives_the_same_digest():
    program = (
        f"from callgate.adapters.digest import code_digest\nplace = {{}}\n"
        f"exec(compile({SOURCE!r}, '<elsewhere>', 'exec'), place)\nprint(code_digest(place['f']))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True, timeout=60,
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert seen == {code_digest(make())}


def test_a_changed_constant_name_or_line_of_code_changes_it():
    base = code_digest(make())
    assert code_digest(make(SOURCE.replace('"text"', '"texts"'))) != base
    assert code_digest(make(SOURCE.replace('b"w"', '"w"'))) != base
    assert code_digest(make(SOURCE.replace("range", "list"))) != base
    assert code_digest(make(SOURCE.replace("not in", "in"))) != base


def test_a_moved_function_keeps_its_digest():
    assert code_digest(make("\n\n\n" + SOURCE)) == code_digest(make())


def test_methods_partials_and_objects_are_looked_through():
    class Counter:
        def count(self, x: int) -> int:
            return x

        def __call__(self, x: int) -> int:
            return x + 1

    def f(x: int, key: str) -> int:
        return x

    assert code_digest(Counter().count) == code_digest(Counter().count)
    assert code_digest(Counter().count) != code_digest(Counter())
    assert code_digest(functools.partial(f, key="a")) != code_digest(f)
    assert code_digest(staticmethod(f)) != ""
    assert code_digest(len) != code_digest(print)
    assert code_digest(Counter) != code_digest(str)


def test_values_in_partials_and_closures_are_left_out_because_they_may_be_secrets():
    def f(x: int, key: str) -> int:
        return x

    def around(secret: str) -> Any:
        return lambda: secret

    assert code_digest(functools.partial(f, key="a")) == code_digest(functools.partial(f, key="b"))
    assert code_digest(around("a")) == code_digest(around("b"))


def test_what_a_decorator_wraps_counts():
    def shout(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return function(*args)

        return wrapper

    def one() -> int:
        return 1

    def two() -> int:
        return 2

    two.__name__ = two.__qualname__ = "one"
    assert code_digest(shout(one)) == code_digest(shout(one))
    assert code_digest(shout(one)) != code_digest(shout(two))


def test_functions_that_know_each_other_end():
    def build() -> Any:
        def even(n: int) -> bool:
            return n == 0 or odd(n - 1)

        def odd(n: int) -> bool:
            return n != 0 and even(n - 1)

        return even

    assert code_digest(build()) == code_digest(build())


def test_a_variable_that_is_not_there_yet_is_no_trouble():
    def build() -> Any:
        def inner() -> Any:
            return later

        digest = code_digest(inner)
        later = 1
        return digest

    assert len(build()) == 64


def test_several_things_are_one_digest_in_their_order():
    assert code_digest(len, print) != code_digest(print, len)
