"""What people write where levels, texts and layers are meant: it is read, or refused where it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate.model.context import Context
from callgate.model.context_form import context_from_json, context_to_json
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.settings.values import Family, Role

ODD: dict[str, Any] = {
    "one text of scopes": lambda: Context(scopes="fs:*"),  # pyright: ignore[reportArgumentType]
    "one text of scopes, narrowed": lambda: Context().narrow(scopes="fs:*"),
    "one text of scopes, narrowed from all letters": lambda: Context(scopes=frozenset("fs:*")).narrow(scopes="fs:*"),
    "scopes that are no texts": lambda: Context(scopes={1}),  # pyright: ignore[reportArgumentType]
    "scopes that are a number": lambda: Context(scopes=1),  # pyright: ignore[reportArgumentType]
    "a number as autonomy": lambda: Context(autonomy=3),  # pyright: ignore[reportArgumentType]
    "a number as autonomy, narrowed": lambda: Context(autonomy=Autonomy.A4).narrow(autonomy=3),
    "a level that is none": lambda: Context(autonomy="A9"),  # pyright: ignore[reportArgumentType]
    "a layer without a list": lambda: Context(layers=Layer(name="a")),  # pyright: ignore[reportArgumentType]
    "a text as layers": lambda: Context(layers="abc"),  # pyright: ignore[reportArgumentType]
    "a text as layers, narrowed": lambda: Context().narrow(layers="abc"),
    "one text of directories": lambda: Context(outer_directories="/a"),  # pyright: ignore[reportArgumentType]
    "a kind that is none": lambda: Layer(name="a", kind="roll"),  # pyright: ignore[reportArgumentType]
    "a number as ceiling": lambda: Layer(name="a", max_autonomy=1),  # pyright: ignore[reportArgumentType]
    "a ceiling that is none": lambda: Layer(name="a", max_risk="lowest"),  # pyright: ignore[reportArgumentType]
    "a text as rules": lambda: Layer(name="a", rules="deny"),  # pyright: ignore[reportArgumentType]
    "nothing as layers": lambda: Context(layers=None),  # pyright: ignore[reportArgumentType]
    "nothing as layers, narrowed": lambda: Context().narrow(layers=None),
    "nothing as deny": lambda: Layer(name="a", deny=None),  # pyright: ignore[reportArgumentType]
    "a number as allow": lambda: Layer(name="a", allow=1),  # pyright: ignore[reportArgumentType]
    "a deny that is no texts": lambda: Layer(name="a", deny=[Rule(match="pay")]),  # pyright: ignore[reportArgumentType]
    "nothing as rules": lambda: Layer(name="a", rules=None),  # pyright: ignore[reportArgumentType]
    "a list as name": lambda: Layer(name=["a"]),  # pyright: ignore[reportArgumentType]
    "one text of paths": lambda: Family(paths="~/x"),  # pyright: ignore[reportArgumentType]
    "one text of hosts": lambda: Family(hosts="*.example.com"),  # pyright: ignore[reportArgumentType]
    "one text of a role's scopes": lambda: Role(name="a", scopes="fs:*", layer=Layer(name="a")),  # pyright: ignore[reportArgumentType]
    "a rule without a list": lambda: Layer(name="a", rules=Rule(match="pay")),  # pyright: ignore[reportArgumentType]
    "a verdict that is none": lambda: Rule(match="pay", verdict="dney"),  # pyright: ignore[reportArgumentType]
    "people that are none": lambda: Rule(match="pay", by="three"),  # pyright: ignore[reportArgumentType]
    "an end that is none": lambda: Rule(match="pay", on_expiry="procede"),
    "a list as match": lambda: Rule(match=["pay"]),  # pyright: ignore[reportArgumentType]
    "a yes as condition": lambda: Rule(match="pay", when=True),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_not_meant_so_is_refused_where_it_is_written(odd: str) -> None:
    with pytest.raises(ValueError, match=r"must be|cannot widen"):
        ODD[odd]()


@pytest.mark.parametrize("kind", [list, tuple])
def test_the_paths_of_a_family_may_be_paths(kind: Any) -> None:
    assert Family(paths=kind([Path("/srv"), "data"])) == Family(paths=("/srv", "data"))
    with pytest.raises(ValueError, match="paths must be several texts"):
        Family(paths=kind([Path("/srv"), 1]))


def test_words_are_read_as_what_they_name() -> None:
    words: Any = {"verdict": "deny", "risk": "high", "by": "two", "assurance": "signed_in"}
    assert Rule(match="pay", **words) == Rule(
        match="pay", verdict=Verdict.DENY, risk=Risk.HIGH, by=ConfirmBy.TWO, assurance=Assurance.SIGNED_IN
    )
    words = {"kind": "role", "max_autonomy": "a1", "max_risk": "LOW", "allow": "pay", "deny": "mail.*"}
    layer = Layer(name="a", **words)
    assert layer == Layer(
        name="a",
        kind=LayerKind.ROLE,
        max_autonomy=Autonomy.A1,
        max_risk=Risk.LOW,
        allow=("pay",),
        deny=("mail.*",),
    )
    assert layer.kind is LayerKind.ROLE


def test_several_may_be_written_as_whatever_gives_them() -> None:
    given: Any = {
        "scopes": (scope for scope in ["fs:read", "fs:write"]),
        "outer_directories": (path for path in ["/a", "/a/b"]),
        "layers": (layer for layer in [Layer(name="a")]),
        "autonomy": "A3",
    }
    assert Context(trace_id="t", **given) == Context(
        trace_id="t",
        scopes=frozenset({"fs:read", "fs:write"}),
        outer_directories=("/a", "/a/b"),
        layers=(Layer(name="a"),),
        autonomy=Autonomy.A3,
    )


def test_what_is_made_of_a_list_does_not_change_with_it() -> None:
    rule = Rule(match="pay", verdict=Verdict.DENY)
    names, rules, flags = ["pay"], [rule], ["yes"]
    lists: Any = {"allow": names, "deny": names, "rules": rules}
    layer = Layer(name="a", **lists)
    once: Any = {key: (each for each in value) for key, value in lists.items()}
    granted: Any = {"paths": names, "hosts": names}
    family, role = Family(**granted), Role(name="a", scopes=names, layer=layer)  # pyright: ignore[reportArgumentType]
    context = Context(trace_id="t", layers=[layer], read_only=flags, no_web=flags)  # pyright: ignore[reportArgumentType]
    made = [Layer(name="a", allow=("pay",), deny=("pay",), rules=(rule,)), Family(paths=("pay",), hosts=("pay",))]
    for several in (names, rules, flags):
        several.clear()
    assert [layer, family] == made
    assert Layer(name="a", **once) == Layer(name="a", allow=(), deny=(), rules=()), "read now, and empty by now"
    assert role.scopes == {"pay"}
    assert hash(context.authority) == hash(Context(layers=(made[0],), read_only=True, no_web=True).authority)  # pyright: ignore[reportArgumentType]


def test_directories_that_are_told_once_are_not_lost_when_it_is_narrowed() -> None:
    context = Context(working_directory="/a/b", outer_directories=("/a",))
    assert context.narrow(outer_directories=iter(["/a"])).outer_directories == ("/a",)


def test_a_bare_selector_is_the_same_one_after_a_question() -> None:
    """A question keeps the context as JSON: of a text, a list is its letters, and a deny of them denies nothing."""
    context = Context(layers=(Layer(name="a", deny="pay", allow="group:all"),))  # pyright: ignore[reportArgumentType]
    assert context_from_json(context_to_json(context)) == context
